"""``strongroom cluster join`` and ``cluster export``: an installation into the database of several servers, and out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from server.cli.cluster_address import Url, cluster_settings

if TYPE_CHECKING:
    from server.cluster.export import ExportReport
    from server.cluster.join import JoinReport

Json = Annotated[bool, typer.Option("--json", help="print JSON, for programs")]

MAX_LEFT_OUT = 20
"""Files that cannot be moved of which a line is printed."""


def join(ctx: typer.Context, url: Url = None, as_json: Json = False) -> int:
    """Move the installation of the data folder into the database, so that several servers may serve it. While a server
    runs over that folder only copies are made; stop it, and call this again for what changed since."""
    from server.cli.output import progress, say_json
    from server.cli.runtime import load_settings, run_async
    from server.cluster.join import join_cluster

    loaded = load_settings(ctx)
    settings = loaded.settings.model_copy(update={"cluster": cluster_settings(loaded.settings.cluster, url)})
    with progress("cluster join") as advance:
        report = run_async(join_cluster(settings, loaded.data, advance))
    if as_json:
        say_json(_to_json(report))
    else:
        _say_joined(report)
    return 0 if report.is_joined else 1


def export(
    ctx: typer.Context,
    to: Annotated[Path, typer.Option("--to", help="a new or empty folder: the data folder of one machine, then")],
    vault: Annotated[str | None, typer.Option(help="this one alone; default: the whole installation")] = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Copy the installation, or a vault, out of the database into a folder that one machine serves. Servers may run
    meanwhile; what they write later is not in it."""
    from server.cli.output import format_count, progress, say, say_json
    from server.cli.runtime import load_settings, run_async
    from server.cluster.export import export_cluster

    settings = load_settings(ctx).settings
    cluster, into = cluster_settings(settings.cluster, url), to.expanduser().absolute()
    with progress("cluster export") as advance:
        report = run_async(export_cluster(cluster, settings.storage, into, advance, vault))
    if as_json:
        say_json(_to_json(report))
        return
    notes = sum(each.files for each in report.vaults)
    vaults = format_count(len(report.vaults), "vault")
    say(f"{vaults} with {format_count(notes, 'note')} in {into}, equal to the database in every page")
    say(f"serve them: strongroom serve --data {into}, without cluster.url")


def _say_joined(report: JoinReport) -> None:
    from server.cli.output import format_count, say, say_on_stderr

    left = [(vault.name, each) for vault in report.vaults for each in vault.left_out]
    for name, each in left[:MAX_LEFT_OUT]:
        say_on_stderr(f"strongroom: vault {name}: {each.path} stays behind: {each.reason}")
    if len(left) > MAX_LEFT_OUT:
        say_on_stderr(f"strongroom: and {len(left) - MAX_LEFT_OUT:,} more: --json names them")
    if report.was_joined:
        say(f"installation {report.installation} was the cluster's already")
        return
    moved = sum(each.moved for each in report.vaults)
    say(f"{format_count(len(report.vaults), 'vault')} in the database, of which {moved:,} bytes were moved now")
    if not report.is_joined:
        say("a server runs over this folder: stop it and call this again, which moves what changed since")
        return
    for name in report.left_out:
        say_on_stderr(f"strongroom: vault {name} stays behind: it is archived, and serves a folder in place")
    say(f"installation {report.installation} is the cluster's: start servers with this cluster.url, each with a folder")
    say("of its own. This folder is not served any more; keep it until you trust the move")


def _to_json(report: JoinReport | ExportReport) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(report)
