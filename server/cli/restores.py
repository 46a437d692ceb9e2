"""``strongroom restore``."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any

import typer

from server.cli.backup_keys import IdentityFile, PassphraseFile
from server.cli.cluster_address import refuse_in_cluster
from server.cli.restore_orders import RestoreAnswer, RestoreOrder, recorded
from server.cli.restore_parts import restore_installation, restore_memory_of, restore_note_of
from server.cli.restore_reports import describe, describe_point
from server.cli.restore_sources import open_backup, open_past

if TYPE_CHECKING:
    from ops.backup.restore import PutInPlace
    from server.services import Services
    from server.settings import LoadedSettings


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
        str | None,
        typer.Option(metavar="TIME", help="as of this moment, from the change log; ARCHIVE is older"),
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
    if control:
        refuse_in_cluster(loaded.settings.cluster, "--control")
    opener = make_opener(loaded, passphrase_file, identity_file)
    asked = RestoreOrder(archive, opener, vault, as_new, dry_run, grants, note, memory, replace, at)
    found = run_async(_choose_work(asked, control=control)(loaded, asked))
    if as_json:
        say_json(found.details)
    else:
        for line in found.lines:
            say(line)
    raise typer.Exit(0 if found.complete else 1)


def _choose_work(
    asked: RestoreOrder, *, control: bool
) -> Callable[[LoadedSettings, RestoreOrder], Coroutine[Any, Any, RestoreAnswer]]:
    """What is to be restored. Raises ``InvalidArgument`` for options that do not go together."""
    from vaults.errors import InvalidArgument

    single = asked.note is not None or asked.memory is not None
    if (asked.note is not None) + (asked.memory is not None) + control > 1:
        raise InvalidArgument("--note", ", --memory and --control exclude each other")
    if single and (asked.vault is None or asked.as_new is not None):
        raise InvalidArgument("--vault", "is needed: which vault does it go back into?")
    if asked.at is not None and (single or control):
        raise InvalidArgument("--at", "is for a whole vault")
    if asked.memory is not None and asked.dry_run:
        raise InvalidArgument("--dry-run", "is for vaults, notes and the installation")
    if control:
        return restore_installation
    if asked.note is not None:
        return restore_note_of
    return restore_memory_of if single else _restore_vault


def _way_of(services: Services) -> PutInPlace | None:
    """How a vault gets to where it is served from; None on one machine, where that is its folder."""
    if services.cluster is None:
        return None
    from functools import partial

    from server.cluster.vault_restore import put_in_cluster

    return partial(put_in_cluster, services.control, services.cluster, services.settings.storage)


async def _restore_vault(loaded: LoadedSettings, asked: RestoreOrder) -> RestoreAnswer:
    from dataclasses import asdict

    from ops.backup.restore import LivingInstallation, RestoreRequest, find_target, restore
    from ops.change_log.past_source import PastSource
    from server.cli.runtime import open_all

    async with open_all(loaded) as services:
        source = await (open_backup(services, asked) if asked.at is None else open_past(services, asked, asked.at))
        storage = loaded.settings.storage
        place = LivingInstallation(services.data, services.control, services.pool, storage, _way_of(services))
        # With a new name, --vault only says whose latest backup it is.
        request = RestoreRequest(
            None if asked.as_new else asked.vault, asked.as_new, dry_run=asked.dry_run, grants=asked.grants
        )
        manifest, target = await find_target(place, source, request)
        # The audit names what is replaced, also where nobody named it.
        async with recorded(services, asked, "vault", target.entry.name, made_at=manifest.made_at):
            report = await restore(place, source, request)
    lines, details = describe(report), asdict(report)
    if isinstance(source, PastSource):
        lines += describe_point(source.point)
        details |= {"at": source.point.time, "complete": source.point.complete, "is_newest": source.point.is_newest}
    return RestoreAnswer(lines, details, report.complete)
