"""What clients of a cluster did and were told, and what is in the log in the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["ok", "fenced", "unknown", "bug"]


@dataclass(frozen=True, slots=True)
class Operation:
    """One call: between ``began`` and ``ended``, seconds of one clock. A write of the id ``wrote``, told the place it
    got in the log; or a read, told all ids of the vault. ``fenced``: nothing was stored; ``unknown``: nobody knows."""

    vault: str
    began: float
    ended: float
    outcome: Outcome
    wrote: int | None = None
    seq: int = 0
    epoch: int = 0
    ids: tuple[int, ...] = ()
    said: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a log in the end."""

    seq: int
    epoch: int
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TakeOver:
    """A vault was taken: at that epoch, with the log as long as that."""

    vault: str
    server: str
    epoch: int
    head: int


@dataclass(frozen=True, slots=True)
class History:
    operations: list[Operation]
    logs: dict[str, list[Entry]]
    heads: dict[str, int]
    take_overs: list[TakeOver]
