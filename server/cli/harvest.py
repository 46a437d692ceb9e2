"""``strongroom harvest``: what agents' programs write down on this machine, into a vault here or on another server."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from server.cli.remote_options import TokenFile, Url

if TYPE_CHECKING:
    from server.cli.remote_options import RemoteServer
    from server.settings import LoadedSettings
    from vaults.domain.import_export.harvesting import Harvester, HarvestReport
    from vaults.domain.import_export.line_import import NumberedLine
    from vaults.domain.import_export.row_writer import LineOutcome
    from vaults.domain.import_export.source_import import Prepare, Push
    from vaults.transcripts.extraction.extracted_memory import ExtractionKind

FOLDER = "harvest"


def add_to(app: typer.Typer) -> None:
    app.command("harvest")(harvest)


def harvest(
    ctx: typer.Context,
    vault: Annotated[str, typer.Option(help="the vault")],
    once: Annotated[bool, typer.Option("--once", help="one pass; without, go on until stopped")] = False,
    every: Annotated[float, typer.Option(min=1, help="seconds between two passes")] = 3.0,
    exclude: Annotated[
        list[str] | None, typer.Option(help="pattern as in .gitignore, of transcripts or projects; may be repeated")
    ] = None,
    kinds: Annotated[
        list[str] | None,
        typer.Option("--remember", help="decision, fix, command, files, preference, open; default: all but open"),
    ] = None,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Keep conversations with agents. And what was decided in them, by whichever program they were held."""
    from server.cli.remote_options import to_remote
    from server.cli.runtime import load_settings, run_async
    from vaults.domain.import_export.harvesting import Harvester
    from vaults.transcripts.exclusions import HarvestRules

    loaded, remote = load_settings(ctx), to_remote(url, token_file)
    target = hashlib.sha256(f"{remote.url if remote else ''}\n{vault}".encode()).hexdigest()[:12]
    rules = HarvestRules(patterns=tuple(exclude or ()))
    harvester = Harvester(Path.home(), loaded.data / FOLDER / target, rules, _to_kinds(kinds))
    run_async(_harvest(loaded, harvester, vault, remote, None if once else every))


def _to_kinds(names: list[str] | None) -> Collection[ExtractionKind]:
    from vaults.errors import InvalidArgument
    from vaults.transcripts.extraction.kinds import ALL_KINDS, DEFAULT_KINDS

    if not names:
        return DEFAULT_KINDS
    kinds = [kind for kind in ALL_KINDS if kind in names]
    if unknown := sorted(set(names) - set(kinds)):
        raise InvalidArgument("--remember", f"knows no {unknown[0][:40]}; there are {', '.join(sorted(ALL_KINDS))}")
    return kinds


async def _harvest(
    loaded: LoadedSettings, harvester: Harvester, vault: str, remote: RemoteServer | None, every: float | None
) -> None:
    import asyncio

    from server.cli.output import say_on_stderr
    from vaults.errors import VaultUnavailable

    while True:
        try:
            async with _open_push(loaded, vault, remote) as (push, prepare):
                while True:
                    _show(await harvester.run(push, prepare), quiet=every is not None)
                    if every is None:
                        return
                    await asyncio.sleep(every)
        except VaultUnavailable as failure:  # a server that is away comes back
            if every is None:
                raise
            say_on_stderr(f"{failure.message}; trying again")
        await asyncio.sleep(max(every, 30.0))


@asynccontextmanager
async def _open_push(
    loaded: LoadedSettings, vault: str, remote: RemoteServer | None
) -> AsyncIterator[tuple[Push, Prepare]]:
    """What stores lines in the vault, as one run that can be undone, and what prepares them for it."""
    from vaults.domain.import_export.source_import import leave_as_is

    if remote is not None:
        from server.remote_vault.vault_client import connect_to_vault

        async with connect_to_vault(remote.url, remote.token_file, vault) as remote_vault:
            yield remote_vault.open_push("harvest", str(Path.home())).push, leave_as_is
        return
    from auth.principal import owner
    from server.allowance import StoreQuota
    from server.cli.runtime import open_all, require_vault
    from vaults.domain.actors import Actor
    from vaults.domain.import_export.vault_import import open_push, preparing_for

    async with open_all(loaded) as services, services.pool.lease(require_vault(services, vault)) as local_vault:
        local_vault.shared.embedder.loads_for_backfill = True
        quota = StoreQuota(services, owner("cli"), local_vault, "owner")
        actor = Actor("owner", "owner")
        async with open_push(local_vault, actor, ("harvest", str(Path.home())), quota) as push:

            async def push_and_embed(lines: Sequence[NumberedLine]) -> list[LineOutcome]:
                outcomes = await push(lines)
                local_vault.start_background_work()  # there may be no end that could wait for the vectors
                return outcomes

            yield push_and_embed, preparing_for(local_vault, actor)
        await local_vault.background.wait()


def _show(report: HarvestReport, *, quiet: bool) -> None:
    from server.cli.output import say, say_on_stderr

    documents, memories = report.count("document"), report.count("memory")
    if not quiet or documents or memories:
        turns, files = report.seen.turns, report.seen.files
        say(f"{turns} new turns in {files} transcripts; {memories} memories stored or changed")
    for path, reason in report.seen.failed[:10]:
        say_on_stderr(f"{path}: {reason}")
    for reason in report.rejected:
        say_on_stderr(f"not taken: {reason}")
