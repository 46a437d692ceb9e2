"""``strongroom salvage``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ops.backup.archive_reader import Opener
    from ops.salvage.salvage_report import SalvageReport
    from server.services import Services
    from server.settings import LoadedSettings
    from vaults.registry import VaultEntry


@dataclass(frozen=True, slots=True)
class SalvageRequest:
    """``backups``: those to use; without any, those that are found where backups go. ``opener``: of encrypted ones."""

    backups: Sequence[Path] = ()
    opener: Opener | None = None
    dry_run: bool = False


def add_to(app: typer.Typer) -> None:
    app.command("salvage")(salvage)


def salvage(
    ctx: typer.Context,
    *,
    vault: Annotated[str, typer.Option(help="the damaged vault")],
    sources: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            help="a backup of it: an archive, or a copy of vault.db; newest first, may be repeated; default: the"
            " archives that lie where backups go",
        ),
    ] = None,
    identity_file: Annotated[Path | None, typer.Option(help="age keys of encrypted archives")] = None,
    passphrase_file: Annotated[
        Path | None, typer.Option(help="file whose first line is the passphrase of encrypted archives")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="only say what would come back, and what would not")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, for programs")] = False,
) -> None:
    """Build a damaged vault anew. Takes every row that can be believed from the damaged file, its log and backups; the
    damaged file is kept. Exit code 1: something is lost or in doubt."""
    from dataclasses import asdict

    from server.cli.output import say, say_json
    from server.cli.runtime import load_settings, run_async

    request = SalvageRequest(sources or (), _make_opener(identity_file, passphrase_file), dry_run)
    report = run_async(_salvage(load_settings(ctx), vault, request))
    if as_json:
        say_json(asdict(report))
    else:
        for line in report.to_lines():
            say(line)
    raise typer.Exit(0 if report.whole else 1)


def _make_opener(identity_file: Path | None, passphrase_file: Path | None) -> Opener:
    from ops.backup.archive_reader import Opener
    from server.backups import read_passphrase
    from vaults.errors import InvalidArgument

    try:
        lines = identity_file.read_text(encoding="utf-8").splitlines() if identity_file is not None else []
    except (OSError, UnicodeDecodeError):
        raise InvalidArgument("--identity-file", f"{identity_file} cannot be read") from None
    keys = tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))
    return Opener(keys, read_passphrase(passphrase_file) if passphrase_file is not None else None)


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
    from concurrent.futures import ThreadPoolExecutor

    from ops.backup.archive_reader import NO_KEYS
    from ops.salvage.archive_search import archives_folder, find_archives
    from ops.salvage.reopening import catch_up
    from ops.salvage.salvaging import SalvageSubject, salvage

    settings = services.settings
    await services.pool.close_vault(entry.name)
    with ThreadPoolExecutor(1, thread_name_prefix="salvage") as thread:
        subject = SalvageSubject(
            entry=entry,
            folder=services.pool.folder_of(entry),
            storage=settings.storage,
            passage_tokens=settings.index.passage_tokens,
            thread=thread,
            opener=request.opener or NO_KEYS,
        )
        place = archives_folder(settings.backup, services.data)
        found = [] if request.backups else find_archives(place, entry.name)
        report = await salvage(subject, request.backups, found=found, dry_run=request.dry_run)
    if not (request.dry_run or report.sound):
        await services.pool.close_vault(entry.name)  # nothing remembers it as damaged
        async with services.pool.lease(entry) as vault:
            await catch_up(vault)
    return report
