"""What a vault's walk leaves out: hidden names, other programs' folders, and what the owner excludes.

Patterns are those of ``.gitignore``; the owner writes them into ``.strongroomignore`` in the vault, the operator into
the settings.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from vaults.errors import InvalidArgument, StrongroomError
from vaults.files.file_content import read_file
from vaults.files.folders import VaultRoot

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILE = ".strongroomignore"
MEMPACK_IGNORE_FILES = (".mempackignore", ".memignore")
"""What mempack, later named mem, was told to leave out of what it read in: who comes from there has them still."""

_MAX_BYTES = 64 * 1024
_MAX_IGNORE_BYTES = 256 * 1024
# Folders that programs make and people do not write notes in. Hidden ones need no list.
_PROGRAMS = frozenset(
    {
        "node_modules",
        "__pycache__",
        "venv",
        "lost+found",
        "@eaDir",
        "#recycle",
        "$RECYCLE.BIN",
        "System Volume Information",
    }
)


def is_left_out(name: str) -> bool:
    """Whether the name of a file or folder alone excludes it."""
    return name.startswith(".") or name in _PROGRAMS


class IgnoreMatcher:
    """The rules at one moment. Patterns apply to paths relative to the root; those for a folder end in a slash."""

    def __init__(self, spec: GitIgnoreSpec | None, *, faulty: bool) -> None:
        self._spec = spec
        self.faulty = faulty

    def skips(self, path: str) -> bool:
        """Whether a pattern excludes ``path``; that of a folder ends in a slash."""
        return self._spec is not None and self._spec.match_file(path)

    def covers(self, path: str) -> bool:
        """Whether a walk reaches the file ``path``."""
        names = path.split("/")
        if any(is_left_out(name) for name in names):
            return False
        folders = ("/".join(names[:level]) + "/" for level in range(1, len(names)))
        return self._spec is None or not (any(map(self.skips, folders)) or self.skips(path))


class IgnoreRules:
    """The operator's patterns, joined with the owner's, which are read anew for each walk."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = tuple(patterns)
        self._known: tuple[tuple[str, ...], IgnoreMatcher] = ((), IgnoreMatcher(None, faulty=False))
        if self._patterns and _compile(self._patterns).faulty:
            raise InvalidArgument("exclude", "has a pattern that is none of gitignore's")

    def load_matcher(self, root: VaultRoot) -> IgnoreMatcher:
        """The rules now, with the ignore file as it stands."""
        lines = (*self._patterns, *_read_ignore_file(root))
        if self._known[0] != lines:
            self._known = (lines, _compile(lines))
        return self._known[1]


def _read_ignore_file(root: VaultRoot) -> list[str]:
    """Lines of the ignore file, if any. One that cannot be read stops the walk: what it hides must stay hidden."""
    with root.folder(()) as folder, suppress(FileNotFoundError):
        content = read_file(folder, IGNORE_FILE, IGNORE_FILE, _MAX_BYTES)
        return content.data.decode("utf-8-sig", "replace").splitlines()
    return []


def _compile(lines: Sequence[str]) -> IgnoreMatcher:
    """A line that is no pattern matches nothing, as in git, and is reported."""
    if not lines:
        return IgnoreMatcher(None, faulty=False)
    sound = [line for line in lines if is_pattern(line)]
    return IgnoreMatcher(compile_patterns(sound), faulty=len(sound) < len(lines))


def is_pattern(line: str) -> bool:
    """Whether a line is a pattern, a comment or empty."""
    from pathspec import GitIgnoreSpec

    with suppress(ValueError):
        GitIgnoreSpec.from_lines([line])
        return True
    return False


def compile_patterns(lines: Sequence[str]) -> GitIgnoreSpec | None:
    """The lines as one set of patterns; None without any. A line that is no pattern matches nothing, as in Git."""
    if not lines:
        return None
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:
        return GitIgnoreSpec.from_lines(filter(is_pattern, lines))


def read_patterns(folder: int, name: str) -> list[str]:
    """The lines of an ignore file in an open folder; none where there is no such file, or it is a link. Raises
    ``OSError`` for one that cannot be read: what it hides must stay hidden, so the folder is not to be looked at."""
    try:
        content = read_file(folder, name, name, _MAX_IGNORE_BYTES)
    except FileNotFoundError:
        return []
    except InvalidArgument:  # a link, or a folder of that name
        return []
    except StrongroomError as failure:
        raise OSError(errno.EFBIG, failure.message) from failure
    return content.data.decode("utf-8-sig", "replace").splitlines()
