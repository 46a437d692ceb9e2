"""A change of several files as one readable diff."""

from __future__ import annotations

from collections.abc import Iterable

from vaults.domain.notes.commit.journal import FileChange
from vaults.history.diffs import unified_diff

MAX_LINES = 400
"""Max lines shown of one change."""


def diff_files(files: Iterable[FileChange], limit_lines: int = MAX_LINES) -> str:
    """A unified diff of every file, with rename lines for one that moves. Beyond the limit it says how many files are
    left out. Blocking for long notes."""
    parts: list[str] = []
    left, out = limit_lines, 0
    for each in files:
        if left <= 0:
            out += 1
            continue
        part = diff_file(each, left)
        parts.append(part)
        left -= part.count("\n")
    if out:
        parts.append(f"\\ {out} more files are left out\n")
    return "".join(parts)


def diff_file(each: FileChange, limit_lines: int = MAX_LINES) -> str:
    """The diff of one file."""
    moved = f"rename from {each.path}\nrename to {each.to}\n" if each.to else ""
    return moved + unified_diff(_to_text(each.before), _to_text(each.after), each.target, limit_lines=limit_lines)


def _to_text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")
