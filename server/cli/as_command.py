"""``strongroom as SYSTEM COMMAND …``: what people typed for mempack and nano-brain, over the same translations as their
tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer._click.exceptions import UsageError

if TYPE_CHECKING:
    from server.dispatch import CallOutcome
    from server.settings import LoadedSettings
    from server.toolsets.old_tool import OldTool, Toolset


@dataclass(frozen=True, slots=True)
class OldCommand:
    """A command of theirs: the tool it calls, the argument that needs no option, and their short options."""

    tool: str
    positional: str = ""
    options: tuple[tuple[str, str], ...] = ()


_HITS = (("-n", "limit"), ("-c", "collection"))
COMMANDS: Mapping[str, Mapping[str, OldCommand]] = {
    "mempack": {
        "get": OldCommand("mem_get_context", "query"),
        "explain": OldCommand("mem_explain", "query"),
        "add": OldCommand("mem_add_memory"),
        "update": OldCommand("mem_update_memory", "id"),
        "checkpoint": OldCommand("mem_checkpoint"),
        "usage": OldCommand("mem_usage"),
    },
    "nano-brain": {
        "search": OldCommand("memory_search", "query", _HITS),
        "vsearch": OldCommand("memory_vsearch", "query", _HITS),
        "query": OldCommand("memory_query", "query", (*_HITS, ("--min-score", "minScore"))),
        "get": OldCommand("memory_get", "id", (("--from-line", "fromLine"), ("--max-lines", "maxLines"))),
        "write": OldCommand("memory_write", "content"),
        "status": OldCommand("memory_status"),
    },
}


def add_to(app: typer.Typer) -> None:
    known = "; ".join(f"{system}: {', '.join(commands)}" for system, commands in COMMANDS.items())
    app.command(
        "as",
        context_settings={"ignore_unknown_options": True},
        help=f"Run a command as another memory system has it. {known}.",
    )(run_as)


def run_as(
    ctx: typer.Context,
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="mempack or nano-brain")],
    command: Annotated[str, typer.Argument(metavar="COMMAND", help="such as get, add or query")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="ARGS", help="as that system takes them")] = None,
    *,
    vault: Annotated[str, typer.Option(help="the vault")] = "main",
) -> None:
    """Exit code 1: it answered with an error; 2: wrong usage."""
    from server.cli.output import say, say_on_stderr
    from server.cli.runtime import load_settings, run_async
    from server.toolsets.registry import toolset_of
    from vaults.errors import InvalidArgument

    if system not in COMMANDS:
        raise InvalidArgument("SYSTEM", f"must be {' or '.join(COMMANDS)}")
    if command not in COMMANDS[system]:
        raise InvalidArgument("COMMAND", f"must be one of {', '.join(COMMANDS[system])}")
    known = COMMANDS[system][command]
    toolset = toolset_of(system)
    tool = toolset.get(known.tool) if toolset is not None else None
    assert toolset is not None, system
    assert tool is not None, known.tool
    try:
        given = read_arguments(known, tool, arguments or [])
    except ValueError as wrong:
        raise UsageError(str(wrong), ctx=ctx) from None
    outcome = run_async(_call(load_settings(ctx), vault, (toolset, tool), given))
    (say if outcome.ok else say_on_stderr)(outcome.text)
    raise typer.Exit(0 if outcome.ok else 1)


def read_arguments(command: OldCommand, tool: OldTool, words: Sequence[str]) -> dict[str, Any]:
    """The tool's arguments. Raises ``ValueError`` for what it does not take."""
    properties = tool.arguments.model_json_schema()["properties"]
    short = dict(command.options)
    given: dict[str, Any] = {}
    extra: list[str] = []
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            if command.positional and command.positional not in given:
                given[command.positional] = word
            else:
                extra.append(word)
            continue
        option, _, value = word.partition("=")
        name = short.get(option, option.lstrip("-").replace("-", "_"))
        if name not in properties:
            raise ValueError(f"{option[:100]} is not an option of {tool.name}")
        given[name] = _to_value(option, properties[name], value, rest)
    if extra:
        raise ValueError(f"{' '.join(extra)[:100]} is more than it takes")
    return given


def _to_value(option: str, schema: Mapping[str, Any], value: str, rest: Iterator[str]) -> Any:
    kinds = {each.get("type") for each in (schema, *schema.get("anyOf", ()))}
    if "boolean" in kinds:
        return value.lower() not in ("false", "0", "no")
    text = value or next(rest, None)
    if text is None:
        raise ValueError(f"{option} needs a value")
    if kinds & {"integer", "number"}:
        try:
            return int(text) if "integer" in kinds else float(text)
        except ValueError:
            raise ValueError(f"{option} must be a number") from None
    return text


async def _call(
    loaded: LoadedSettings, vault: str, called: tuple[Toolset, OldTool], given: Mapping[str, Any]
) -> CallOutcome:
    from auth.principal import owner
    from auth.roles import Role
    from server.call import Caller
    from server.caller_views import strictest_mode
    from server.cli.runtime import open_all
    from server.dispatch import dispatch
    from server.toolsets.serving import serve_old_tool

    async with open_all(loaded) as services:
        known = services.registry_cache.known(vault)
        vault_mode = services.registry_cache.entry(vault).write_mode if known else "auto"
        mode = strictest_mode(services.settings.server.write_mode, vault_mode)
        toolset, tool = called
        caller = Caller(
            owner("cli"), vault, Role.ADMIN, "cli", preset=toolset.name, write_mode=mode, workspace=_project()
        )

        async def call(who: Caller, name: str, arguments: Mapping[str, Any]) -> CallOutcome:
            return await dispatch(services, who, name, arguments)

        return await serve_old_tool(services, toolset, tool, caller, given, call)


def _project() -> str:
    """The repository the command is run in, else the folder."""
    here = Path.cwd()
    return str(next((each for each in (here, *here.parents) if (each / ".git").exists()), here))
