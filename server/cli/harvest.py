"""``strongroom harvest``: what agents' programs write down on this machine, into a vault here or on another server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from server.cli.harvest_reports import ShownReports
from server.cli.remote_options import TokenFile, Url

if TYPE_CHECKING:
    from server.cli.remote_options import RemoteServer
    from server.settings import LoadedSettings, RememberedKind
    from vaults.domain.import_export.harvesting import Harvester
    from vaults.domain.import_export.source_import import Push

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
    from server.cli.remote_options import to_remote
    from server.cli.runtime import load_settings, run_async
    from server.harvests import make_harvester
    from server.remote_vault.endpoint import endpoint_of
    from vaults.errors import InvalidArgument

    loaded, remote = load_settings(ctx), to_remote(url, token_file)
    given = loaded.settings.harvest
    settings = given.model_copy(
        update={"exclude": (*given.exclude, *(exclude or ())), "remember": _to_kinds(kinds, given.remember)}
    )
    target = endpoint_of(remote.url, vault) if remote is not None else vault
    harvester = make_harvester(settings, Path.home(), loaded.data, target, loaded.settings.extraction)
    if kinds and not harvester.kinds and harvester.extraction is None:
        raise InvalidArgument("--remember", f"{kinds[0]} is made by a model: set extraction.command or extraction.url")
    work = _harvest_once if once else partial(_follow, every=every or given.every_s)
    run_async(work(harvester, partial(_open_push, loaded, vault, remote)))


def _to_kinds(names: list[str] | None, default: tuple[RememberedKind, ...]) -> tuple[RememberedKind, ...]:
    from server.settings import REMEMBERED_KINDS
    from vaults.errors import InvalidArgument

    if not names:
        return default
    if unknown := sorted(set(names) - set(REMEMBERED_KINDS)):
        known = ", ".join(sorted(REMEMBERED_KINDS))
        raise InvalidArgument("--remember", f"knows no {unknown[0][:40]}; there are {known}")
    return tuple(kind for kind in REMEMBERED_KINDS if kind in names)


async def _harvest_once(harvester: Harvester, open_push: OpenPush) -> None:
    try:
        async with open_push() as push:
            ShownReports(quiet=False).show(await harvester.run_after_others(push, seconds=PATIENCE_S))
    finally:
        await harvester.close()


async def _follow(harvester: Harvester, open_push: OpenPush, every: float) -> None:
    """Pass after pass, for as long as the program runs. A server that is away comes back, and a token that is refused
    is replaced: the file is read anew with each attempt."""
    import asyncio

    from server.cli.output import say_on_stderr
    from vaults.errors import Conflict, VaultUnavailable

    wait, shown = every, ShownReports(quiet=True)
    try:
        while True:
            try:
                async with open_push() as push:
                    while True:
                        with suppress(Conflict):  # a hook is at it, or another program: the next pass has the rest
                            # One question of the model a pass: what is said meanwhile is stored between two answers.
                            shown.show(await harvester.run(push, most_calls=1))
                            wait = every
                        await asyncio.sleep(every)
            except VaultUnavailable as failure:
                say_on_stderr(f"{failure.message}; trying again in {wait:.0f} s")
            await asyncio.sleep(wait)
            wait = min(2 * wait, max(every, LONGEST_WAIT_S))
    finally:
        await harvester.close()


@asynccontextmanager
async def _open_push(loaded: LoadedSettings, vault: str, remote: RemoteServer | None) -> AsyncIterator[Push]:
    """What stores lines in the vault, as the run of a day that can be undone."""
    if remote is not None:
        from server.remote_vault.vault_client import connect_to_vault

        async with connect_to_vault(remote.url, remote.token_file, vault) as remote_vault:
            yield remote_vault.open_transcript_push().push
        return
    from auth.principal import owner
    from server.cli.admin_acts import recorded_in
    from server.cli.runtime import open_all, require_vault
    from server.harvests import local_push

    async with (
        open_all(loaded) as services,
        services.pool.lease(require_vault(services, vault)) as local_vault,
        recorded_in(services, vault, "harvest"),
    ):
        local_vault.embedder.loads_for_backfill = True  # there may be no end that could wait for the vectors
        yield local_push(services, owner("cli"), local_vault)
        await local_vault.background.wait()
