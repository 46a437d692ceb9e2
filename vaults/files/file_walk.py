"""Finds the files of a folder that somebody named, and counts what it passed over and why.

As ``note_walk.py`` for notes: folders are opened relative to the last and no link is followed. Which files count is the
caller's matter; ignore files apply at every level as in Git, where a deeper one wins over those above.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vaults.errors import InvalidArgument, StrongroomError
from vaults.files.file_content import read_file
from vaults.files.file_stamps import FileStamp, stamp_of
from vaults.files.folders import VaultRoot
from vaults.files.ignore_rules import compile_patterns
from vaults.files.note_walk import SkipReason, describe_unusable, is_plain, walk_folders
from vaults.files.paths import join_path

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORED = "left out by an ignore file"
EXCLUDED = "left out by the collection's patterns"

_MAX_IGNORE_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class FileRules:
    """Which files of a folder count. ``why_left_out``: the reason why a file does not, or a folder is not entered, by
    its path, which of a folder ends in a slash; ``exclude``: patterns as in ``.gitignore``; ``ignore_files``: the names
    of files that hold such, at any level. What is hidden never counts."""

    why_left_out: Callable[[str], str | None]
    exclude: tuple[str, ...] = ()
    ignore_files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file by its path below the folder, and its version."""

    path: str
    stamp: FileStamp


@dataclass(frozen=True, slots=True)
class FileWalk:
    """What a walk found. ``left_out``: files, and folders as one, by reason. ``unread``: folders that could not be
    listed wholly; nothing below them counts as gone. ``device``: of the folder itself."""

    found: list[FoundFile] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    unread: list[str] = field(default_factory=list)
    device: int = 0


def walk_files(root: VaultRoot, rules: FileRules, below: str = "") -> FileWalk:
    """Every file that counts in ``below``, a folder; or that one file; nothing if it is not there, or is left out.
    Raises ``VaultUnavailable`` where the root cannot be listed, also if it disappears meanwhile."""
    walker = _FileWalker(rules)
    descriptor = root.open()
    walker.result = FileWalk(device=os.fstat(descriptor).st_dev)
    walk_folders(descriptor, "", walker.visit if not below else walker.visit_towards(below), walker.add_failed)
    os.close(root.open())  # a walk over a disk that is being unmounted finds ever less, and must not be trusted
    return walker.result


@dataclass(frozen=True, slots=True)
class _LevelPatterns:
    """Patterns that apply below a folder; ``prefix``: its path with a slash. For files without those that let a folder
    in again: these say nothing of the files in it."""

    prefix: str
    folders: GitIgnoreSpec
    files: GitIgnoreSpec | None

    def decide(self, path: str) -> bool | None:
        spec = self.folders if path.endswith("/") else self.files
        return None if spec is None else spec.check_file(path.removeprefix(self.prefix)).include


