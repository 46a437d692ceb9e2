"""``strongroom backup …``."""

from __future__ import annotations

import typer

from server.cli.backup_history import history
from server.cli.backup_list import show_list
from server.cli.backup_making import make
from server.cli.backup_verify import verify


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(name="backup", help="Make backups, list and prove those there are.")
    group.callback(invoke_without_command=True)(make)
    group.command("list")(show_list)
    group.command("history")(history)
    group.command("verify")(verify)
    app.add_typer(group)
