"""One tool call of a command: made by a server that runs over the data folder, else here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer

if TYPE_CHECKING:
    from server.cli.runtime import GlobalOptions
    from server.settings import LoadedSettings

InVault = Annotated[str, typer.Option("--vault", help="the vault")]
AsSubject = Annotated[str | None, typer.Option("--as", help="with the grants of this local subject")]
Json = Annotated[bool, typer.Option("--json", help="print JSON, for programs")]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that only reads: where a server ends before it answered, it is made again here. ``form``: whole is uncut,
    with what MCP only links to, such as a picture."""

    tool: str
    arguments: Mapping[str, Any]
    vault: str
    subject: str | None = None
    form: Literal["both", "whole"] = "both"


def make_call(ctx: typer.Context, call: ToolCall, *, as_json: bool) -> Mapping[str, Any]:
    """The content of the answer. A failure is told, as JSON where that was asked for, and ends the command: 2 for wrong
    arguments, else 1."""
    from server.cli.runtime import GlobalOptions, load_settings, run_async

    content = _ask_server(ctx.find_root().obj or GlobalOptions(), call)
    if content is None:
        content = run_async(_call(load_settings(ctx), call))
    if (error := content.get("error")) is not None:
        _fail(content, error, as_json=as_json)
    return content


def _ask_server(options: GlobalOptions, call: ToolCall) -> Mapping[str, Any] | None:
    from server.cli.local_connection import LocalServer
    from server.cli.local_server import find_data_folder
    from vaults.errors import StrongroomError

    if options.log_level or options.log_format:  # of this process: nothing a server could do
        return None
    given = {"--data": options.data, "--config": options.config}
    places = {name: str(path) for name, path in given.items() if path is not None}
    wish: dict[str, object] = {"vault": call.vault, "as": call.subject, "tool": call.tool}
    wish |= {"arguments": dict(call.arguments), "form": call.form}
    server = LocalServer.find(find_data_folder(places), places, None)
    if server is None:
        return None
    with server:
        try:
            answer = server.ask(wish)
        except OSError:
            return None
    if "reason" in answer:
        raise StrongroomError(str(answer["reason"]))
    content = answer.get("content")
    return content if isinstance(content, dict) else None


async def _call(loaded: LoadedSettings, call: ToolCall) -> Mapping[str, Any]:
    from server.cli.runtime import open_all
    from server.dispatch import dispatch
    from server.local_commands import command_caller

    async with open_all(loaded) as services:
        caller = command_caller(services, call.vault, call.subject, call.form)
        return (await dispatch(services, caller, call.tool, call.arguments)).content


def _fail(content: Mapping[str, Any], error: Mapping[str, Any], *, as_json: bool) -> NoReturn:
    from server.cli.output import say_json, say_on_stderr

    if as_json:
        say_json(content)
    else:
        message = str(error["message"]).removeprefix("Validation error: ")
        say_on_stderr(f"strongroom: {message}" + (f": {error['hint']}" if error.get("hint") else ""))
    raise typer.Exit(2 if error["code"] == "invalid_argument" else 1)
