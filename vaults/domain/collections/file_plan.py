"""What to read, and what is gone: rows against files. Pure.

Documents are derived from files, so nothing here can lose a word; but what is wrongly taken for gone is searched for in
vain until it is read again. So what could not be listed does not count as gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from vaults.domain.collections.file_rows import KnownFile, to_stamp
from vaults.files import file_batches
from vaults.files.file_walk import FileWalk, FoundFile

BATCH_FILES, BATCH_BYTES = 24, 256 * 1024
"""Max files, and bytes of files unless it is one, that are read together and written in one transaction."""

MANY_FILES = 20
"""Max missing files that never count as a lost disk."""

OVER_BUDGET = "over the size a collection of code may have"
TOO_MANY = "over the number of files a collection may have"


@dataclass(frozen=True, slots=True)
class CollectionPlan:
    """What to do to bring the rows up to date."""

    read: list[FoundFile] = field(default_factory=list)
    gone: list[KnownFile] = field(default_factory=list)


def plan_files(known: Mapping[str, KnownFile], walk: FileWalk, touched: Collection[str] = ()) -> CollectionPlan:
    """``touched``: files that something happened to, whatever their stamps say."""
    now = {each.path for each in walk.found}
    read = [each for each in walk.found if each.path in touched or not _is_unchanged(known.get(each.path), each)]
    gone = [each for path, each in known.items() if path not in now and not is_within(path, walk.unread)]
    return CollectionPlan(read, gone)


def _is_unchanged(known: KnownFile | None, found: FoundFile) -> bool:
    return known is not None and known.stamp == to_stamp(found.stamp)


def is_within(path: str, folders: Sequence[str]) -> bool:
    """Whether a path lies in one of the folders; "" is the root."""
    return any(not folder or path == folder or path.startswith(f"{folder}/") for folder in folders)


@dataclass(frozen=True, slots=True)
class FileBudget:
    """What a collection may have: files, and bytes in all."""

    files: int
    bytes: int


def keep_within(walk: FileWalk, budget: FileBudget) -> FileWalk:
    """The walk without what is over the budget: by path, so that the same files are kept each time. What is left out
    is counted."""
    found: list[FoundFile] = []
    left_out, size = Counter(walk.left_out), 0
    for each in sorted(walk.found, key=lambda one: one.path):
        if len(found) >= budget.files:
            left_out[TOO_MANY] += 1
        elif size + each.stamp.size > budget.bytes:
            left_out[OVER_BUDGET] += 1
        else:
            found.append(each)
            size += each.stamp.size
    return replace(walk, found=found, left_out=left_out)


def has_vanished(missing: int, known: int) -> bool:
    """Whether so many files are missing that their disk or folder may be what is gone."""
    return missing > MANY_FILES and missing * 2 > known


def split_batches(found: Sequence[FoundFile]) -> Iterator[list[FoundFile]]:
    """Split files into batches of bounded number and size."""
    return file_batches.split_batches(found, BATCH_FILES, BATCH_BYTES)
