"""What all sources of changes share: which names matter, how a source can end, and a thread for a look at the disk."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, ParamSpec, TypeVar

from vaults.context import run_in

P = ParamSpec("P")
T = TypeVar("T")

IGNORE_FILE = ".strongroomignore"
_NOTES = (".md", ".markdown")


@dataclass(frozen=True, slots=True)
class SourceEnded:
    """Why a source stopped. ``gone``: the root is not there; ``limit``: the system gives no more watches; ``again``: it
    lost track and must be restarted."""

    kind: Literal["gone", "limit", "again"]
    reason: str


def is_folder_watched(name: str) -> bool:
    """Whether a folder is watched: hidden ones (``.git``, ``.obsidian``, ``.strongroom``) hold no notes."""
    return not name.startswith(".")


def is_file_watched(name: str) -> bool:
    """Whether it is a note or an ignore file; not an editor's swap file, lock or backup, nor a temporary file."""
    return (name.lower().endswith(_NOTES) and not name.startswith(".")) or name == IGNORE_FILE


@dataclass(frozen=True, slots=True)
class WatchedNames:
    """Which folders are watched, and of which files a change is reported, by their own names."""

    folder: Callable[[str], bool]
    file: Callable[[str], bool]


NOTE_NAMES = WatchedNames(is_folder_watched, is_file_watched)


_LOOKS = ThreadPoolExecutor(max_workers=4096, thread_name_prefix="strongroom-look")
"""Has as many threads as there ever were looks at once, mostly one or two: a new one each time cost a third of a
millisecond, four times for each vault that is opened and once in two seconds while it is. Never full, so a disk that
hangs keeps nobody from looking at another."""


async def run_in_thread(fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run ``fn`` off the loop, beside whatever others look at.

    If the caller is cancelled, ``fn`` runs to its end and its result is dropped.
    """
    return await run_in(_LOOKS, fn, *args, **kwargs)
