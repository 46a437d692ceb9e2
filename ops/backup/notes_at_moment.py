"""Bringing copied notes to the moment of the database copy, by the journal.

Notes are copied first and the database then. What tools changed in between, the journal in the copy names, with the
version after; so those files are put as they were when time stopped. A change that was under way at that moment may be
half made in the copied files: each is as before or as after, and opening the restored vault completes it, as after a
kill.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ops.backup.manifest import ManifestMember
from ops.backup.member_paths import NOTES, why_unusable
from ops.backup.notes_copy import NotesCopy
from vaults.db.sql import Reader
from vaults.domain.notes.commit import journal
from vaults.domain.notes.index.extraction import compute_digest

JOURNAL = "note_changes"
DIGEST_DIGITS = 32


def has_journal(tx: Reader) -> bool:
    """Whether the database has one. Those of old versions have not, and then nothing but programs of the owner changed
    notes."""
    return tx.one("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = :name", {"name": JOURNAL}) is not None


def first_unsettled(tx: Reader) -> int:
    """The number of the first change whose files may not yet be all in place; call before the notes are copied."""
    if not has_journal(tx):
        return 0
    pending = tx.value("SELECT MIN(seq) FROM note_changes WHERE state = 'pending'")
    return int(pending or int(tx.value("SELECT COALESCE(MAX(seq), 0) FROM note_changes")) + 1)


def last_change(tx: Reader) -> int:
    """The number of the last change to notes."""
    return int(tx.value("SELECT COALESCE(MAX(seq), 0) FROM note_changes")) if has_journal(tx) else 0


def settle(tx: Reader, first: int, copied: NotesCopy, into: Path, read_now: Callable[[str], bytes | None]) -> None:
    """Put the files that changes from number ``first`` on touched as they were at the moment of ``tx``. ``read_now``:
    the bytes of a file among the vault's notes as it is by now; None where there is none."""
    for path, trace in _touched(tx, first).items():
        # The database may come from a stranger's archive; of no note with such a path is there a copy to put right.
        if reason := why_unusable(f"{NOTES}/{path}"):
            copied.remark(path, f"its path {reason}")
            continue
        known = copied.members.get(path)
        digest = _digest_of(known)
        if digest == trace.version:
            continue
        if digest not in trace.before:
            # Another program wrote too. What it wrote last is what was copied, if that still stands there.
            now = read_now(path)
            if (compute_digest(now) if now is not None else None) == digest:
                continue
        if trace.version is None:
            (into / path).unlink()
            del copied.members[path]
        elif (data := journal.read_version(tx, trace.version)) is not None:
            _put(path, data, copied, into)
        # Else it is no longer kept, which happens to old changes only: the file as it was read is newer.


def _put(path: str, data: bytes, copied: NotesCopy, into: Path) -> None:
    target = into / path
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    target.write_bytes(data)
    copied.members[path] = ManifestMember(
        path=f"{NOTES}/{path}", size=len(data), sha256=hashlib.sha256(data).hexdigest()
    )


def _digest_of(member: ManifestMember | None) -> str | None:
    """As the journal names versions: the beginning of the same hash."""
    return member.sha256[:DIGEST_DIGITS] if member else None


@dataclass(slots=True)
class _Trace:
    """What changes made of a path: the version at the moment, and those they replaced. None: there is no file."""

    version: str | None
    before: set[str | None]


def _touched(tx: Reader, first: int) -> dict[str, _Trace]:
    if not has_journal(tx):
        return {}
    found: dict[str, _Trace] = {}
    rows = tx.all(
        "SELECT c.state, f.path, f.to_path, f.before, f.after FROM note_changes c"
        " JOIN note_change_files f ON f.change = c.seq WHERE c.seq >= :first AND c.state <> 'pending'"
        " ORDER BY c.seq, f.ordinal",
        {"first": first},
    )
    for state, path, to, before, after in rows:
        moved = to is not None and to != path
        steps = [(path, before, None), (to, None, after)] if moved else [(path, before, after)]
        for at, old, new in steps:
            # A failed change was rolled back: its files may have been read while it was tried.
            was, then = (old, new) if state == "done" else (new, old)
            trace = found.setdefault(at, _Trace(then, set()))
            trace.version = then
            trace.before.add(was)
    return found
