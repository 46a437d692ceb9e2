"""``strongroom version``."""

from __future__ import annotations

import typer


def add_to(app: typer.Typer) -> None:
    app.command("version")(show_version)


def show_version() -> None:
    """Show version and commit."""
    from server.cli.output import say
    from server.version import commit, version

    known = commit()
    say(f"strongroom {version()}" + (f" ({known[:12]})" if known else ""))
