"""``strongroom as SYSTEM COMMAND …``: what people typed for mempack and nano-brain, over the same dispatch as their
tools, or by the command of ours that does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer._click.exceptions import UsageError

if TYPE_CHECKING:
    from server.dispatch import CallOutcome
    from server.settings import LoadedSettings
    from server.toolsets.old_command import CommandLine, OldCommand
    from server.toolsets.old_tool import OldTool, Toolset

SYSTEMS = ("mempack", "nano-brain")
OTHER_NAMES = {"mem": "mempack"}
HELP, VERSION = ("--help", "-h"), ("--version", "-v")
WRONG_USAGE = ("not_valid", "invalid_argument")


def add_to(app: typer.Typer) -> None:
    context = {"ignore_unknown_options": True, "help_option_names": []}  # --help is theirs
    app.command("as", context_settings=context)(run_as)


def run_as(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="SYSTEM COMMAND [ARGS]", help="mempack or nano-brain, and what it takes; --help lists"),
    ] = None,
    *,
    vault: Annotated[str, typer.Option(help="the vault")] = "main",
) -> None:
    """Run a command as mempack or nano-brain has it. Exit code 1: it answered with an error; 2: wrong usage, or nothing
    here does that."""
    from server.cli.output import say
    from vaults.errors import InvalidArgument

    asked = list(words or ())
    if not asked or asked[0] in HELP:
        say(ctx.get_help())
        raise typer.Exit(0 if asked else 2)
    system = OTHER_NAMES.get(asked[0], asked[0])
    if system not in SYSTEMS:
        raise UsageError(f"{' '.join(asked)[:100]}: SYSTEM must be {' or '.join(SYSTEMS)}", ctx=ctx)
    line, rest = _command_line(system), asked[1:]
    if not rest or rest[0] in (*HELP, "help"):
        say(_describe(line))
        raise typer.Exit(0 if rest else 2)
    found = line.find(["version"] if rest[0] in VERSION else rest)
    if found is None:
        raise InvalidArgument("COMMAND", f"must be one of {', '.join(each.name for each in line.commands)}")
    command, given = found
    if any(word in HELP for word in given):
        say(_usage(line, command))
        return
    raise typer.Exit(_run(ctx, system, command, given, vault))


def _command_line(system: str) -> CommandLine:
    if system == "mempack":
        from server.toolsets import mempack_commands

        return mempack_commands.COMMAND_LINE
    from server.toolsets import nano_brain_commands

    return nano_brain_commands.COMMAND_LINE


def _describe(line: CommandLine) -> str:
    wide = max(len(each.name) for each in line.commands)
    rows = [f"  {each.name:{wide}}  {each.summary}{'; not here' if each.instead else ''}" for each in line.commands]
    head = f"Usage: strongroom as {line.system} COMMAND [ARGS] [--vault VAULT]"
    return "\n".join([head, "", "Commands:", *rows])


def _usage(line: CommandLine, command: OldCommand) -> str:
    if command.instead:
        return f"{command.name}: {command.instead}"
    taken = "".join(f" [{each}]" for each in command.positional)
    head = f"Usage: strongroom as {line.system} {command.name}{taken} [OPTIONS]\n\n  {command.summary}"
    if command.ours is not None:
        return f"{head}; runs: strongroom {' '.join(command.ours.words)}"
    assert command.tool is not None
    names = [each for each in command.tool.arguments.model_fields if each not in command.positional]
    options = [*(f"--{each.replace('_', '-')}" for each in names), *command.options, *command.files, *command.ignored]
    return f"{head}\n\nOptions: {', '.join(dict.fromkeys(options)) or 'none'}"


def _run(ctx: typer.Context, system: str, command: OldCommand, words: Sequence[str], vault: str) -> int:
    from server.cli.old_arguments import read_arguments, to_our_words
    from server.cli.output import say_on_stderr
    from server.cli.runtime import load_settings, run_async
    from server.toolsets.registry import toolset_of

    if command.instead:
        say_on_stderr(f"strongroom: {system} {command.name} is not here: {command.instead}")
        return 2
    try:
        if command.ours is not None:
            return _run_ours(ctx, to_our_words(command.name, command.ours, words, vault, _project()))
        given = read_arguments(command, words)
    except ValueError as wrong:
        raise UsageError(str(wrong), ctx=ctx) from None
    toolset = toolset_of(system)
    assert toolset is not None
    assert command.tool is not None
    place = given.project or _project()
    outcome = run_async(_call(load_settings(ctx), vault, (toolset, command.tool), given.arguments, place))
    asked = given.form or str(given.arguments.get("format", command.form))
    _show(command, outcome, as_json=asked == "json")
    return 0 if outcome.ok else 2 if outcome.code in WRONG_USAGE else 1


def _run_ours(ctx: typer.Context, words: Sequence[str]) -> int:
    from server.cli.app import run
    from server.cli.runtime import GlobalOptions

    given: GlobalOptions = ctx.find_root().obj or GlobalOptions()
    options = {
        "--data": given.data, "--config": given.config, "--log-level": given.log_level, "--log-format": given.log_format
    }  # fmt: skip
    return run([*(part for name, each in options.items() if each is not None for part in (name, str(each))), *words])


def _show(command: OldCommand, outcome: CallOutcome, *, as_json: bool) -> None:
    from server.cli.output import say, say_on_stderr
    from vaults.domain.text.sanitize import to_visible_json

    if not outcome.ok:
        say_on_stderr(outcome.text)
    elif as_json:
        told = outcome.content[command.part] if command.part else outcome.content
        say(to_visible_json(told, indent=2))
    else:
        say(outcome.text)


async def _call(
    loaded: LoadedSettings, vault: str, called: tuple[Toolset, OldTool], given: Mapping[str, Any], project: str
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
        caller = Caller(owner("cli"), vault, Role.ADMIN, "cli", preset=toolset.name, write_mode=mode, workspace=project)

        async def call(who: Caller, name: str, arguments: Mapping[str, Any]) -> CallOutcome:
            return await dispatch(services, who, name, arguments)

        return await serve_old_tool(services, toolset, tool, caller, given, call)


def _project() -> str:
    """The repository the command is run in, else the folder."""
    here = Path.cwd()
    return str(next((each for each in (here, *here.parents) if (each / ".git").exists()), here))