class _FileWalker:
    """One walk's results so far, and the patterns in force in each open folder."""

    def __init__(self, rules: FileRules) -> None:
        self.result = FileWalk()
        self._rules = rules
        self._exclude = _compile(rules.exclude)
        self._levels: dict[str, tuple[_LevelPatterns, ...]] = {}
        self._ignore_files = frozenset(rules.ignore_files)

    def visit(self, folder: int, here: str) -> list[str]:
        """Collect the files of one folder; returns the folders to go on with."""
        return self._visit(folder, here, None)

    def visit_towards(self, below: str) -> Callable[[int, str], list[str]]:
        """As ``visit``, but only on the way to ``below``, and in it."""

        def visit(folder: int, here: str) -> list[str]:
            if here == below or here.startswith(f"{below}/"):
                return self._visit(folder, here, None)
            return self._visit(folder, here, below[len(here) + 1 if here else 0 :].split("/", maxsplit=1)[0])

        return visit

    def _visit(self, folder: int, here: str, only: str | None) -> list[str]:
        with os.scandir(folder) as listed:
            entries = [each for each in listed if only is None or each.name == only or each.name in self._ignore_files]
        levels = self._enter(folder, here, [each.name for each in entries])
        deeper = []
        for entry in entries:
            if only is not None and entry.name != only:
                continue
            path = join_path(here, entry.name)
            if entry.is_dir(follow_symlinks=False):
                if self._is_entered(entry.name, path, levels):
                    deeper.append(entry.name)
            else:
                self._add(entry, path, levels)
        return deeper

    def _enter(self, folder: int, here: str, names: Sequence[str]) -> tuple[_LevelPatterns, ...]:
        """The patterns in force here: those from above, and of the ignore files here."""
        above = self._levels[here.rpartition("/")[0]] if here else ()
        prefix = f"{here}/" if here else ""
        own = [
            _LevelPatterns(prefix, spec, _compile([line for line in lines if not _lets_folder_in(line)]))
            for name in self._rules.ignore_files
            if name in names and (spec := _compile(lines := _read_patterns(folder, name))) is not None
        ]
        levels = self._levels[here] = (*above, *own)
        return levels

    def _is_entered(self, name: str, path: str, levels: tuple[_LevelPatterns, ...]) -> bool:
        if name.startswith("."):
            return False
        reason = (
            self._rules.why_left_out(f"{path}/")
            or _reason_unusable(f"{path}/x", name)
            or self._reason_ignored(f"{path}/", levels)
        )
        return reason is None or self._leave_out(reason)

    def _add(self, entry: os.DirEntry[str], path: str, levels: tuple[_LevelPatterns, ...]) -> None:
        if entry.name.startswith("."):
            return
        if not entry.is_file(follow_symlinks=False):
            self._leave_out(SkipReason.LINK if entry.is_symlink() else SkipReason.ODD)
            return
        reason = self._rules.why_left_out(path) or _reason_unusable(path, entry.name)
        if (reason := reason or self._reason_ignored(path, levels)) is not None:
            self._leave_out(reason)
            return
        with suppress(FileNotFoundError):
            self.result.found.append(FoundFile(path, stamp_of(entry.stat(follow_symlinks=False))))

    def _reason_ignored(self, path: str, levels: tuple[_LevelPatterns, ...]) -> str | None:
        if self._exclude is not None and self._exclude.match_file(path):
            return EXCLUDED
        for level in reversed(levels):
            if (decided := level.decide(path)) is not None:
                return IGNORED if decided else None
        return None

    def _leave_out(self, reason: str) -> bool:
        self.result.left_out[str(reason)] += 1
        return False

    def add_failed(self, path: str, failure: OSError) -> None:
        """Record a folder that could not be listed wholly, unless it has just gone or become a link."""
        if failure.errno in (errno.ENOENT, errno.ENOTDIR):
            return
        self._leave_out(SkipReason.LINK if failure.errno == errno.ELOOP else SkipReason.UNREADABLE)
        if failure.errno != errno.ELOOP:
            self.result.unread.append(path)


def _reason_unusable(path: str, name: str) -> str | None:
    return None if is_plain(path, name) else describe_unusable(path)


def _read_patterns(folder: int, name: str) -> list[str]:
    """The patterns of an ignore file. One that cannot be read stops the look at its folder: what it hides must stay
    hidden."""
    try:
        content = read_file(folder, name, name, _MAX_IGNORE_BYTES)
    except FileNotFoundError:
        return []
    except InvalidArgument:  # a link, or a folder of that name
        return []
    except StrongroomError as failure:
        raise OSError(errno.EFBIG, failure.message) from failure
    return content.data.decode("utf-8-sig", "replace").splitlines()


def _lets_folder_in(line: str) -> bool:
    return line.startswith("!") and line.rstrip().endswith("/")


def _compile(lines: Sequence[str]) -> GitIgnoreSpec | None:
    """The patterns as Git has them: ``c/**`` is all in the folder and not the folder itself, which pathspec matches.
    What is excluded is not entered, so ``c/*`` says the same."""
    return compile_patterns([f"{line[:-3]}/*" if line.endswith("/**") and line != "/**" else line for line in lines])
