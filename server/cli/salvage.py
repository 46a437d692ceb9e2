"""``strongroom salvage``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from server.cli.backup_keys import IdentityFile, PassphraseFile

if TYPE_CHECKING:
    from ops.backup.archive_reader import Opener
    from ops.salvage.salvage_report import SalvageReport
    from ops.salvage.source_search import SalvageSource, SourceSearch
    from server.services import Services
    from server.settings import LoadedSettings
    from vaults.registry import VaultEntry


@dataclass(frozen=True, slots=True)
class SalvageRequest:
    """``backups``: those to use; without any, those that are found where backups go. ``opener``: of encrypted ones."""

    backups: Sequence[str] = ()
    opener: Opener | None = None
    dry_run: bool = False


def add_to(app: typer.Typer) -> None:
    app.command("salvage")(salvage)


def salvage(
    ctx: typer.Context,
    *,
    vault: Annotated[str, typer.Option(help="the damaged vault")],
    sources: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="BACKUP",
            help="a backup of it: an archive, a copy of vault.db, or a name that backup list shows; the first that is"
            " whole is taken; default: the newest archive or snapshot, or the end of the change log",
        ),
    ] = None,
    passphrase_file: PassphraseFile = None,
    identity_file: IdentityFile = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="only say what would come back, and what would not")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, for programs")] = False,
) -> None:
    """Build a damaged vault anew. Takes every row that can be believed from the damaged file, its log and a backup, the
    newest version of each; the damaged file is kept. Exit code 1: something is lost or in doubt."""
    from dataclasses import asdict

    from server.cli.backup_keys import make_opener
    from server.cli.output import say, say_json
    from server.cli.runtime import load_settings, run_async

    loaded = load_settings(ctx)
    request = SalvageRequest(sources or (), make_opener(loaded, passphrase_file, identity_file), dry_run)
    report = run_async(_salvage(loaded, vault, request))
    if as_json:
        say_json(asdict(report))
    else:
        for line in report.to_lines():
            say(line)
    raise typer.Exit(0 if report.whole and not report.unopened else 1)


async def _salvage(loaded: LoadedSettings, name: str, request: SalvageRequest) -> SalvageReport:
    from server.cli.runtime import open_all, require_vault

    async with open_all(loaded) as services:
        entry = require_vault(services, name)
        if request.dry_run:
            return await salvage_vault(services, entry, request)
        return await salvage_recorded(services, entry, request)


async def salvage_recorded(services: Services, entry: VaultEntry, request: SalvageRequest) -> SalvageReport:
    """``salvage_vault``, in the audit."""
    from server.cli.admin_acts import act_of

    async with services.audit.acting(act_of("salvage", "run", entry.name)):
        return await salvage_vault(services, entry, request)


async def salvage_vault(services: Services, entry: VaultEntry, request: SalvageRequest) -> SalvageReport:
    """Build a vault's database anew, and open the vault with it."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    from ops.backup.archive_reader import NO_KEYS
    from ops.salvage.reopening import catch_up
    from ops.salvage.salvaging import SalvageSubject, salvage
    from ops.salvage.source_search import SourceSearch
    from vaults.errors import StrongroomError

    settings = services.settings
    search = SourceSearch(settings.backup, services.data, entry, request.opener or NO_KEYS)
    given = [await asyncio.to_thread(_open_source, search, each) for each in request.backups]
    found = [] if given else await asyncio.to_thread(search.find)
    await services.pool.close_vault(entry.name)
    with ThreadPoolExecutor(1, thread_name_prefix="salvage") as thread:
        subject = SalvageSubject(
            entry=entry,
            folder=services.pool.folder_of(entry),
            storage=settings.storage,
            passage_tokens=settings.index.passage_tokens,
            thread=thread,
        )
        report = await salvage(subject, given, found=found, dry_run=request.dry_run)
    if not (request.dry_run or report.sound):
        await services.pool.close_vault(entry.name)  # nothing remembers it as damaged
        try:
            async with services.pool.lease(entry) as vault:
                await catch_up(vault)
        except StrongroomError as failure:  # what was done is told all the same
            report.unopened = failure.message
    return report


def _open_source(search: SourceSearch, reference: str) -> SalvageSource:
    """The backup somebody names. Blocking. Raises ``NotFound``, ``InvalidArgument``."""
    from pathlib import Path

    from ops.backup.references import KnownBackups, open_source
    from ops.salvage.source_search import from_backup
    from ops.salvage.whole_sources import from_file

    if (path := Path(reference).expanduser()).is_file():
        return from_file(path, search.opener)
    entry = search.entry
    known = KnownBackups(search.settings, search.data, search.opener, entry.name, entry.vault_id)
    return from_backup(reference, "", open_source(reference, known))
