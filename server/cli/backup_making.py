"""``strongroom backup``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from server.cli.cluster_address import refuse_in_cluster

if TYPE_CHECKING:
    from ops.backup.back_up import ArchiveOrder, Installation, MadeBackup
    from server.settings import LoadedSettings
    from vaults.errors import StrongroomError
    from vaults.registry import VaultEntry

    BackUp = Callable[[VaultEntry, ArchiveOrder], Awaitable[MadeBackup]]

NICENESS = 10
"""A command beside a server lets it go first."""


MAX_SHOWN = 20
"""Files that are not in a backup of which a line is printed."""


def make(
    ctx: typer.Context,
    vault: Annotated[str | None, typer.Option(help="the vault to back up")] = None,
    every_vault: Annotated[bool, typer.Option("--all", help="every vault, archived ones too")] = False,
    control: Annotated[
        bool, typer.Option("--control", help="the installation: control.db, keys, licence, settings; only encrypted")
    ] = False,
    to: Annotated[
        Path | None, typer.Option(help="folder for the archives; default: backup.to, else backups in the data folder")
    ] = None,
    recipient: Annotated[
        list[str] | None,
        typer.Option(metavar="<age1…>", help="public key of age to encrypt for; default: backup.recipients"),
    ] = None,
    passphrase_file: Annotated[
        Path | None, typer.Option(help="encrypt with the passphrase in the first line of this file")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, for programs")] = False,
) -> None:
    """Make backups, and list those there are. Writes an archive of a vault and prints its path. Safe beside a running
    server. Exit code 1: a vault could not be backed up; the others were."""
    from server.cli.output import say, say_json, say_on_stderr
    from server.cli.runtime import load_settings, run_async
    from vaults.errors import InvalidArgument

    if ctx.invoked_subcommand is not None:
        return
    if vault is not None and every_vault:
        raise InvalidArgument("--all", "and --vault exclude each other")
    if vault is None and not every_vault and not control:
        raise InvalidArgument("--vault", "is required", hint="or --all, or --control")
    loaded = load_settings(ctx)
    order = _make_order(loaded, to, tuple(recipient or ()), passphrase_file)
    made, failed = run_async(_make(loaded, order, vault, every_vault=every_vault, control=control))
    for name, failure in failed.items():
        say_on_stderr(f"strongroom: {name}: {failure.message}{f'; {failure.hint}' if failure.hint else ''}")
    if as_json:
        say_json({"backups": [_to_json(each) for each in made], "failed": {n: each.code for n, each in failed.items()}})
    else:
        for each in made:
            say(each.run.target)
            for line in _remarks(each):
                say_on_stderr(line)
    raise typer.Exit(1 if failed else 0)


def _make_order(
    loaded: LoadedSettings, to: Path | None, recipients: tuple[str, ...], passphrase_file: Path | None
) -> ArchiveOrder:
    from server import backups

    passphrase = None if passphrase_file is None else backups.read_passphrase(passphrase_file)
    return backups.make_order(
        loaded.settings.backup,
        loaded.data,
        to=None if to is None else to.absolute(),
        recipients=recipients,
        passphrase=passphrase,
        key_passphrase_file=loaded.settings.auth.key_passphrase_file,
    )


async def _make(
    loaded: LoadedSettings, order: ArchiveOrder, vault: str | None, *, every_vault: bool, control: bool
) -> tuple[list[MadeBackup], dict[str, StrongroomError]]:
    made: list[MadeBackup] = []
    failed: dict[str, StrongroomError] = {}
    async for name, outcome in _runs(loaded, order, vault, every_vault=every_vault, control=control):
        if isinstance(outcome, Exception):
            failed[name] = outcome
        else:
            made.append(outcome)
    return made, failed


async def _runs(
    loaded: LoadedSettings, order: ArchiveOrder, vault: str | None, *, every_vault: bool, control: bool
) -> AsyncIterator[tuple[str, MadeBackup | StrongroomError]]:
    from ops.backup.back_up import back_up_control
    from ops.backup.control_archive import require_encryption
    from server.cli.admin_acts import recorded
    from vaults.errors import NotFound, StrongroomError
    from vaults.registry import list_vaults

    if control:
        refuse_in_cluster(loaded.settings.cluster, "--control")
        require_encryption(order.seal)
    async with _backing_up(loaded) as (home, back_up):
        entries = [each for each in await home.control.read(list_vaults) if every_vault or each.name == vault]
        if vault is not None and not entries:
            raise NotFound(f"no vault {vault}", hint="vault list shows what there is")
        works: list[tuple[str, Callable[[], Awaitable[MadeBackup]]]] = [
            (each.name, partial(back_up, each, order)) for each in entries
        ]
        if control:
            works.append(("--control", partial(back_up_control, home, order)))
        for name, work in works:
            try:
                whose = None if name == "--control" else name
                async with recorded(loaded, "backup", "run", vault=whose):
                    made = await work()
                yield name, made
            except StrongroomError as failure:
                if len(works) == 1:
                    raise
                yield name, failure


@asynccontextmanager
async def _backing_up(loaded: LoadedSettings) -> AsyncIterator[tuple[Installation, BackUp]]:
    """The installation, and how a vault of it is backed up: as its files lie there, or, of several servers, while this
    process holds it, for which its server hands it over."""
    from ops.backup.back_up import back_up_vault
    from server.backups import describe_installation
    from server.cli.runtime import open_all, open_control

    if not loaded.settings.cluster.is_on:
        async with open_control(loaded) as database:
            home = describe_installation(database, loaded.data, loaded.file, loaded.settings, NICENESS)
            yield home, partial(back_up_vault, home)
        return
    async with open_all(loaded) as services:
        home = describe_installation(services.control, loaded.data, loaded.file, loaded.settings, NICENESS)
        home = replace(home, folder_of=services.pool.folder_of)

        async def back_up(entry: VaultEntry, order: ArchiveOrder) -> MadeBackup:
            async with services.pool.lease(entry):
                return await back_up_vault(home, entry, order)

        yield home, back_up


def _remarks(made: MadeBackup) -> list[str]:
    """What is not in it, a line each."""
    if not made.remark_count:
        return []
    whose, left = made.run.vault, made.remark_count - len(made.remarks[:MAX_SHOWN])
    more = [f"  … and {left:,} more: --json names them"] if left else []
    head = f"strongroom: {whose}: {made.remark_count:,} files are not in it as they lie in the notes folder:"
    return [head, *[f"  {each.path}: {each.reason}" for each in made.remarks[:MAX_SHOWN]], *more]


def _to_json(made: MadeBackup) -> dict[str, object]:
    run = made.run
    return {
        "vault": run.vault,
        "path": run.target,
        "bytes": run.moved,
        "of_bytes": run.size,
        "seconds": round(run.seconds, 3),
        "position": run.position,
        "remarks": [{"path": each.path, "reason": each.reason} for each in made.remarks],
        "remark_count": made.remark_count,
    }
