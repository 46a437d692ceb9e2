"""The commands in one place. A command's module imports typer alone; what it works with, it imports when it runs."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from server.cli.argv import GLOBAL, hoisted
from server.cli.session import Globals

MODULES = {
    "serve": "serve",
    "stdio": "solo",
    "init": "project",
    "hook": "hook",
    "vault": "vaults",
    "token": "tokens",
    "grant": "grants",
    "plan": "plans",
    "licence": "licence",
    "call": "calls",
    "import": "moving",
    "export": "moving",
    "verify": "upkeep",
    "reindex": "upkeep",
    "doctor": "doctor",
    "model": "models",
    "config": "configuration",
    "version": "about",
}
"""Which module makes which command; each has ``add_to(app)``. Only the one that is asked for is imported."""


def run(argv: Sequence[str]) -> int:
    """Run one command line; returns the exit code."""
    from vaults.errors import InvalidArgument, StrongroomError

    args = hoisted(argv)
    try:
        make_app(_command(args))(args, prog_name="strongroom", standalone_mode=True)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(bool(ended.code))
    except StrongroomError as failure:
        return _fail(failure, usage=isinstance(failure, InvalidArgument))
    except OSError as failure:
        return _fail(_readable(failure), usage=False)
    except KeyboardInterrupt:
        return 130
    return 0


def _fail(failure: Exception, *, usage: bool) -> int:
    from server.cli.output import note

    message = str(failure).removeprefix("Validation error: ")
    hint = getattr(failure, "hint", None)
    note(f"strongroom: {message}" + (f" ({hint})" if hint else ""))
    return 2 if usage else 1


def _readable(failure: OSError) -> Exception:
    """What the system said, and about which file: at the command line both are the user's own."""
    about = f"{failure.filename}: " if failure.filename else ""
    return Exception(f"{about}{failure.strerror or type(failure).__name__}")


def make_app(command: str | None = None) -> typer.Typer:
    """The application with one command, or with all of them."""
    app = typer.Typer(
        name="strongroom",
        help="One memory server for a team's AI agents.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_globals)
    wanted = [MODULES[command]] if command in MODULES else MODULES.values()
    for module in dict.fromkeys(wanted):
        importlib.import_module(f"server.cli.{module}").add_to(app)
    return app


def _command(args: Sequence[str]) -> str | None:
    """The word that names the command: the first that is neither a global option nor its value."""
    words = iter(args)
    for word in words:
        if not word.startswith("--"):
            return word
        if word in GLOBAL:
            next(words, None)
    return None


def _globals(
    ctx: typer.Context,
    data: Annotated[Path | None, typer.Option(help="folder of all data")] = None,
    config: Annotated[Path | None, typer.Option(help="settings file; default: strongroom.toml in the data")] = None,
    log_level: Annotated[Literal["debug", "info", "warning", "error"] | None, typer.Option()] = None,
    log_format: Annotated[Literal["auto", "console", "json"] | None, typer.Option()] = None,
) -> None:
    ctx.obj = Globals(data, config, log_level, log_format)
