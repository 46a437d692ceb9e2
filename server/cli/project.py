"""``strongroom init``: a vault for a project, and a pointer to it for the agents that work there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from server.settings import LoadedSettings
    from vaults.advice import Audience


def add_to(app: typer.Typer) -> None:
    app.command("init")(init)


def init(
    ctx: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", show_default=False, help="the project; default: this folder")
    ] = Path(),
    no_agents: Annotated[bool, typer.Option("--no-agents", help="leave AGENTS.md, CLAUDE.md and skills alone")] = False,
    harvest: Annotated[
        bool, typer.Option("--harvest", help="from now on keep conversations with agents held in the project")
    ] = False,
) -> None:
    """Make a vault for a project. It lies in DIR/.strongroom, and AGENTS.md tells agents of it. Safe to run again."""
    from server.cli.output import say
    from server.cli.runtime import load_settings, run_async
    from server.setup import agent_guides, project_settings
    from server.setup.client_config import stdio_client_config
    from server.setup.project_vaults import make_state_folder

    state = make_state_folder(folder)
    name, agents = run_async(_make(load_settings(ctx, state), folder))
    say(f"vault {name} of this project lies in {state}")
    written = [agent_guides.write_guide(state, agents), agent_guides.write_gitignore(folder)]
    if not no_agents:
        written += agent_guides.write_pointers(folder, agents)
        written.append(agent_guides.write_skill(folder, agents))
    if harvest:
        written.append(project_settings.enable_harvest(state))
    for path in written:
        if path is not None:
            say(f"wrote {path}")
    say(f"serve it from anywhere below this folder: strongroom stdio\n\n{stdio_client_config()}")


async def _make(loaded: LoadedSettings, folder: Path) -> tuple[str, Audience]:
    from server.cli.runtime import open_all, open_control
    from server.setup.agent_guides import agents_audience, store_welcome
    from server.setup.project_vaults import open_project_vault

    async with open_control(loaded) as control:
        name = (await open_project_vault(control, loaded, folder)).name
    async with open_all(loaded) as services:
        await store_welcome(services, name)
        return name, agents_audience(services, name)
