"""``strongroom stdio``: one client, one vault, over stdin and stdout."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    import asyncio

    from server.services import Services
    from server.settings import LoadedSettings


def add_to(app: typer.Typer) -> None:
    app.command("stdio")(stdio)


def stdio(
    ctx: typer.Context,
    *,
    vault: Annotated[str | None, typer.Option(help="a vault of the data folder, or of the server")] = None,
    path: Annotated[Path | None, typer.Option(help="serve this folder in place; state in its .strongroom/")] = None,
    tools: Annotated[
        str | None, typer.Option(help="agent, notes or full, or another system's, such as moltmind")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="as --write-mode off")] = False,
    write_mode: Annotated[
        Literal["auto", "ask", "off"], typer.Option(help="may tools write; ask: a person agrees first")
    ] = "auto",
    url: Annotated[
        str, typer.Option(envvar="STRONGROOM_URL", help="pass on to a vault of this server; not with --path")
    ] = "",
    token_file: Annotated[str, typer.Option(envvar="STRONGROOM_TOKEN_FILE", help="its token; with --url")] = "",
) -> None:
    """Serve MCP on stdin and stdout. Without --vault and --path: the nearest folder above with .strongroom/, else
    vault main."""
    from server.caller_views import PRESET_NAMES
    from server.cli.runtime import load_settings, run_async
    from server.setup.project_vaults import find_project, make_state_folder
    from vaults.errors import InvalidArgument

    if tools is not None and tools not in PRESET_NAMES:
        raise InvalidArgument("--tools", f"must be one of {', '.join(PRESET_NAMES)}")
    if vault is not None and path is not None:
        raise InvalidArgument("--path", "and --vault exclude each other")
    if url and path is None:
        if read_only or write_mode != "auto":
            raise InvalidArgument("--write-mode", "is up to the server; --url cannot change it")
        run_async(_relay(url, vault, token_file, tools))
        return
    project = path if path is not None else None if vault is not None else find_project(Path.cwd())
    loaded = load_settings(ctx, make_state_folder(project) if project is not None else None)
    if loaded.settings.cluster.is_on:
        from server.cluster.refusals import refuse_stdio

        refuse_stdio()
    run_async(_serve(loaded, vault, project, (tools, "off" if read_only else write_mode)))


async def _relay(url: str, vault: str | None, token_file: str, tools: str | None) -> None:
    from uuid import uuid4

    from server.remote_vault.endpoint import endpoint_of
    from server.remote_vault.stdio_relay import relay
    from server.setup.first_start import FIRST_VAULT
    from vaults.errors import InvalidArgument

    if not token_file:
        raise InvalidArgument("--token-file", "is needed with --url")
    endpoint = endpoint_of(url, vault or FIRST_VAULT)
    about = {"X-Strongroom-Session": f"stdio-{uuid4()}"}  # one session per connection, as without a server in between
    await relay(f"{endpoint}?tools={tools}" if tools else endpoint, Path(token_file).expanduser(), about)


def _follow_conversations(services: Services, vault: str, write_mode: str) -> asyncio.Task[None]:
    import asyncio

    from auth.principal import owner
    from server.harvests import BackgroundHarvest

    beside = BackgroundHarvest(services, owner("stdio"), vault, Path.home(), write_mode)
    return asyncio.create_task(beside.follow(), name="harvest")


async def _serve(loaded: LoadedSettings, vault: str | None, project: Path | None, view: tuple[str | None, str]) -> None:
    import asyncio

    from auth.principal import owner
    from server.background_plan import SERVER_WORK
    from server.backup_schedule import keep_backups
    from server.cli.runtime import open_all
    from server.command_door import open_door
    from server.stdio import run_stdio
    from vaults.errors import NotFound

    name = await _vault_name(loaded, vault, project)
    async with open_all(loaded, background=SERVER_WORK) as services:
        if not services.registry_cache.known(name):
            raise NotFound(f"no vault {name}", hint="vault list shows what there is")
        preset, write_mode = view
        following = _follow_conversations(services, name, write_mode) if loaded.settings.harvest.enabled else None
        try:
            async with keep_backups(services, loaded.file), open_door(services, loaded.file):
                await run_stdio(
                    services,
                    owner("stdio"),
                    name,
                    preset=preset,
                    write_mode=write_mode,
                    workspace=str((project or Path.cwd()).resolve()),
                )
        finally:
            if following is not None:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)


async def _vault_name(loaded: LoadedSettings, vault: str | None, project: Path | None) -> str:
    """The vault to serve; main and a project's own are made on first use."""
    from server.cli.runtime import open_control
    from server.setup.first_start import FIRST_VAULT, ensure_vault
    from server.setup.project_vaults import open_project_vault

    if vault is not None and vault != FIRST_VAULT:
        return vault
    async with open_control(loaded) as control:
        if project is not None:
            return (await open_project_vault(control, loaded, project)).name
        await ensure_vault(control, loaded, FIRST_VAULT)
    return FIRST_VAULT
