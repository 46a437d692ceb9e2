"""``strongroom restore`` of less than a vault, or of what is none: a note, a memory, the installation's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.cli.restore_orders import RestoreAnswer, RestoreOrder, recorded
from server.cli.restore_sources import open_backup

if TYPE_CHECKING:
    from server.settings import LoadedSettings


async def restore_note_of(loaded: LoadedSettings, asked: RestoreOrder) -> RestoreAnswer:
    """Write a note as the backup has it."""
    from dataclasses import asdict

    from ops.backup.single_items import restore_note
    from server.cli.runtime import open_all, require_vault
    from vaults.domain.actors import Actor
    from vaults.domain.notes.edit.reversals import UndoRequest

    async with open_all(loaded) as services:
        entry = require_vault(services, asked.vault or "")
        source = await open_backup(services, asked)
        async with services.pool.lease(entry) as vault:
            request = UndoRequest(path=asked.note, dry_run=asked.dry_run, governs=True)
            async with recorded(services, asked, "note", entry.name):
                done = await restore_note(vault, Actor("owner", "owner"), source, request)
    if done.changed:
        line = f"{done.path} is as it was in the backup; history shows what stood there, and undoes this"
    elif asked.dry_run:
        line = done.diff or f"{done.path} is as it was in the backup already"
    else:
        line = f"{done.path} is as it was in the backup already"
    return RestoreAnswer([line], asdict(done))


async def restore_memory_of(loaded: LoadedSettings, asked: RestoreOrder) -> RestoreAnswer:
    """Have a memory again as the backup has it."""
    from dataclasses import asdict

    from ops.backup.single_items import restore_memory
    from server.cli.runtime import open_all, require_vault

    async with open_all(loaded) as services:
        entry = require_vault(services, asked.vault or "")
        source = await open_backup(services, asked)
        async with services.pool.lease(entry) as vault, recorded(services, asked, "memory", entry.name):
            memory = await restore_memory(vault, source, asked.memory or "", replacing=asked.replace)
    return RestoreAnswer([f"memory {memory.id} is there again: {memory.title}"], asdict(memory))


async def restore_installation(loaded: LoadedSettings, asked: RestoreOrder) -> RestoreAnswer:
    """Registry, grants, tokens and keys."""
    import asyncio
    from dataclasses import asdict

    from ops.backup.references import KnownBackups, open_source
    from ops.backup.restore_control import restore_control
    from server.running_server import hold_stopped

    known = KnownBackups(loaded.settings.backup, loaded.data, asked.opener)
    source = await asyncio.to_thread(open_source, asked.archive, known)
    loaded.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Not in the audit: its chains are signed with the keys that are replaced here, in a folder that is replaced.
    with hold_stopped(loaded.data):
        passphrase = loaded.settings.auth.key_passphrase_file
        done = await restore_control(
            source, loaded.data, loaded.settings.storage, key_passphrase_file=passphrase, dry_run=asked.dry_run
        )
    verb = "would be" if asked.dry_run else "were"
    lines = [f"backup of {done.made_at}: {verb} restored: {', '.join(done.restored)}"]
    if done.replaced is not None:
        lines.append(f"what stood there is kept in {done.replaced}")
    if done.sealed:
        lines.append(
            "the keys are encrypted: name their passphrase (auth.key_passphrase_file) before the server starts"
        )
    lines += [f"left as it is, because there is one: {name}" for name in done.left]
    if done.missing:
        lines.append(f"vaults whose files are missing: {', '.join(done.missing)}; restore each from its own backup")
    return RestoreAnswer(lines, asdict(done))
