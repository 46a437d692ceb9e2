"""What a source is: a value that finds, opens and reads what one other system stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One thing of a source. ``fields``: the line ``import jsonl`` would take for it, its ``external_id`` included.
    ``place``: where it stands, for people; a number is that of a line. ``done``: how far the source was read by then,
    in the units of its total."""

    place: str | int
    fields: dict[str, Any]
    done: int


@dataclass(frozen=True, slots=True)
class UnreadableRecord:
    """Something of a source that cannot be read. ``raw``: what of it was had, for the report."""

    place: str | int
    reason: str
    done: int
    raw: str | bytes | None = None


SourceItem: TypeAlias = SourceRecord | UnreadableRecord


@dataclass(slots=True)
class SourceReading:
    """An opened source. ``total``: its size, in bytes, rows or files. ``left``: what is in it and is not carried over,
    counted by kind while it is read."""

    total: int
    items: Iterator[SourceItem]
    left: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class SearchPlaces:
    """Where to look for sources: the home folder and the folder the command runs in."""

    home: Path
    current: Path


@dataclass(frozen=True, slots=True)
class Source:
    """One system that can be imported from."""

    name: str  # as on the command line
    system: str  # as its users write it
    path: str  # what PATH is, in a few words
    find: Callable[[SearchPlaces], Iterable[Path]]  # what of it lies on this machine
    # opens PATH without changing anything below it; raises InvalidArgument for what this source cannot be
    open: Callable[[Path], AbstractContextManager[SourceReading]]
    # the same with columns renamed while it is read, for tables whose cells are read by what their column is
    with_columns: Callable[[Mapping[str, str]], Source] | None = None
