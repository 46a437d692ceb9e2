"""What outlives a server of a cluster: the log and the base image of each vault. Blocking; called off the loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Placement:
    """A vault as one server holds it. ``epoch`` goes up with each take-over; ``head`` is the last sequence
    number in the log; up to ``purged`` it may hold what was erased for good since."""

    vault: str
    server: str
    epoch: int
    head: int
    purged: int = 0


@dataclass(frozen=True, slots=True)
class LogEntry:
    """What one group commit changed, as ``page_frames`` packs it."""

    seq: int
    epoch: int
    payload: bytes


class LogSource(Protocol):
    """What a vault is restored from."""

    def entries(self, vault: str, after: int) -> Iterator[LogEntry]:
        """Entries after a sequence number, in order, none left out."""

    def base(self, vault: str) -> tuple[int, Iterator[bytes]] | None:
        """The newest whole base: its sequence number and its parts in order."""


class VaultLog(LogSource, Protocol):
    """Entries are durable once ``append`` returns. Whoever is not holder, at that epoch and head, is ``Fenced``."""

    def append(self, placement: Placement, payload: bytes) -> Placement:
        """Entry ``head + 1``; the placement with the new head. Raises ``Fenced``, ``LogUnavailable`` (outcome
        unknown)."""

    def sizes(self, vault: str) -> tuple[int, int]:
        """Bytes of the newest whole base, and of the entries since; nothing of them is read."""

    def note_purge(self, placement: Placement) -> Placement:
        """Remember that every entry up to the head may hold what was just erased for good, until a base takes their
        place. Raises ``Fenced``, ``LogUnavailable``."""

    def replace_base(self, placement: Placement, seq: int, parts: Iterable[bytes]) -> None:
        """Store a base as of ``seq`` whole or not at all, then drop older bases and the entries up to it. Raises
        ``Fenced``."""
