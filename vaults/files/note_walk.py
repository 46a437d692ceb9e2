"""Finds every note of a vault, fast, and reports what it passed over and why.

Folders are listed by descriptor, one open for each level, so links are never followed and depth is bounded.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from vaults.errors import InvalidArgument, Overloaded, VaultUnavailable
from vaults.files.failures import machine_failure
from vaults.files.file_stamps import FileStamp, stamp_of, status_at
from vaults.files.folders import VaultRoot, open_subfolder
from vaults.files.ignore_rules import IGNORE_FILE, IgnoreMatcher, IgnoreRules, is_left_out
from vaults.files.paths import MAX_PATH_BYTES, MAX_SEGMENTS, NOTE_SUFFIXES, is_note, join_path, normalize_path

_SUSPECT = re.compile(r"[\x00-\x1f\x7f\\%~]")
_SHORT = 2 * MAX_SEGMENTS  # a shorter path cannot have too many levels


class SkipReason(StrEnum):
    """Why something was passed over; people read these words, so they do not change."""

    LINK = "symbolic link"
    ODD = "not a regular file"
    UNREADABLE = "folder cannot be read"
    NOT_UTF8 = "name is not valid UTF-8"
    UNUSABLE = "name holds what no path may hold"
    TOO_DEEP = "too deep"
    BAD_PATTERN = "a line is no valid pattern"


@dataclass(frozen=True, slots=True)
class FoundNote:
    """A note, by its vault-relative path, and its version."""

    path: str
    stamp: FileStamp


@dataclass(frozen=True, slots=True)
class SkippedPath:
    """Something that is there but is not read; ``path`` is fit to be shown, even where the name is not.
    ``reason``: a ``SkipReason`` from the walk; those who read the files may give others."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class WalkResult:
    """What a walk found. ``unread``: folders that could not be listed wholly; nothing below them counts as gone."""

    found: list[FoundNote] = field(default_factory=list)
    skipped: list[SkippedPath] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def walk(root: VaultRoot, names: Sequence[str], rules: IgnoreRules) -> WalkResult:
    """Every note below ``names``, a folder, or that one note; nothing if nothing is there, or it is left out.

    Raises VaultUnavailable, also if the root disappears meanwhile.
    """
    matcher = rules.load_matcher(root)
    walker = _Walker(WalkResult(), matcher)
    path = "/".join(names)
    if matcher.faulty:
        walker.result.skipped.append(SkippedPath(IGNORE_FILE, SkipReason.BAD_PATTERN))
    try:
        if not names:
            walk_folders(root.open(), "", walker.visit, walker.add_failed)
        elif not any(map(is_left_out, names)):
            with root.folder(names[:-1]) as above:
                walker.start(above, names[-1], path)
    except OSError as failure:
        _report_failure(failure, path, walker.add_failed)
    os.close(root.open())  # a walk over a disk that is being unmounted finds ever less, and must not be trusted
    return walker.result


def walk_folders(
    descriptor: int,
    path: str,
    visit: Callable[[int, str], list[str]],
    failed: Callable[[str, OSError], None],
) -> None:
    """Visits the open folder ``path``, and then the folders that ``visit`` asks for, depth first. Closes the
    descriptor. An error in one folder goes to ``failed`` and leaves the others alone, unless the machine is out of
    resources."""
    open_folders: list[tuple[int, str, Iterator[str]]] = []

    def attempt(folder: int, here: str) -> None:
        open_folders.append((folder, here, iter(())))
        try:
            open_folders[-1] = (folder, here, iter(visit(folder, here)))
        except OSError as failure:
            _report_failure(failure, here, failed)

    try:
        attempt(descriptor, path)
        while open_folders:
            folder, here, names = open_folders[-1]
            name = next(names, None)
            if name is None:
                os.close(open_folders.pop()[0])
                continue
            try:
                deeper = open_subfolder(folder, name)
            except OSError as failure:
                _report_failure(failure, join_path(here, name), failed)
            else:
                attempt(deeper, join_path(here, name))
    finally:
        for folder, _, _ in open_folders:
            os.close(folder)


