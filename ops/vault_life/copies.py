"""A second vault with the content of one, made while the first is in use.

What a backup holds is put together in a scratch folder and made a vault there; then the registry gets its entry, in one
transaction with the move of the folder to its place, so that a kill leaves a whole vault or none.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from uuid_utils import uuid7

from ops.backup.member_paths import HISTORY, SETTINGS, VAULT_DATABASE
from ops.backup.staging import stage
from ops.backup.subject import BackupSubject, read_subject
from ops.backup.turns import turn
from ops.vault_life import folder_moves
from ops.vault_life.erasure import erase_folder
from ops.vault_life.folder_moves import FolderMove
from vaults import clock, registry
from vaults.context import run_to_completion
from vaults.db.connection import open_raw
from vaults.db.failures import translate_sqlite_errors
from vaults.db.sql import Reader, Writer
from vaults.db.transactions import Transactions
from vaults.errors import AlreadyExists, Conflict, InvalidArgument
from vaults.files.atomic import sync_folder
from vaults.files.scratch_folders import scratch_folder
from vaults.history.locations import OWN_FOLDER
from vaults.registry import NAME_RULE, VaultEntry, folder_of, is_valid_name
from vaults.settings import NotesSettings, StorageSettings
from vaults.vault import NOTES_FOLDER
from vaults.vault_gate import hold_exclusively

SCRATCH = ".copying"
_REFS = Path("refs", "strongroom")


@dataclass(frozen=True, slots=True)
class CopySettings:
    """What reading a vault's files needs to know."""

    version: str
    storage: StorageSettings
    notes: NotesSettings


async def copy(control: Transactions, data: Path, name: str, new: str, settings: CopySettings) -> VaultEntry:
    """Make vault ``new`` with the memories, notes and history of ``name``, its rules and nobody's grants. A folder
    served in place is copied into the data folder. Raises ``NotFound``, ``InvalidArgument``, ``AlreadyExists``,
    ``Conflict`` while another is copied, and what ``stage`` raises; nothing is left of the copy then."""
    if not is_valid_name(new):
        raise InvalidArgument("name", NAME_RULE)
    await folder_moves.finish_all(control, data)
    entry = await control.read(lambda tx: _copyable(tx, name, new))
    if folder_of(data, new, None).exists():
        raise AlreadyExists(f"a folder called {new} lies among the vaults", hint="move it away, or choose another name")
    subject = await read_subject(
        control, data, entry, version=settings.version, storage=settings.storage, notes=settings.notes
    )
    return await run_to_completion(_copy(control, data, subject, new))


async def _copy(control: Transactions, data: Path, subject: BackupSubject, new: str) -> VaultEntry:
    vault_id, scratch = str(uuid7()), folder_of(data, SCRATCH, None)
    made = folder_of(data, f"{SCRATCH}-{vault_id}", None)
    move = FolderMove(vault_id, "rename", made.name, new)
    with _own_turn(scratch):
        await _sweep(control, data)
        await asyncio.to_thread(_make, subject, scratch, made, vault_id)
        async with hold_exclusively(made, 0.0):  # whoever asks for it once it is registered waits
            try:
                entry = await control.write(lambda tx: _register(tx, subject.entry, new, move))
            except BaseException:
                await asyncio.to_thread(erase_folder, made)
                raise
            await folder_moves.carry_out(control, data, move)
    return entry


@contextmanager
def _own_turn(scratch: Path) -> Iterator[None]:
    """One copy at a time: what another one has not registered yet would be taken for what a killed one left."""
    with ExitStack() as held:
        try:
            held.enter_context(turn(scratch, "copy"))
        except Conflict:
            raise Conflict("another vault is being copied", hint="wait until that is done") from None
        yield


def _copyable(tx: Reader, name: str, new: str) -> VaultEntry:
    for each in (name, new):
        folder_moves.refuse_if_moving(tx, each)
    entry = registry.get(tx, name)
    if tx.one("SELECT 1 FROM vaults WHERE name = :name", {"name": new}):
        raise AlreadyExists(f"vault {new} exists already")
    return entry


def _register(tx: Writer, source: VaultEntry, new: str, move: FolderMove) -> VaultEntry:
    _copyable(tx, source.name, new)
    registry.create(tx, new, None, move.vault_id)
    folder_moves.record(tx, move)
    return registry.copy_rules(tx, source, new)


async def _sweep(control: Transactions, data: Path) -> None:
    """Erase what a copy that was killed before its commit left."""
    due = {move.from_name for move in await control.read(folder_moves.list_moves)}
    for folder in folder_of(data, SCRATCH, None).parent.glob(f"{SCRATCH}-*"):
        if folder.name not in due:
            await asyncio.to_thread(erase_folder, folder)


def _make(subject: BackupSubject, parent: Path, made: Path, vault_id: str) -> None:
    with scratch_folder(parent) as scratch:
        stage(subject, scratch)
        _lay_out(scratch, subject, vault_id)
        _sync(scratch)
        scratch.rename(made)
    sync_folder(made.parent)


def _lay_out(folder: Path, subject: BackupSubject, vault_id: str) -> None:
    """Make the members of a backup a vault of their own."""
    with translate_sqlite_errors(), closing(open_raw(folder / VAULT_DATABASE, subject.storage, writer=True)) as raw:
        now = {"id": vault_id, "at": clock.now()}
        raw.execute("UPDATE vault_info SET value = :id WHERE key = 'vault_id'", now)
        raw.execute("UPDATE vault_info SET value = :at WHERE key = 'created_at'", now)
        times = raw.execute("SELECT path, mtime_ns FROM notes").fetchall()
    (folder / SETTINGS).unlink()
    notes = folder / NOTES_FOLDER
    notes.mkdir(0o700, exist_ok=True)
    for path, mtime_ns in times:
        with suppress(FileNotFoundError):  # the row is of a note that could not be read
            os.utime(notes / path, ns=(mtime_ns, mtime_ns), follow_symlinks=False)
    if (folder / HISTORY).exists():
        (folder / HISTORY).rename(folder / OWN_FOLDER)
        own = folder / OWN_FOLDER / _REFS / subject.entry.vault_id
        if own.is_file():
            own.rename(own.with_name(vault_id))


def _sync(folder: Path) -> None:
    """Make everything below durable: the registry is about to name it."""
    for here, _, names in os.walk(folder):
        for each in (*(os.path.join(here, name) for name in names), here):  # noqa: PTH118  thousands of them
            descriptor = os.open(each, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
