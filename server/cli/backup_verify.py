"""``strongroom backup verify``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from server.cli.backup_keys import IdentityFile, PassphraseFile

if TYPE_CHECKING:
    from ops.backup.archive_reader import Opener
    from ops.backup.drill import DrillReport
    from server.settings import LoadedSettings


def verify(
    ctx: typer.Context,
    archive: Annotated[str, typer.Argument(metavar="ARCHIVE", help="a file, a name from backup list, or latest")],
    vault: Annotated[str | None, typer.Option(help="of which vault, for latest and for names")] = None,
    passphrase_file: PassphraseFile = None,
    identity_file: IdentityFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, for programs")] = False,
) -> None:
    """Prove that a backup can be restored. Restores it into a scratch folder, verifies it, and asks what was asked when
    it was made. Exit code 1: it cannot be restored."""
    from dataclasses import asdict

    from server.cli.backup_keys import make_opener
    from server.cli.output import say, say_json
    from server.cli.runtime import load_settings, run_async

    loaded = load_settings(ctx)
    report = run_async(_drill(loaded, archive, vault, make_opener(loaded, passphrase_file, identity_file)))
    if as_json:
        say_json({"ok": report.ok, **asdict(report)})
    else:
        if report.vault:
            say(f"backup of vault {report.vault}, {report.made_at}")
        for step in report.steps:
            say(f"  {'ok    ' if step.ok else 'FAILED'} {step.name}: {step.message}")
    raise typer.Exit(0 if report.ok else 1)


async def _drill(loaded: LoadedSettings, archive: str, vault: str | None, opener: Opener) -> DrillReport:
    import asyncio

    from ops.backup.backup_runs import list_archives
    from ops.backup.drill import DrillGround, run_drill
    from ops.backup.references import KnownBackups, open_source
    from server.cli.runtime import open_all

    async with open_all(loaded) as services:
        cache = services.registry_cache
        vault_id = cache.entry(vault).vault_id if vault is not None and cache.known(vault) else None
        recorded = await services.control.read(lambda tx: list_archives(tx, vault_id)) if vault_id else ()
        known = KnownBackups(loaded.settings.backup, loaded.data, opener, vault, vault_id, recorded=recorded)
        source = await asyncio.to_thread(open_source, archive, known)
        return await run_drill(source, DrillGround(services.pool, loaded.settings.storage, loaded.data))
