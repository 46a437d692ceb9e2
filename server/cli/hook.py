"""``strongroom hook``: what an agent's program runs at the start, at each prompt and at the end of a session.

Exit code 0 whatever happens, and nothing on stdout but an answer: another code would discard the person's prompt.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.call import Caller
    from server.hooks import CallTool, HookInput, HookRun
    from server.remote_vault.single_call import RemoteEndpoint
    from server.services import Services
    from server.settings import LoadedSettings

WITHIN_S = {"session-start": 8.0, "prompt": 3.0, "stop": 5.0}
"""Seconds after which a hook gives up by default."""


def add_to(app: typer.Typer) -> None:
    app.command("hook")(hook)


def hook(
    ctx: typer.Context,
    event: Annotated[
        Literal["session-start", "prompt", "stop"],
        typer.Argument(metavar="EVENT", help="what happened"),
    ],
    *,
    vault: Annotated[str, typer.Option(help="the vault; default: the project's, else main")] = "",
    url: Annotated[str, typer.Option(envvar="STRONGROOM_URL", help="a server, instead of the vault on disk")] = "",
    token_file: Annotated[str, typer.Option(envvar="STRONGROOM_TOKEN_FILE", help="its token; with --url")] = "",
    within: Annotated[
        float,
        typer.Option(
            envvar="STRONGROOM_HOOK_WITHIN",
            show_default=False,
            help="seconds after which it gives up; default: 3 to 8, by event",
        ),
    ] = 0.0,
) -> None:
    """Answer a hook of Claude Code. Its JSON stands on stdin; whatever goes wrong, the session goes on."""
    from server.cli.output import say, say_on_stderr
    from server.cli.runtime import run_async
    from vaults.errors import StrongroomError

    try:
        from server.hooks import INPUT_BYTES, parse_input

        hook_input = parse_input(sys.stdin.buffer.read(INPUT_BYTES + 1))
        limit = within if within > 0 else WITHIN_S[event]
        opening = (
            _remote_run(hook_input, limit, (url, vault, token_file)) if url else _local_run(ctx, hook_input, vault)
        )
        answer = run_async(_answer(event, limit, opening))
    except StrongroomError as failure:
        say_on_stderr(f"strongroom hook: {failure.message.removeprefix('Validation error: ')}")
    except TimeoutError:
        say_on_stderr("strongroom hook: gave up, it took too long")
    except Exception as failure:  # noqa: BLE001  the edge: a hook that fails must not stop whoever runs it
        say_on_stderr(f"strongroom hook: failed ({type(failure).__name__})")
    else:
        if answer is not None:
            say(answer)


async def _answer(event: str, limit: float, opening: AbstractAsyncContextManager[HookRun]) -> str | None:
    import asyncio

    from server.hooks import EVENTS

    async with asyncio.timeout(limit), opening as opened:
        return await EVENTS[event](opened)


@asynccontextmanager
async def _remote_run(hook_input: HookInput, limit: float, place: tuple[str, str, str]) -> AsyncIterator[HookRun]:
    from server.hooks import HookRun
    from server.remote_vault.single_call import call_remote_tool

    endpoint = _remote_endpoint(hook_input, limit, *place)

    async def ask(tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        return call_remote_tool(endpoint, tool, arguments)

    yield HookRun(ask, hook_input, shared=True)


def _remote_endpoint(hook_input: HookInput, limit: float, url: str, vault: str, token_file: str) -> RemoteEndpoint:
    from server.hooks import CLIENT
    from server.remote_vault.endpoint import endpoint_of, token_in
    from server.remote_vault.single_call import RemoteEndpoint
    from vaults.errors import InvalidArgument

    if not token_file:
        raise InvalidArgument("--token-file", "is needed with --url")
    about = {"X-Strongroom-Client": CLIENT} | (
        {"X-Strongroom-Session": hook_input.session} if hook_input.session else {}
    )
    return RemoteEndpoint(endpoint_of(url, vault or "main"), token_in(Path(token_file).expanduser()), limit, about)


@asynccontextmanager
async def _local_run(ctx: typer.Context, hook_input: HookInput, vault: str) -> AsyncIterator[HookRun]:
    from server.cli.runtime import load_settings
    from server.hooks import HookRun
    from server.setup.project_vaults import find_project, make_state_folder

    project = None if vault else find_project(hook_input.folder)
    # Without the model: loading it takes longer than searching by words, and each hook is a process of its own.
    loaded = load_settings(ctx, make_state_folder(project) if project is not None else None, embedding__engine="off")
    async with _open_vault(loaded, hook_input, vault, project) as ask:
        yield HookRun(ask, hook_input, shared=False)


@asynccontextmanager
async def _open_vault(
    loaded: LoadedSettings, hook_input: HookInput, vault: str, project: Path | None
) -> AsyncIterator[CallTool]:
    """Open the vault on disk; never makes one."""
    from server.cli.runtime import open_all
    from server.dispatch import dispatch
    from server.hooks import TOOL_MODULES
    from server.setup.first_start import FIRST_VAULT
    from vaults.errors import NotFound, StrongroomError

    nothing = NotFound("there is no vault here; strongroom init makes one")
    if not (loaded.data / "control.db").is_file():
        raise nothing
    name = vault or (await _name_of(loaded, project) if project is not None else FIRST_VAULT)
    async with open_all(loaded, TOOL_MODULES) as services:
        if not services.registry_cache.known(name):
            raise nothing
        caller = _caller(services, name, hook_input, project)

        async def ask(tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
            outcome = await dispatch(services, caller, tool, arguments)
            if not outcome.ok:
                raise StrongroomError(f"{tool} answered {outcome.code}")
            return outcome.content

        yield ask


async def _name_of(loaded: LoadedSettings, project: Path) -> str:
    from server.cli.runtime import open_control
    from server.setup.project_vaults import open_project_vault

    async with open_control(loaded) as control:
        return (await open_project_vault(control, loaded, project)).name


def _caller(services: Services, vault: str, hook_input: HookInput, project: Path | None) -> Caller:
    """The caller is an agent's program, not the person at the command line: where a person must be asked first,
    nothing is saved."""
    from auth.principal import owner
    from auth.roles import Role
    from server.call import Caller
    from server.caller_views import strictest_mode
    from server.hooks import CLIENT

    principal = owner("stdio")
    return Caller(
        principal,
        vault,
        services.role_in(principal, vault) or Role.READER,
        "stdio",
        preset="full",
        write_mode=strictest_mode(services.settings.server.write_mode, services.registry_cache.entry(vault).write_mode),
        workspace=str((project or hook_input.folder).resolve()),
        session=hook_input.session,
        client=CLIENT,
    )
