"""The vaults that hooks of an agent's program work on: one on disk, or one of a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from server.call import Caller
    from server.hooks import HookHarvest, HookInput, HookRun
    from server.remote_vault.single_call import RemoteEndpoint
    from server.services import Services
    from server.settings import LoadedSettings
    from vaults.domain.import_export.line_import import NumberedLine
    from vaults.domain.import_export.row_writer import LineOutcome
    from vaults.domain.import_export.source_import import Push
    from vaults.transcripts.handed_file import HandedFile

PATIENCE_S = 30.0
"""Seconds that a harvest of a hook waits for another one to end: a first pass over years may take longer, and takes the
file along."""


def load_hook_settings(ctx: typer.Context, hook_input: HookInput, vault: str, *, remote: bool) -> LoadedSettings:
    """The settings of the project the agent works in, if it has a vault and no other is named."""
    from server.cli.runtime import load_settings
    from server.setup.project_vaults import make_state_folder

    project = _project(hook_input, vault) if not remote else None
    # Without the model: loading it takes longer than searching by words, and each hook is a process of its own.
    return load_settings(ctx, make_state_folder(project) if project is not None else None, embedding__engine="off")


def _project(hook_input: HookInput, vault: str) -> Path | None:
    from server.setup.project_vaults import find_project

    return None if vault else find_project(hook_input.folder)


@asynccontextmanager
async def open_remote(
    loaded: LoadedSettings | None, hook_input: HookInput, limit: float, place: tuple[str, str, str]
) -> AsyncIterator[HookRun]:
    """A vault of a server. ``place``: its URL, the vault, the file with the token; ``loaded``: the settings here, where
    a transcript is handed over."""
    from server.hooks import HookRun
    from server.remote_vault.single_call import call_remote_tool

    endpoint = _remote_endpoint(hook_input, limit, *place)

    async def ask(tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        return call_remote_tool(endpoint, tool, arguments)

    async def push(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return call_remote_tool(endpoint, tool, arguments)

    harvest = None
    if loaded is not None and hook_input.transcript_path:
        from server.remote_vault.line_push import TranscriptPush

        harvest = _harvest_into(loaded, endpoint.url, TranscriptPush(push).push)
    yield HookRun(ask, hook_input, shared=True, harvest=harvest)


def _remote_endpoint(hook_input: HookInput, limit: float, url: str, vault: str, token_file: str) -> RemoteEndpoint:
    from server.remote_vault.endpoint import endpoint_of, token_in
    from server.remote_vault.single_call import RemoteEndpoint
    from vaults.errors import InvalidArgument

    if not token_file:
        raise InvalidArgument("--token-file", "is needed with --url")
    about = {"X-Strongroom-Client": hook_input.client} | (
        {"X-Strongroom-Session": hook_input.session} if hook_input.session else {}
    )
    return RemoteEndpoint(endpoint_of(url, vault or "main"), token_in(Path(token_file).expanduser()), limit, about)


@asynccontextmanager
async def open_local(loaded: LoadedSettings, hook_input: HookInput, vault: str) -> AsyncIterator[HookRun]:
    """A vault on disk; never makes one."""
    from server.cli.local_server import FIRST_VAULT  # not from ``first_start``, which loads what makes tokens
    from server.cli.runtime import open_all
    from server.hooks import TOOL_MODULES, HookRun
    from server.local_commands import ask_as, hook_caller
    from vaults.errors import NotFound

    nothing = NotFound("there is no vault here; strongroom init makes one")
    if not (loaded.data / "control.db").is_file():
        raise nothing
    project = _project(hook_input, vault)
    name = vault or (await _name_of(loaded, project) if project is not None else FIRST_VAULT)
    async with open_all(loaded, TOOL_MODULES) as services:
        if not services.registry_cache.known(name):
            raise nothing
        workspace = str((project or hook_input.folder).resolve())
        caller = hook_caller(services, name, hook_input, workspace)
        harvest = None
        if hook_input.transcript_path and caller.write_mode == "auto":  # else a person is to be asked first
            harvest = _harvest_into(loaded, name, _local_push(services, caller))
        yield HookRun(ask_as(services, caller), hook_input, shared=False, harvest=harvest)


def _local_push(services: Services, caller: Caller) -> Push:
    from server.harvests import local_push

    async def push(lines: Sequence[NumberedLine]) -> list[LineOutcome]:
        async with services.pool.lease(services.registry_cache.entry(caller.vault)) as held:
            return await local_push(services, caller.principal, held)(lines)

    return push


def _harvest_into(loaded: LoadedSettings, target: str, push: Push) -> HookHarvest:
    from server.harvests import make_harvester
    from server.hooks import HookHarvest
    from vaults.domain.secrets import redaction

    harvester = make_harvester(loaded.settings.harvest, Path.home(), loaded.data, target)

    def last_work(handed: HandedFile) -> list[str]:
        return [redaction.redact(line)[0] for line in handed.last_work(harvester.home, harvester.rules).lines]

    async def keep(handed: HandedFile) -> None:
        await harvester.run_after_others(push, handed.files, seconds=PATIENCE_S)

    return HookHarvest(harvester.home, last_work, keep)


async def _name_of(loaded: LoadedSettings, project: Path) -> str:
    from server.cli.runtime import open_control
    from server.setup.project_vaults import open_project_vault

    async with open_control(loaded) as control:
        return (await open_project_vault(control, loaded, project)).name
