"""``strongroom hook``: what an agent's program runs at the start, at each prompt and at the end of a session.

Exit code 0 whatever happens, and nothing on stdout but an answer: another code would take the prompt from the person.
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
    from server.hooks import Ask, Said, Talk
    from server.remote_vault.single_call import Door
    from server.services import Services
    from server.settings import Loaded

WITHIN_S = {"session-start": 8.0, "prompt": 3.0, "stop": 5.0}
"""Seconds after which a hook gives up, unless told otherwise."""


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
    from server.cli.output import note, say
    from server.cli.runtime import run_async
    from vaults.errors import StrongroomError

    try:
        from server.hooks import INPUT_BYTES, heard

        said = heard(sys.stdin.buffer.read(INPUT_BYTES + 1))
        limit = within if within > 0 else WITHIN_S[event]
        talk = _over_there(said, limit, (url, vault, token_file)) if url else _here(ctx, said, vault)
        answer = run_async(_answered(event, limit, talk))
    except StrongroomError as failure:
        note(f"strongroom hook: {failure.message.removeprefix('Validation error: ')}")
    except TimeoutError:
        note("strongroom hook: gave up, it took too long")
    except Exception as failure:  # noqa: BLE001  the edge: a hook that fails must not stop whoever runs it
        note(f"strongroom hook: failed ({type(failure).__name__})")
    else:
        if answer is not None:
            say(answer)


async def _answered(event: str, limit: float, talk: AbstractAsyncContextManager[Talk]) -> str | None:
    import asyncio

    from server.hooks import EVENTS

    async with asyncio.timeout(limit), talk as opened:
        return await EVENTS[event](opened)


@asynccontextmanager
async def _over_there(said: Said, limit: float, place: tuple[str, str, str]) -> AsyncIterator[Talk]:
    from server.hooks import Talk
    from server.remote_vault.single_call import call_tool

    door = _door(said, limit, *place)

    async def ask(tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        return call_tool(door, tool, arguments)

    yield Talk(ask, said, shared=True)


def _door(said: Said, limit: float, url: str, vault: str, token_file: str) -> Door:
    from server.hooks import CLIENT
    from server.remote_vault.endpoint import endpoint_of, token_in
    from server.remote_vault.single_call import Door
    from vaults.errors import InvalidArgument

    if not token_file:
        raise InvalidArgument("--token-file", "is needed with --url")
    about = {"X-Strongroom-Client": CLIENT} | ({"X-Strongroom-Session": said.session} if said.session else {})
    return Door(endpoint_of(url, vault or "main"), token_in(Path(token_file).expanduser()), limit, about)


@asynccontextmanager
async def _here(ctx: typer.Context, said: Said, vault: str) -> AsyncIterator[Talk]:
    from server.cli.runtime import load_settings
    from server.hooks import Talk
    from server.setup.project_vaults import find_project, state_of

    project = None if vault else find_project(said.folder)
    # Without the model: to load it takes longer than to search by words, and each hook is a process of its own.
    loaded = load_settings(ctx, state_of(project) if project is not None else None, embedding__engine="off")
    async with _opened(loaded, said, vault, project) as ask:
        yield Talk(ask, said, shared=False)


@asynccontextmanager
async def _opened(loaded: Loaded, said: Said, vault: str, project: Path | None) -> AsyncIterator[Ask]:
    """The vault on disk; never makes one."""
    from server.cli.runtime import open_all
    from server.dispatch import dispatch
    from server.hooks import MODULES
    from server.setup.first_start import FIRST
    from vaults.errors import NotFound, StrongroomError

    nothing = NotFound("there is no vault here; strongroom init makes one")
    if not (loaded.data / "control.db").is_file():
        raise nothing
    name = vault or (await _name_of(loaded, project) if project is not None else FIRST)
    async with open_all(loaded, MODULES) as services:
        if not services.roster.known(name):
            raise nothing
        caller = _caller(services, name, said, project)

        async def ask(tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
            outcome = await dispatch(services, caller, tool, arguments)
            if not outcome.ok:
                raise StrongroomError(f"{tool} answered {outcome.code}")
            return outcome.content

        yield ask


async def _name_of(loaded: Loaded, project: Path) -> str:
    from server.cli.runtime import open_control
    from server.setup.project_vaults import project_vault

    async with open_control(loaded) as control:
        return (await project_vault(control, loaded, project)).name


def _caller(services: Services, vault: str, said: Said, project: Path | None) -> Caller:
    """An agent's program, so not the person at the command line: where a person is asked first, nothing is saved."""
    from auth.principal import owner
    from auth.roles import Role
    from server.call import Caller
    from server.hooks import CLIENT
    from server.mcp_bridge.views import strictest

    principal = owner("stdio")
    return Caller(
        principal,
        vault,
        services.role_in(principal, vault) or Role.READER,
        "stdio",
        preset="full",
        write_mode=strictest(services.settings.server.write_mode, services.roster.entry(vault).write_mode),
        workspace=str((project or said.folder).resolve()),
        session=said.session,
        client=CLIENT,
    )
