"""``strongroom cluster …``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from server.cli import cluster_moves, cluster_pins
from server.cli.cluster_address import Url, cluster_settings

if TYPE_CHECKING:
    from server.cluster.administration import ClusterReport
    from server.cluster_settings import ClusterSettings
    from vaults.cluster.postgres.cluster_status import LoggedVault, SeenServer

Json = Annotated[bool, typer.Option("--json", help="print JSON, for programs")]


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(
        name="cluster", help="Several servers over one PostgreSQL, as one installation.", no_args_is_help=True
    )
    group.command("init")(init)
    group.command("join")(cluster_moves.join)
    group.command("status")(status)
    group.command("pin")(cluster_pins.pin)
    group.command("unpin")(cluster_pins.unpin)
    group.command("leave")(leave)
    group.command("export")(cluster_moves.export)
    app.add_typer(group)


def init(
    ctx: typer.Context,
    url: Url = None,
    role: Annotated[
        str | None, typer.Option(help="a role of PostgreSQL that servers use: it may read and write rows, no more")
    ] = None,
    print_sql: Annotated[
        bool, typer.Option("--print-sql", help="print what a database administrator runs, and do nothing")
    ] = False,
    from_layout: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="with --print-sql: what tables of that layout lack, as a server that is refused tells it"
        ),
    ] = None,
) -> None:
    """Make the tables of a new installation in a PostgreSQL database. Where they are there they are brought up to this
    release, and checked; servers go on meanwhile."""
    from server.cli.output import say
    from server.cluster import administration

    if print_sql or from_layout is not None:
        say(_script(from_layout, role, is_asked_for=print_sql))
        return
    made = administration.lay_out(_settings(ctx, url), role)
    tables = f"the tables of installation {made.installation}"
    if made.brought_from is not None:
        say(f"{tables} were brought from layout {made.brought_from} to {made.layout}")
    elif made.is_new:
        say(f"{tables} are ready: give every server the same cluster.url")
    else:
        say(f"{tables} were there, and are as they should be")
    if role is not None:
        say(f"role {role} may serve")


def status(
    ctx: typer.Context,
    url: Url = None,
    vaults: Annotated[bool, typer.Option("--vaults", help="list each vault, with holder and log")] = False,
    as_json: Json = False,
) -> None:
    """Show servers, and who holds how many vaults."""
    from server.cli.output import format_count, say, say_json, say_table
    from server.cluster.administration import read_report

    report = read_report(_settings(ctx, url), with_vaults=vaults)
    if as_json:
        say_json(_to_json(report))
        return
    totals = report.totals
    head = ("SERVER", "STATE", "ADDRESS", "VERSION", "LAST BEAT", "CPU", "MEMORY", "VAULTS")
    say_table(head, [_server_row(each) for each in report.servers])
    say()
    free = totals.vaults - totals.held
    vaults_there = format_count(totals.vaults, "vault")
    say(f"{vaults_there}, {free:,} with no server; logs and bases take {_size(totals.stored_bytes)}")
    if report.vaults:
        say()
        say_table(("VAULT", "SERVER", "EPOCH", "ENTRIES", "LOG", "BASE"), [_vault_row(each) for each in report.vaults])


def leave(
    ctx: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="SERVER", help="name or id of a server; default: this one")
    ] = None,
    url: Url = None,
    within: Annotated[float, typer.Option(min=0, max=86400, help="seconds to wait until it holds no vault")] = 300.0,
) -> int:
    """Have a server hand its vaults over to the others, so that it can be stopped without a failed call."""
    from server.cli.output import format_count, progress, say
    from server.cluster.administration import drain

    settings = _settings(ctx, url)
    chosen = name or settings.server_name
    with progress(f"server {chosen}") as advance:
        done = drain(settings, chosen, within, advance)
    if done.left:
        left = format_count(done.left, "vault")
        say(f"server {chosen} drains, and still holds {left}: call this again, or look at its log")
        return 1
    say(f"server {chosen} holds no vault and takes none: stop it")
    return 0


def _script(from_layout: int | None, role: str | None, *, is_asked_for: bool) -> str:
    from server.cluster.administration import new_installation
    from vaults.cluster.postgres import ddl
    from vaults.errors import InvalidArgument

    if not is_asked_for:
        raise InvalidArgument("--from-layout", "goes with --print-sql", hint="without both, init finds out by itself")
    if from_layout is None:
        return ddl.to_script(new_installation(), role)
    return ddl.to_newer_script(from_layout, role)


def _settings(ctx: typer.Context, url: str | None) -> ClusterSettings:
    from server.cli.runtime import load_settings

    return cluster_settings(load_settings(ctx).settings.cluster, url)


def _to_json(report: ClusterReport) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "installation": report.installation,
        "servers": [{**asdict(each), "silent": each.is_silent} for each in report.servers],
        **asdict(report.totals),
        "free": report.totals.vaults - report.totals.held,
        **({} if report.vaults is None else {"placements": [asdict(each) for each in report.vaults]}),
    }


def _server_row(server: SeenServer) -> tuple[object, ...]:
    state = "silent" if server.is_silent else server.state
    return (
        server.name or server.id,
        state,
        server.address,
        server.version,
        f"{server.beat_age_s:.1f} s ago",
        f"{server.cpu:.0%}",
        f"{server.memory:.0%}",
        f"{server.vaults:,}",
    )


def _vault_row(vault: LoggedVault) -> tuple[object, ...]:
    from server.cli.output import format_duration

    holder = vault.server_name or vault.server or "none"
    if vault.server is not None and vault.server_name is None:
        holder = "none, was held by one that is gone"
    if vault.pin is not None:
        holder = f"{holder}, pinned" if vault.pin == holder else f"{holder}, pinned to {vault.pin}"
    elif vault.is_moved:
        holder = f"{holder}, moved as another was busy"
    if vault.standby is not None:
        holder = f"{holder}, copy on {vault.standby}"
    if vault.wanted is not None:
        holder = f"{holder}, wanted by {vault.wanted}"
    base = (
        "none" if vault.base_age_s is None else f"of entry {vault.base_seq:,}, {format_duration(vault.base_age_s)} old"
    )
    log = f"{vault.log_entries:,} since, {_size(vault.log_bytes)}"
    return vault.name, holder, vault.epoch, f"{vault.head:,}", log, base


def _size(size: int) -> str:
    for unit, bytes_in in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= bytes_in:
            return f"{size / bytes_in:,.1f} {unit}"
    return f"{size} bytes"
