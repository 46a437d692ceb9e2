"""Files below folders that an operator allows, found and read without ever following a link.

Ignore files are those of Git and mempack, and ``.strongroomignore``: each holds for its own folder and what is below.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from vaults.clock import to_text
from vaults.errors import InvalidArgument, NotFound
from vaults.files.failures import translate_os_errors
from vaults.files.file_content import read_file
from vaults.files.folders import VaultRoot, open_subfolder, path_segments
from vaults.files.ignore_rules import (
    IGNORE_FILE,
    MEMPACK_IGNORE_FILES,
    compile_patterns,
    is_left_out,
    read_patterns,
)
from vaults.files.note_walk import walk_folders
from vaults.files.paths import MAX_SEGMENTS, join_path

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", *MEMPACK_IGNORE_FILES, IGNORE_FILE)

MAX_FOUND = 100_000
"""Files of one folder that are looked at."""


@dataclass(frozen=True, slots=True)
class FolderPlace:
    """A file or folder below an allowed folder."""

    root: Path
    names: tuple[str, ...]

    @property
    def path(self) -> str:
        """Its path below the root."""
        return "/".join(self.names)

    @property
    def uri(self) -> str:
        """Its address on this machine."""
        return self.root.joinpath(*self.names).as_uri()

    def below(self, path: str) -> FolderPlace:
        """What is at a path below it."""
        return FolderPlace(self.root, (*self.names, *path_segments(path)))


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file's bytes, and when it was last changed."""

    data: bytes
    modified_at: str | None


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """The files below a folder by their paths, in order. ``passed_over``: links, what could not be listed,
    and ignore files that could not be read, whose folders were left alone. ``is_cut``: there are more."""

    paths: list[str] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)
    is_cut: bool = False


def locate(path: str, roots: Sequence[Path]) -> FolderPlace:
    """What an absolute path names below one of the roots. Raises ``InvalidArgument``, alike for what is outside and
    for what is not there."""
    asked = PurePosixPath(path)
    if not asked.is_absolute() or ".." in asked.parts or "\0" in path:
        raise InvalidArgument("uri", "must be an absolute path without '..'")
    for root in roots:
        for start in dict.fromkeys((root, root.resolve())):
            if asked.is_relative_to(start):
                return _visible(FolderPlace(root, asked.relative_to(start).parts))
    raise InvalidArgument(
        "uri", "is in no folder from which files may be read", hint="the operator lists them: setting ingest.roots"
    )


def _visible(place: FolderPlace) -> FolderPlace:
    """The place, unless a hidden name leads there: what programs keep to themselves, such as keys, is theirs."""
    if any(map(is_left_out, place.names)):
        raise InvalidArgument("uri", "leads through a hidden name, or a folder that programs keep")
    return place


def is_folder(place: FolderPlace) -> bool:
    """Whether it is a folder. Raises ``NotFound`` and ``InvalidArgument`` for a link on the way."""
    if not place.root.is_dir():
        raise NotFound("the folder from which files may be read is not there")
    with translate_os_errors(place.path or "."):
        if not place.names:
            return True
        with VaultRoot(place.root).folder(place.names[:-1]) as above:
            try:
                os.close(open_subfolder(above, place.names[-1]))
            except NotADirectoryError:
                return False
            return True


def read_whole(place: FolderPlace, limit: int) -> ReadFile:
    """A file's bytes. Raises ``NotFound``, ``TooLarge``, ``InvalidArgument`` for a link or a pipe, ``ReadOnly`` for one
    that may not be read. Blocks."""
    if not place.names:
        raise InvalidArgument("uri", "is a folder")
    with translate_os_errors(place.path), VaultRoot(place.root).folder(place.names[:-1]) as above:
        content = read_file(above, place.names[-1], place.path, limit)
    return ReadFile(content.data, _to_time(content.stamp.mtime_ns))


def _to_time(nanoseconds: int) -> str | None:
    """A file's time; None for one that is in no year people know."""
    with suppress(ValueError, OverflowError, OSError):
        return to_text(datetime.fromtimestamp(nanoseconds / 1e9, UTC))
    return None


def find_files(place: FolderPlace) -> FolderFiles:
    """The files below a folder, but hidden ones, those that other programs keep, and those that ignore files name.
    Raises ``NotFound`` and ``VaultUnavailable``. Blocks."""
    finder = _Finder()
    with translate_os_errors(place.path or "."):
        walk_folders(VaultRoot(place.root).descend(place.names), "", finder.visit, finder.add_failed)
    paths = sorted(finder.paths)
    return FolderFiles(paths[:MAX_FOUND], sorted(finder.passed_over), len(paths) > MAX_FOUND)


class _Finder:
    """What one walk found so far."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.passed_over: list[str] = []
        self._rules: dict[str, GitIgnoreSpec] = {}

    def visit(self, folder: int, here: str) -> list[str]:
        """Collects the files of one folder; returns the folders to go on with."""
        if not self._enter(folder, here):
            return []
        deeper = []
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                path = join_path(here, entry.name)
                if is_left_out(entry.name) or len(self.paths) > MAX_FOUND:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if path.count("/") < MAX_SEGMENTS and not self._is_ignored(f"{path}/"):
                        deeper.append(entry.name)
                elif not entry.is_file(follow_symlinks=False) or not _is_text(path):
                    self.passed_over.append(_shown(path))
                elif not self._is_ignored(path):
                    self.paths.append(path)
        return deeper

    def _enter(self, folder: int, here: str) -> bool:
        """Reads the ignore files of a folder. False where one cannot be read: what it hides must stay hidden."""
        lines: list[str] = []
        for name in IGNORE_FILES:
            try:
                lines += read_patterns(folder, name)
            except OSError:
                self.passed_over.append(_shown(join_path(here, name)))
                return False
        if (rules := compile_patterns(lines)) is not None:
            self._rules[here] = rules
        return True

    def add_failed(self, path: str, _: OSError) -> None:
        """Records a folder that could not be listed."""
        self.passed_over.append(_shown(path))

    def _is_ignored(self, path: str) -> bool:
        return any(
            rules.match_file(path[len(folder) + 1 :] if folder else path)
            for folder, rules in self._rules.items()
            if not folder or path.startswith(f"{folder}/")
        )


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "replace")
