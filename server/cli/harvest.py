"""``strongroom harvest``: what agents' programs write down on this machine, into a vault here or on another server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from server.cli.remote_options import TokenFile, Url

if TYPE_CHECKING:
    from server.cli.remote_options import RemoteServer
    from server.settings import LoadedSettings
    from vaults.domain.import_export.harvesting import Harvester, HarvestReport
    from vaults.domain.import_export.source_import import Push
    from vaults.transcripts.extraction.extracted_memory import ExtractionKind

    OpenPush: TypeAlias = Callable[[], AbstractAsyncContextManager[Push]]

PATIENCE_S = 10.0
"""Seconds that one pass waits for another to end."""

LONGEST_WAIT_S = 30.0


def add_to(app: typer.Typer) -> None:
    app.command("harvest")(harvest)


def harvest(
    ctx: typer.Context,
    vault: Annotated[str, typer.Option(help="the vault")] = "main",
    once: Annotated[bool, typer.Option("--once", help="one pass; without, go on until stopped")] = False,
    every: Annotated[
        float | None,
        typer.Option(min=1, show_default=False, help="seconds between two passes; default: harvest.every_s"),
    ] = None,
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
    from server.harvests import make_harvester
    from server.remote_vault.endpoint import endpoint_of

    loaded, remote = load_settings(ctx), to_remote(url, token_file)
    given = loaded.settings.harvest
    settings = given.model_copy(
        update={"exclude": (*given.exclude, *(exclude or ())), "remember": _to_kinds(kinds, given.remember)}
    )
    target = endpoint_of(remote.url, vault) if remote is not None else vault
    harvester = make_harvester(settings, Path.home(), loaded.data, target)
    work = _harvest_once if once else partial(_follow, every=every or given.every_s)
    run_async(work(harvester, partial(_open_push, loaded, vault, remote)))


def _to_kinds(names: list[str] | None, default: tuple[ExtractionKind, ...]) -> tuple[ExtractionKind, ...]:
    from vaults.errors import InvalidArgument
    from vaults.transcripts.extraction.kinds import ALL_KINDS

    if not names:
        return default
    kinds = tuple(kind for kind in sorted(ALL_KINDS) if kind in names)
    if unknown := sorted(set(names) - set(kinds)):
        raise InvalidArgument("--remember", f"knows no {unknown[0][:40]}; there are {', '.join(sorted(ALL_KINDS))}")
    return kinds


async def _harvest_once(harvester: Harvester, open_push: OpenPush) -> None:
    async with open_push() as push:
        _show(await harvester.run_after_others(push, seconds=PATIENCE_S), quiet=False)


async def _follow(harvester: Harvester, open_push: OpenPush, every: float) -> None:
    """Pass after pass, for as long as the program runs. A server that is away comes back, and a token that is refused
    is replaced: the file is read anew with each attempt."""
    import asyncio

    from server.cli.output import say_on_stderr
    from vaults.errors import Conflict, VaultUnavailable

    wait = every
    while True:
        try:
            async with open_push() as push:
                while True:
                    with suppress(Conflict):  # a hook is at it, or another program: the next pass has the rest
                        _show(await harvester.run(push), quiet=True)
                        wait = every
                    await asyncio.sleep(every)
        except VaultUnavailable as failure:
            say_on_stderr(f"{failure.message}; trying again in {wait:.0f} s")
        await asyncio.sleep(wait)
        wait = min(2 * wait, max(every, LONGEST_WAIT_S))


@asynccontextmanager
async def _open_push(loaded: LoadedSettings, vault: str, remote: RemoteServer | None) -> AsyncIterator[Push]:
    """What stores lines in the vault, as the run of a day that can be undone."""
    if remote is not None:
        from server.remote_vault.vault_client import connect_to_vault

        async with connect_to_vault(remote.url, remote.token_file, vault) as remote_vault:
            yield remote_vault.open_transcript_push().push
        return
    from auth.principal import owner
    from server.cli.runtime import open_all, require_vault
    from server.harvests import local_push

    async with open_all(loaded) as services, services.pool.lease(require_vault(services, vault)) as local_vault:
        local_vault.shared.embedder.loads_for_backfill = True  # there may be no end that could wait for the vectors
        yield local_push(services, owner("cli"), local_vault)
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
