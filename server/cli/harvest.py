"""``strongroom harvest``: what agents' programs write down on this machine, into a vault here or on another server."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from server.cli.harvest_reports import ShownReports
from server.cli.remote_options import TokenFile, Url

if TYPE_CHECKING:
    from server.cli.remote_options import RemoteServer
    from server.settings import LoadedSettings
    from vaults.domain.import_export.harvesting import Harvester
    from vaults.domain.import_export.line_import import NumberedLine
    from vaults.domain.import_export.row_writer import LineOutcome
    from vaults.domain.import_export.source_import import Push
    from vaults.transcripts.extraction.extracted_memory import ExtractionKind
    from vaults.transcripts.model_extraction.model_kinds import ModelKind

FOLDER = "harvest"


def add_to(app: typer.Typer) -> None:
    app.command("harvest")(harvest)


def harvest(
    ctx: typer.Context,
    vault: Annotated[str, typer.Option(help="the vault")],
    once: Annotated[bool, typer.Option("--once", help="one pass; without, go on until stopped")] = False,
    every: Annotated[float, typer.Option(min=1, help="seconds between two passes")] = 5.0,
    exclude: Annotated[
        list[str] | None, typer.Option(help="pattern as in .gitignore, of transcripts or projects; may be repeated")
    ] = None,
    kinds: Annotated[
        list[str] | None,
        typer.Option(
            "--remember",
            help="decision, fix, command, files, preference, open, and with a model codebase, pattern, useful;"
            " default: all but open",
        ),
    ] = None,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Keep conversations with agents. And what was decided in them, by whichever program they were held."""
    from server.cli.extraction_model import open_model
    from server.cli.remote_options import to_remote
    from server.cli.runtime import load_settings, run_async
    from vaults.domain.import_export.harvesting import Harvester
    from vaults.errors import InvalidArgument
    from vaults.transcripts.exclusions import HarvestRules

    loaded, remote = load_settings(ctx), to_remote(url, token_file)
    target = hashlib.sha256(f"{remote.url if remote else ''}\n{vault}".encode()).hexdigest()[:12]
    rules = HarvestRules(patterns=tuple(exclude or ()))
    by_rules, by_model = _to_kinds(kinds)
    model = open_model(loaded.settings.extraction, loaded.data / FOLDER, by_model)
    if model is None and kinds and not by_rules:
        raise InvalidArgument("--remember", f"{kinds[0]} is made by a model: set extraction.command or extraction.url")
    harvester = Harvester(Path.home(), loaded.data / FOLDER / target, rules, by_rules, model)
    run_async(_harvest(loaded, harvester, vault, remote, None if once else every))


def _to_kinds(names: list[str] | None) -> tuple[Collection[ExtractionKind], Collection[ModelKind]]:
    """What the rules and what a model are asked for."""
    from vaults.errors import InvalidArgument
    from vaults.transcripts.extraction.kinds import ALL_KINDS, DEFAULT_KINDS
    from vaults.transcripts.model_extraction.model_kinds import MODEL_KINDS

    if not names:
        return DEFAULT_KINDS, MODEL_KINDS
    known = {*ALL_KINDS, *MODEL_KINDS}
    if unknown := sorted(set(names) - known):
        raise InvalidArgument("--remember", f"knows no {unknown[0][:40]}; there are {', '.join(sorted(known))}")
    return [kind for kind in ALL_KINDS if kind in names], [kind for kind in MODEL_KINDS if kind in names]


async def _harvest(
    loaded: LoadedSettings, harvester: Harvester, vault: str, remote: RemoteServer | None, every: float | None
) -> None:
    import asyncio

    from server.cli.output import say_on_stderr
    from vaults.errors import VaultUnavailable

    shown = ShownReports(quiet=every is not None)
    try:
        while True:
            try:
                async with _open_push(loaded, vault, remote) as push:
                    await _run_passes(harvester, push, every, shown)
                if every is None:
                    return
            except VaultUnavailable as failure:  # a server that is away comes back
                if every is None:
                    raise
                say_on_stderr(f"{failure.message}; trying again")
            await asyncio.sleep(max(every, 30.0))
    finally:
        if harvester.extraction is not None:
            await harvester.extraction.model.close()


async def _run_passes(harvester: Harvester, push: Push, every: float | None, shown: ShownReports) -> None:
    """One pass, or one after the other. Of those, each asks the model once, so that what is said meanwhile is stored
    between two of its answers."""
    import asyncio

    while True:
        shown.show(await harvester.run(push, most_calls=None if every is None else 1))
        if every is None:
            return
        await asyncio.sleep(every)


@asynccontextmanager
async def _open_push(loaded: LoadedSettings, vault: str, remote: RemoteServer | None) -> AsyncIterator[Push]:
    """What stores lines in the vault, as one run that can be undone."""
    if remote is not None:
        from server.remote_vault.vault_client import connect_to_vault

        async with connect_to_vault(remote.url, remote.token_file, vault) as remote_vault:
            yield remote_vault.open_push("harvest", str(Path.home())).push
        return
    from auth.principal import owner
    from server.allowance import StoreQuota
    from server.cli.runtime import open_all, require_vault
    from vaults.domain.actors import Actor
    from vaults.domain.import_export.vault_import import open_push

    async with open_all(loaded) as services, services.pool.lease(require_vault(services, vault)) as local_vault:
        local_vault.shared.embedder.loads_for_backfill = True
        quota = StoreQuota(services, owner("cli"), local_vault, "owner")
        async with open_push(local_vault, Actor("owner", "owner"), ("harvest", str(Path.home())), quota) as push:

            async def push_and_embed(lines: Sequence[NumberedLine]) -> list[LineOutcome]:
                outcomes = await push(lines)
                local_vault.start_background_work()  # there may be no end that could wait for the vectors
                return outcomes

            yield push_and_embed
        await local_vault.background.wait()