def _report_failure(failure: OSError, path: str, failed: Callable[[str, OSError], None]) -> None:
    """Pass an error to ``failed``; raise it for the vault's own folder, or when the machine is out of resources."""
    error = machine_failure(failure)
    if isinstance(error, Overloaded):
        raise error from failure
    if not path:
        raise VaultUnavailable("the vault's folder cannot be listed", hint="the operator must check it") from failure
    failed(path, failure)


class _Walker:
    """One walk's results so far."""

    def __init__(self, result: WalkResult, ignoring: IgnoreMatcher) -> None:
        self.result = result
        self._ignoring = ignoring

    def start(self, above: int, name: str, path: str) -> None:
        """Starts at one entry of the open folder ``above``."""
        status = status_at(above, name)
        if stat.S_ISDIR(status.st_mode):
            if self._ignoring.covers(path + "/") and self._usable(path, path + "/x", name):
                walk_folders(open_subfolder(above, name), path, self.visit, self.add_failed)
        elif not stat.S_ISREG(status.st_mode):
            self._skip(path, SkipReason.LINK if stat.S_ISLNK(status.st_mode) else SkipReason.ODD)
        elif is_note(path) and self._ignoring.covers(path) and self._usable(path, path, name):
            self.result.found.append(FoundNote(path, stamp_of(status)))

    def visit(self, folder: int, here: str) -> list[str]:
        """Collects the notes of one folder; returns the folders to go on with."""
        prefix = f"{here}/" if here else ""
        deeper: list[str] = []
        found, ignoring = self.result.found, self._ignoring
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name
                if is_left_out(name):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    # What lies below must be nameable too, and not one level too deep.
                    if self._usable(prefix + name, f"{prefix}{name}/x", name) and not ignoring.skips(
                        f"{prefix}{name}/"
                    ):
                        deeper.append(name)
                elif not entry.is_file(follow_symlinks=False):
                    self._skip(prefix + name, SkipReason.LINK if entry.is_symlink() else SkipReason.ODD)
                elif name.lower().endswith(NOTE_SUFFIXES) and not ignoring.skips(path := prefix + name):
                    status = self._status(entry, here) if self._usable(path, path, name) else None
                    if status is not None:
                        found.append(FoundNote(path, stamp_of(status)))
        return deeper

    def add_failed(self, path: str, failure: OSError) -> None:
        """Records a folder that could not be listed wholly, unless it has just gone or become a link."""
        if failure.errno in (errno.ENOENT, errno.ENOTDIR):
            return
        if failure.errno == errno.ELOOP:
            self._skip(path, SkipReason.LINK)
            return
        self._skip(path, SkipReason.UNREADABLE)
        self.result.unread.append(path)

    def _usable(self, shown: str, path: str, name: str) -> bool:
        """Whether callers can name ``path``. Almost all names are plain, and one test shows it."""
        if is_plain(path, name):
            return True
        reason = describe_unusable(path)
        if reason:
            self._skip(shown, reason)
        return reason is None

    def _status(self, entry: os.DirEntry[str], here: str) -> os.stat_result | None:
        try:
            return entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return None
        except PermissionError as failure:  # a folder that may be listed but not entered
            if here not in self.result.unread:
                self.add_failed(here, failure)
            return None

    def _skip(self, path: str, reason: SkipReason) -> None:
        shown = os.fsencode(path).decode("utf-8", "replace")
        self.result.skipped.append(SkippedPath(shown, reason))


def is_plain(path: str, name: str) -> bool:
    """Whether ``name``, the last of ``path``, surely can be named, as almost all can."""
    return name.isascii() and len(path) < _SHORT and _SUSPECT.search(name) is None


def describe_unusable(path: str) -> SkipReason | None:
    """Why callers cannot name ``path``; None if they can."""
    try:
        encoded = path.encode()
    except UnicodeEncodeError:
        return SkipReason.NOT_UTF8
    if len(encoded) > MAX_PATH_BYTES or path.count("/") >= MAX_SEGMENTS:
        return SkipReason.TOO_DEEP
    try:
        normalize_path(path)
    except InvalidArgument:
        return SkipReason.UNUSABLE
    return None
