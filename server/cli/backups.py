"""``strongroom backup …``."""

from __future__ import annotations

import typer

from server.cli.backup_list import show_list


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(name="backup", help="Make backups, and list those there are.", no_args_is_help=True)
    group.command("list")(show_list)
    app.add_typer(group)
