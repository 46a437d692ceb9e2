"""``strongroom call``: any tool, through the same dispatch as every call."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from server.dispatch import CallOutcome
    from server.settings import LoadedSettings


def add_to(app: typer.Typer) -> None:
    app.command("call")(call)


def call(
    ctx: typer.Context,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="the tool's name")],
    arguments: Annotated[str, typer.Argument(metavar="JSON", help="its arguments; - reads them from stdin")] = "{}",
    *,
    vault: Annotated[str, typer.Option(help="the vault")],
    subject: Annotated[str | None, typer.Option("--as", help="with the grants of this local subject")] = None,
) -> None:
    """Run a tool and print its result as JSON. Exit code 1: the tool answered with an error."""
    from server.cli.output import say_json, say_on_stderr
    from server.cli.runtime import load_settings, run_async

    given = _arguments(arguments)
    outcome = run_async(_call(load_settings(ctx), vault, subject, tool, given))
    if outcome.unknown_tool:
        say_on_stderr(f"strongroom: {outcome.content['error']['message']}")
        raise typer.Exit(2)
    say_json(outcome.content)
    raise typer.Exit(0 if outcome.ok else 1)


def _arguments(text: str) -> dict[str, Any]:
    import json

    from vaults.errors import InvalidArgument

    raw = sys.stdin.buffer.read() if text == "-" else text.encode("utf-8", "surrogateescape")
    try:
        value = json.loads(raw.decode("utf-8") or "{}")
    except UnicodeDecodeError:
        raise InvalidArgument("JSON", "is not UTF-8") from None
    except json.JSONDecodeError as failure:
        found = failure.msg[:1].lower() + failure.msg[1:]
        raise InvalidArgument(
            "JSON", f"does not parse: {found}, line {failure.lineno}, column {failure.colno}"
        ) from None
    except ValueError:  # a number of thousands of digits
        raise InvalidArgument("JSON", "does not parse") from None
    except RecursionError:
        raise InvalidArgument("JSON", "is nested too deep") from None
    if not isinstance(value, dict):
        raise InvalidArgument("JSON", "must be an object with the tool's arguments")
    return value


async def _call(
    loaded: LoadedSettings, vault: str, subject: str | None, tool: str, given: dict[str, Any]
) -> CallOutcome:
    from server.cli.runtime import open_all
    from server.dispatch import dispatch
    from server.local_commands import command_caller

    async with open_all(loaded) as services:
        return await dispatch(services, command_caller(services, vault, subject), tool, given)
