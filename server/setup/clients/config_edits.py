"""Writing something of ours into a client's configuration, and taking it out again.

Beside the file lies what it was before, so that undoing gives back the very bytes. Where the client has written to the
file since, only what is ours is taken out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from server.setup.clients.config_files import ConfigFile, keep_copy, read_config, remove_config, replace_config
from vaults.errors import Conflict, NotFound

Json = dict[str, Any]
Edited = tuple[str, Json]
"""A text that was edited, and what it must say when it is read again: nothing else may say anything new."""


@dataclass(frozen=True, slots=True)
class ConfigEdit:
    """One thing of ours in a kind of file. ``read``, ``put`` and ``drop`` raise ``ValueError`` with the place of what
    is wrong. ``name`` tells its backup from others of the same file; ``what`` names it in messages."""

    name: str
    what: str
    read: Callable[[str], Json]
    find: Callable[[Json], Json | None]
    """What stands there for us; None: nothing."""
    put: Callable[[str, Json], Edited]
    drop: Callable[[str], Edited]
    is_ours: Callable[[Json], bool]
    """Whether what stands there has a form that is written here."""
    prune: Callable[[Json], Json] = lambda content: content
    """A content without what ``drop`` may leave or take: what holds nothing else."""


@dataclass(frozen=True, slots=True)
class ConnectionChange:
    """What became of a file. ``backup`` None: there was no file before, or nothing to change."""

    path: Path
    backup: Path | None
    outcome: str


def write_edit(edit: ConfigEdit, path: Path, entry: Json) -> ConnectionChange:
    """Have the file say ``entry``. Raises ``Conflict`` if the file cannot be read as what it should be, or has been
    changed meanwhile; it is untouched then."""
    file = read_config(path)
    found = edit.find(_read(edit, file))
    if found == entry:
        return ConnectionChange(path, None, "unchanged")
    backup = _backup_of(path, edit.name)
    before = _read_backup(file, backup)
    if _is_what_was_written(edit, file, before):  # as if it were the first time, so that it can be undone
        data = _with_entry(edit, before, entry)
    else:
        data = _with_entry(edit, file, entry)
        if file.stamp is None:
            backup.unlink(missing_ok=True)
        elif before.stamp is None or found is None or not edit.is_ours(found):  # else: it is older than our entry
            keep_copy(file, backup)
    replace_config(file, data)
    return ConnectionChange(path, backup if backup.exists() else None, "connected")


def undo_edit(edit: ConfigEdit, path: Path) -> ConnectionChange:
    """Take it out of the file: back to the bytes before, or, where something else has changed since, to what stood
    there for this one. Raises ``NotFound``, ``Conflict``."""
    file = read_config(path)
    if (entry := edit.find(_read(edit, file))) is None:
        raise NotFound(f"{path} names no {edit.what}")
    backup = _backup_of(path, edit.name)
    before = _read_backup(file, backup)
    if not edit.is_ours(entry):  # of which nothing would be left
        raise Conflict(f"{edit.what} in {path} is not one of strongroom's, and was left as it is")
    if not _is_what_was_written(edit, file, before):
        earlier = edit.find(_read(edit, before))
        replace_config(file, _without_entry(edit, file, earlier))
        outcome = "removed"
    elif before.stamp is None:
        remove_config(file)
        outcome = "deleted"
    else:
        replace_config(file, before.data)
        outcome = "restored"
    backup.unlink(missing_ok=True)
    return ConnectionChange(path, None, outcome)


def _is_what_was_written(edit: ConfigEdit, file: ConfigFile, before: ConfigFile) -> bool:
    """Whether the file is as ``write_edit`` left it, and nobody has written there since."""
    entry = edit.find(_read(edit, file))
    return entry is not None and edit.is_ours(entry) and file.data == _with_entry(edit, before, entry)


def _backup_of(path: Path, name: str) -> Path:
    return path.with_name(f"{path.name}.before-{name}")


def _read_backup(file: ConfigFile, backup: Path) -> ConfigFile:
    """The file as it was before; as an absent one if no backup was made."""
    try:
        return replace(file, path=backup, data=backup.read_bytes())
    except FileNotFoundError:
        return replace(file, data=b"", stamp=None)


def _read(edit: ConfigEdit, file: ConfigFile) -> Json:
    try:
        return edit.read(file.text)
    except ValueError as wrong:
        raise _unreadable(file, str(wrong)) from None


def _with_entry(edit: ConfigEdit, file: ConfigFile, entry: Json) -> bytes:
    try:
        text, expected = edit.put(file.text, entry)
        changed = edit.read(text)
    except ValueError as wrong:
        raise _unreadable(file, str(wrong)) from None
    if changed != expected:
        raise _unreadable(file, "a form that cannot be edited safely")
    return file.encode(text)


def _without_entry(edit: ConfigEdit, file: ConfigFile, earlier: Json | None) -> bytes:
    if earlier is not None:
        return _with_entry(edit, file, earlier)
    try:
        text, expected = edit.drop(file.text)
        left = edit.read(text)
    except ValueError as wrong:
        raise _unreadable(file, str(wrong)) from None
    if edit.prune(left) != edit.prune(expected):
        raise _unreadable(file, "a form that cannot be edited safely")
    return file.encode(text)


def _unreadable(file: ConfigFile, reason: str) -> Conflict:
    return Conflict(
        f"{file.path} cannot be read: {reason}",
        hint="it was left as it is; mend it, or paste what --print shows; its client may be writing it just now",
    )
