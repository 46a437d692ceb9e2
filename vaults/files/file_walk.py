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

from vaults.files.file_stamps import FileStamp, stamp_of
from vaults.files.folders import VaultRoot
from vaults.files.ignore_rules import compile_patterns, read_patterns
from vaults.files.note_walk import SkipReason, describe_unusable, is_plain, walk_folders
from vaults.files.paths import join_path

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern as _Pattern

IGNORED = "left out by an ignore file"
EXCLUDED = "left out by the collection's patterns"


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
    """Patterns that apply below a folder; ``prefix``: its path with a slash."""

    prefix: str
    patterns: tuple[_Pattern, ...]

    def decide(self, path: str) -> bool | None:
        """Whether the path is left out, by the last pattern of it. One of a folder above says nothing of it: that
        folder was entered, so another pattern let it in."""
        own = path.removeprefix(self.prefix)
        return next((each.include for each in self.patterns if _is_whole(each, own)), None)


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
            _LevelPatterns(prefix, patterns)
            for name in self._rules.ignore_files
            if name in names and (patterns := _list_patterns(read_patterns(folder, name)))
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


def _list_patterns(lines: Sequence[str]) -> tuple[_Pattern, ...]:
    """The patterns of an ignore file, the last one first: it is the one that counts."""
    spec = compile_patterns(lines)
    return () if spec is None else tuple(each for each in reversed(spec.patterns) if each.include is not None)


def _is_whole(pattern: _Pattern, path: str) -> bool:
    """Whether a pattern is of this path. Pathspec's are also of everything below what they name, which Git's are only
    where they end in ``**``: then pathspec marks no folder in them."""
    found = pattern.regex.match(path) if pattern.regex is not None else None
    if found is None or not found.re.groups:
        return found is not None and (found.end() < len(path) or found.re.pattern == ".")
    return found.end() == len(path)


def _compile(lines: Sequence[str]) -> GitIgnoreSpec | None:
    """The patterns as Git has them: ``c/**`` is all in the folder and not the folder itself, which pathspec matches.
    What is excluded is not entered, so ``c/*`` says the same."""
    return compile_patterns([f"{line[:-3]}/*" if line.endswith("/**") and line != "/**" else line for line in lines])
