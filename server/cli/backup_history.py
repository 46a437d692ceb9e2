"""``strongroom backup history``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from server.cli.backup_keys import IdentityFile, PassphraseFile

if TYPE_CHECKING:
    from ops.backup.archive_reader import Opener
    from ops.backup.older_versions import OlderVersion, OlderVersions
    from ops.backup.references import KnownBackups
    from server.settings import LoadedSettings
    from vaults.vault import Vault

MAX_BYTES, MAX_S = 1 << 40, 3600.0
"""Of a search that somebody waits for at a terminal and can stop."""


@dataclass(frozen=True, slots=True)
class _Asked:
    vault: str
    note: str | None
    memory: str | None
    limit: int


def history(
    ctx: typer.Context,
    *,
    vault: Annotated[str, typer.Option(help="whose backups")],
    note: Annotated[str | None, typer.Option(metavar="PATH", help="of this note")] = None,
    memory: Annotated[str | None, typer.Option(metavar="ID", help="of this memory")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="look into the newest so many backups")] = 10,
    show: Annotated[str | None, typer.Option(metavar="BACKUP", help="print what it says in this backup")] = None,
    passphrase_file: PassphraseFile = None,
    identity_file: IdentityFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, for programs")] = False,
) -> None:
    """List what a note or memory said in backups, newest first, and which backup each version is from. Of a note only
    manifests are read; of a memory the database of each backup that has another one."""
    from server.cli.backup_keys import make_opener
    from server.cli.output import say, say_json, say_table
    from server.cli.runtime import load_settings, run_async
    from vaults.errors import InvalidArgument

    if (note is None) == (memory is None):
        raise InvalidArgument("--note", "or --memory is needed, and one of them only")
    loaded = load_settings(ctx)
    opener, asked = make_opener(loaded, passphrase_file, identity_file), _Asked(vault, note, memory, limit)
    if show is not None:
        text = run_async(_show(loaded, asked, show, opener))
        say_json({"text": text}) if as_json else say(text)
        return
    found = run_async(_find(loaded, asked, opener))
    if as_json:
        say_json(asdict(found))
        return
    if found.versions:
        say_table(("BACKUP", "MADE", "SINCE", "BACKUPS", "BYTES", "SAYS"), [_row(each) for each in found.versions])
    for line in _remarks(found):
        say(line)


def _row(version: OlderVersion) -> tuple[Any, ...]:
    says = version.title or version.digest[:12]
    return (version.backup, version.made_at, version.since, version.backups, f"{version.size:,}", says)


def _remarks(found: OlderVersions) -> list[str]:
    lines = [f"looked into {found.looked_at} backups; {found.without} of them do not have it"]
    if found.closed:
        lines.append(f"{found.closed} could not be read: encrypted for other keys, damaged or gone")
    if found.left_out:
        lines.append(f"{found.left_out} older ones were not looked into: --limit says how many are")
    return lines


async def _find(loaded: LoadedSettings, asked: _Asked, opener: Opener) -> OlderVersions:
    import asyncio

    from ops.backup import older_versions
    from ops.backup.older_versions import SearchBounds
    from ops.backup.references import list_backups
    from server.cli.runtime import open_vault

    async with open_vault(loaded, asked.vault) as vault:
        backups = await asyncio.to_thread(list_backups, _known(loaded, vault, opener))
        bounds = SearchBounds(asked.limit, MAX_BYTES, MAX_S)
        if asked.memory is not None:
            return await older_versions.find_memory_versions(vault, backups, asked.memory, None, bounds)
        return await older_versions.find_note_versions(vault, backups, _path(vault, asked), bounds)


async def _show(loaded: LoadedSettings, asked: _Asked, backup: str, opener: Opener) -> str:
    import asyncio

    from ops.backup import older_versions, single_items
    from ops.backup.references import open_source
    from server.cli.runtime import open_vault

    async with open_vault(loaded, asked.vault) as vault:
        source = await asyncio.to_thread(open_source, backup, _known(loaded, vault, opener))
        if asked.memory is not None:
            return (await older_versions.read_memory(vault, source, asked.memory, None))[1].content
        return (await single_items.read_note(vault, source, _path(vault, asked)))[1].decode("utf-8", "replace")


def _known(loaded: LoadedSettings, vault: Vault, opener: Opener) -> KnownBackups:
    from ops.backup.references import KnownBackups

    return KnownBackups(loaded.settings.backup, loaded.data, opener, vault.entry.name, vault.entry.vault_id)


def _path(vault: Vault, asked: _Asked) -> str:
    from vaults.domain.notes.policy_paths import parse_path

    return parse_path(vault.notes.settings.policies, asked.note or "")
