"""``strongroom salvage``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ops.salvage.salvage_report import SalvageReport
    from server.services import Services
    from server.settings import LoadedSettings
    from vaults.registry import VaultEntry


def add_to(app: typer.Typer) -> None:
    app.command("salvage")(salvage)


def salvage(
    ctx: typer.Context,
    *,
    vault: Annotated[str, typer.Option(help="the damaged vault")],
    sources: Annotated[
        list[Path] | None,
        typer.Option("--from", help="a backup of it: an archive, or a copy of vault.db; newest first, may be repeated"),
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

    report = run_async(_salvage(load_settings(ctx), vault, sources or [], dry_run=dry_run))
    if as_json:
        say_json(asdict(report))
    else:
        for line in report.to_lines():
            say(line)
    raise typer.Exit(0 if report.whole else 1)


async def _salvage(loaded: LoadedSettings, name: str, sources: Sequence[Path], *, dry_run: bool) -> SalvageReport:
    from server.cli.runtime import open_all, require_vault

    async with open_all(loaded) as services:
        return await salvage_vault(services, require_vault(services, name), sources, dry_run=dry_run)


async def salvage_vault(
    services: Services, entry: VaultEntry, sources: Sequence[Path], *, dry_run: bool = False
) -> SalvageReport:
    """Build a vault's database anew, and open the vault with it."""
    from concurrent.futures import ThreadPoolExecutor

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
        )
        report = await salvage(subject, sources, dry_run=dry_run)
    if not (dry_run or report.sound):
        await services.pool.close_vault(entry.name)  # nothing remembers it as damaged
        async with services.pool.lease(entry) as vault:
            await catch_up(vault)
    return report
