"""All commands. A command's module imports only typer; what the command needs is imported when it runs."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer._click.exceptions import NoArgsIsHelpError, UsageError

from server.cli.global_options import GLOBAL_OPTIONS, hoist_global_options
from server.cli.runtime import GlobalOptions

MODULES = {
    "serve": "serve",
    "stdio": "stdio",
    "init": "project",
    "connect": "connect",
    "hook": "hook",
    "vault": "vaults",
    "token": "tokens",
    "key": "keys",
    "grant": "grants",
    "user": "users",
    "login": "logins",
    "plan": "plans",
    "licence": "licence",
    "call": "calls",
    "search": "searches",
    "recall": "searches",
    "graph": "graphs",
    "collection": "collections",
    "as": "as_command",
    "import": "imports",
    "ingest": "ingest",
    "export": "exports",
    "harvest": "harvest",
    "restore": "restores",
    "verify": "maintenance",
    "reindex": "maintenance",
    "evict": "evictions",
    "backup": "backups",
    "audit": "audit",
    "cluster": "cluster",
    "doctor": "doctor",
    "salvage": "salvage",
    "model": "models",
    "config": "configuration",
    "version": "version",
}
"""Command → its module, which has ``add_to(app)``. Only the module of the command that runs is imported."""


def run(argv: Sequence[str]) -> int:
    """Run one command line; returns the exit code."""
    from vaults.errors import StrongroomError

    args = hoist_global_options(argv)
    try:
        code = make_app(_command(args))(args, prog_name="strongroom", standalone_mode=False)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(bool(ended.code))
    except (UsageError, StrongroomError, OSError) as failure:
        return _fail(failure, args)
    except (KeyboardInterrupt, typer.Abort):  # also an answer that was not given
        return 130
    return code if isinstance(code, int) else 0


def _fail(failure: Exception, args: Sequence[str]) -> int:
    """Report a failure in one line, whatever was typed; for a group without a command, show its help."""
    from server.cli import usage_errors
    from server.cli.output import say_on_stderr
    from vaults.errors import InvalidArgument, StrongroomError

    if isinstance(failure, NoArgsIsHelpError):
        failure.show()
        return 2
    if isinstance(failure, UsageError):
        message = usage_errors.format_usage_error(failure)
    elif isinstance(failure, StrongroomError):
        message = usage_errors.format_command_error(failure, args)
    else:
        message = _readable(failure)
    say_on_stderr(
        "strongroom: " + "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in message)
    )
    return 2 if isinstance(failure, (UsageError, InvalidArgument)) else 1


def _readable(failure: Exception) -> str:
    """The system's reason, and the file: at the command line both are the user's own."""
    file, reason = getattr(failure, "filename", None), getattr(failure, "strerror", None)
    return f"{f'{file}: ' if file else ''}{reason or type(failure).__name__}"


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
        if word in GLOBAL_OPTIONS:
            next(words, None)
    return None


def _say_version(wanted: bool) -> None:
    if wanted:
        from server.cli.version import show_version

        show_version()
        raise typer.Exit


def _globals(
    ctx: typer.Context,
    data: Annotated[
        Path | None, typer.Option(readable=False, help="folder of all data; default: this user's data folder")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="settings file; default: strongroom.toml in the data folder")
    ] = None,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"] | None,
        typer.Option(help="log lines of this level and graver ones"),
    ] = None,
    log_format: Annotated[
        Literal["auto", "console", "json"] | None, typer.Option(help="auto: json where stderr is no terminal")
    ] = None,
    _version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_say_version, help="Show the version and exit.")
    ] = False,
) -> None:
    ctx.obj = GlobalOptions(data, config, log_level, log_format)
