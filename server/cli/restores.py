"""``strongroom restore``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from server.cli.backup_keys import IdentityFile, PassphraseFile

if TYPE_CHECKING:
    from ops.backup.restore import RestoreReport
    from ops.backup.source import BackupSource
    from ops.change_log.past_source import PastSource
    from server.services import Services
    from server.settings import LoadedSettings

MAX_PART = 256 * 2**20
"""Bytes of one part of a change log once it is open."""

SHOWN = 20
"""Paths of notes listed of each kind; JSON has all."""


def add_to(app: typer.Typer) -> None:
    app.command("restore")(restore)


def restore(
    ctx: typer.Context,
    archive: Annotated[str, typer.Argument(metavar="ARCHIVE", help="a file, a name from backup list, or latest")],
    *,
    vault: Annotated[
        str | None, typer.Option(help="the vault to replace, or to make; default: that of the backup")
    ] = None,
    as_new: Annotated[str | None, typer.Option("--as", metavar="NEW", help="make a new vault of this name")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="prove the backup; replace nothing")] = False,
    grants: Annotated[bool, typer.Option("--grants", help="give its grants too where the vault is known here")] = False,
    note: Annotated[str | None, typer.Option(metavar="PATH", help="only this note, into --vault")] = None,
    memory: Annotated[str | None, typer.Option(metavar="ID", help="only this memory, into --vault")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="with --memory: also where it is there")] = False,
    control: Annotated[
        bool, typer.Option("--control", help="grants, tokens and keys of the installation; while no server runs")
    ] = False,
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="with latest and --vault: as of this moment, from the change log")
    ] = None,
    passphrase_file: PassphraseFile = None,
    identity_file: IdentityFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, for programs")] = False,
) -> None:
    """Bring back a vault, a note or a memory. Everything is proven before anything is replaced; a running server serves
    the restored vault by itself."""
    from server.cli.backup_keys import make_opener
    from server.cli.output import say, say_json
    from server.cli.runtime import load_settings, run_async

    loaded = load_settings(ctx)
    opener = make_opener(loaded, passphrase_file, identity_file)
    asked = _Asked(archive, opener, vault, as_new, dry_run, grants, note, memory, replace, at)
    found = run_async(_choose_work(asked, control=control)(loaded, asked))
    if as_json:
        say_json(found.details)
    else:
        for line in found.lines:
            say(line)
    raise typer.Exit(0 if found.complete else 1)


@dataclass(frozen=True, slots=True)
class _Asked:
    archive: str
    opener: Any
    vault: str | None
    as_new: str | None
    dry_run: bool
    grants: bool
    note: str | None
    memory: str | None
    replace: bool
    at: str | None = None


@dataclass(frozen=True, slots=True)
class _Answer:
    lines: list[str]
    details: dict[str, Any]
    complete: bool = True


def _choose_work(asked: _Asked, *, control: bool) -> Callable[[LoadedSettings, _Asked], Coroutine[Any, Any, _Answer]]:
    """What is to be restored. Raises ``InvalidArgument`` for options that do not go together."""
    from vaults.errors import InvalidArgument

    single = asked.note is not None or asked.memory is not None
    if (asked.note is not None) + (asked.memory is not None) + control > 1:
        raise InvalidArgument("--note", ", --memory and --control exclude each other")
    if single and (asked.vault is None or asked.as_new is not None):
        raise InvalidArgument("--vault", "is needed: which vault does it go back into?")
    if asked.at is not None and (asked.archive != "latest" or asked.vault is None or single or control):
        raise InvalidArgument("--at", "goes with latest and --vault, for a whole vault")
    if asked.memory is not None and asked.dry_run:
        raise InvalidArgument("--dry-run", "is for vaults, notes and the installation")
    if control:
        return _restore_control
    if asked.note is not None:
        return _restore_note
    return _restore_memory if single else _restore_vault


async def _open(services: Services, asked: _Asked) -> BackupSource:
    import asyncio

    from ops.backup.references import KnownBackups, open_source

    cache = services.registry_cache
    vault_id = cache.entry(asked.vault).vault_id if asked.vault is not None and cache.known(asked.vault) else None
    known = KnownBackups(services.settings.backup, services.data, asked.opener, asked.vault, vault_id)
    return await asyncio.to_thread(open_source, asked.archive, known)


async def _open_past(services: Services, asked: _Asked) -> PastSource:
    """The vault as of ``--at``: its last backup before, and its change log. Raises ``NotFound`` and
    ``InvalidArgument``."""
    import asyncio
    from functools import partial

    from ops.backup.references import KnownBackups, open_source
    from ops.backup.snapshot_name import compact_moment
    from ops.backup.stores import open_store
    from ops.change_log.past_source import PastSource
    from ops.change_log.points import find_point
    from server.cli.runtime import require_vault

    vault, moment = asked.vault or "", _parse_moment(asked.at or "")
    vault_id = require_vault(services, vault).vault_id
    store = open_store(services.settings.backup)
    unseal = partial(_unseal, asked.opener.identities)
    point = await asyncio.to_thread(find_point, store, vault_id, time=moment, unseal=unseal)
    known = KnownBackups(
        services.settings.backup, services.data, asked.opener, vault, vault_id, compact_moment(point.time)
    )
    return PastSource(await asyncio.to_thread(open_source, asked.archive, known), store, point, unseal)


def _parse_moment(text: str) -> str:
    from datetime import UTC, datetime

    from vaults.errors import InvalidArgument

    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError
        return moment.astimezone(UTC).isoformat()
    except (ValueError, OverflowError):
        raise InvalidArgument("--at", "must be a time such as 2026-11-25T14:03:20Z") from None


def _unseal(identities: tuple[str, ...], data: bytes) -> bytes:
    """A part of the log; one log may hold some that are encrypted and some that are not."""
    from ops.backup.sealing import disclose

    return disclose(data, MAX_PART, identities) if data.startswith(b"age-encryption.org/") else data


@asynccontextmanager
async def _recorded(services: Services, asked: _Asked, action: str, vault: str | None) -> AsyncIterator[None]:
    """In the audit, unless nothing is changed."""
    from server.cli.admin_acts import act_of

    if asked.dry_run:
        yield
        return
    async with services.audit.acting(act_of("restore", action, vault)):
        yield


async def _restore_vault(loaded: LoadedSettings, asked: _Asked) -> _Answer:
    from ops.backup.restore import LivingInstallation, RestoreRequest, restore
    from ops.change_log.past_source import PastSource
    from server.cli.runtime import open_all

    async with open_all(loaded) as services:
        source = await _open(services, asked) if asked.at is None else await _open_past(services, asked)
        place = LivingInstallation(services.data, services.control, services.pool, loaded.settings.storage)
        # With a new name, --vault only says whose latest backup it is.
        request = RestoreRequest(
            None if asked.as_new else asked.vault, asked.as_new, dry_run=asked.dry_run, grants=asked.grants
        )
        name = asked.as_new or asked.vault
        async with _recorded(services, asked, "vault", name):
            report = await restore(place, source, request)
    lines, details = _describe(report), _to_json(report)
    if isinstance(source, PastSource):
        details |= {"at": source.point.time, "complete": source.point.complete}
        if not source.point.complete:
            lines.append("the change log has a gap after that commit: later ones before --at may be missing")
    return _Answer(lines, details, report.notes is None or not report.notes.failed)


def _describe(report: RestoreReport) -> list[str]:
    found = report.verified
    sizes = f"{found.memories} memories, {found.notes} notes, {found.documents} documents"
    lines = [f"backup of {report.made_at}: {report.size:,} bytes, all as written; agrees with itself: {sizes}"]
    if report.schema_was != report.schema_is:
        lines.append(f"schema {report.schema_was} was brought to {report.schema_is}")
    if found.owed:
        lines.append(f"{found.owed} passages have no vector yet: a server computes them")
    if report.dry_run:
        what = "be made" if report.is_new else "be replaced"
        return [*lines, f"nothing was changed: vault {report.vault} would {what}"]
    what = "is in the place of what stood there" if report.replaced else "is there"
    lines.append(f"vault {report.vault}, as it was then, {what}")
    if report.archived:
        lines.append(f"vault {report.vault} is archived: nobody is served from it")
    lines += [f"granted: {each}" for each in report.grants]
    return [*lines, *_describe_notes(report)]


def _describe_notes(report: RestoreReport) -> list[str]:
    placed = report.notes
    if placed is None:
        return []
    lines = [
        f"{len(placed.written)} notes were written, {len(placed.removed)} are not in the backup and were taken away"
    ]
    lines += [f"  written: {path}" for path in placed.written[:SHOWN]]
    lines += [f"  taken away: {path}" for path in placed.removed[:SHOWN]]
    if placed.written or placed.removed:
        lines.append(f"what stood there is kept in {placed.aside}")
    return lines + [f"  NOT written: {path}: {reason}" for path, reason in placed.failed.items()]


def _to_json(report: RestoreReport) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(report)


async def _restore_note(loaded: LoadedSettings, asked: _Asked) -> _Answer:
    from dataclasses import asdict

    from ops.backup.single_items import restore_note
    from server.cli.runtime import open_all, require_vault
    from vaults.domain.actors import Actor
    from vaults.domain.notes.edit.reversals import UndoRequest

    async with open_all(loaded) as services:
        entry = require_vault(services, asked.vault or "")
        source = await _open(services, asked)
        async with services.pool.lease(entry) as vault:
            request = UndoRequest(path=asked.note, dry_run=asked.dry_run, governs=True)
            async with _recorded(services, asked, "note", entry.name):
                done = await restore_note(vault, Actor("owner", "owner"), source, request)
    if done.changed:
        line = f"{done.path} is as it was in the backup; history shows what stood there, and undoes this"
    elif asked.dry_run:
        line = done.diff or f"{done.path} is as it was in the backup already"
    else:
        line = f"{done.path} is as it was in the backup already"
    return _Answer([line], asdict(done))


async def _restore_memory(loaded: LoadedSettings, asked: _Asked) -> _Answer:
    from dataclasses import asdict

    from ops.backup.single_items import restore_memory
    from server.cli.runtime import open_all, require_vault

    async with open_all(loaded) as services:
        entry = require_vault(services, asked.vault or "")
        source = await _open(services, asked)
        async with services.pool.lease(entry) as vault, _recorded(services, asked, "memory", entry.name):
            memory = await restore_memory(vault, source, asked.memory or "", replacing=asked.replace)
    return _Answer([f"memory {memory.id} is there again: {memory.title}"], asdict(memory))


async def _restore_control(loaded: LoadedSettings, asked: _Asked) -> _Answer:
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
        done = await restore_control(source, loaded.data, loaded.settings.storage, dry_run=asked.dry_run)
    verb = "would be" if asked.dry_run else "were"
    lines = [f"backup of {done.made_at}: {verb} restored: {', '.join(done.restored)}"]
    if done.replaced is not None:
        lines.append(f"what stood there is kept in {done.replaced}")
    lines += [f"left as it is, because there is one: {name}" for name in done.left]
    if done.missing:
        lines.append(f"vaults whose files are missing: {', '.join(done.missing)}; restore each from its own backup")
    return _Answer(lines, asdict(done))
