"""``strongroom init``: a vault for a project, and a word to the agents that work in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from server.settings import Loaded
    from vaults.advice import Audience


def add_to(app: typer.Typer) -> None:
    app.command("init")(init)


def init(
    ctx: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", show_default=False, help="the project; default: this folder")
    ] = Path(),
    no_agents: Annotated[bool, typer.Option("--no-agents", help="leave AGENTS.md and CLAUDE.md alone")] = False,
) -> None:
    """Make a vault for a project. It lies in DIR/.strongroom, and AGENTS.md tells agents of it. Safe to run again."""
    from server.cli.output import say
    from server.cli.runtime import load_settings, run_async
    from server.setup import agent_guides
    from server.setup.client_config import over_stdio
    from server.setup.project_vaults import state_of

    state = state_of(folder)
    name, agents = run_async(_make(load_settings(ctx, state), folder))
    say(f"vault {name} of this project lies in {state}")
    written = [agent_guides.write_guide(state, agents), agent_guides.ignore_state(folder)]
    if not no_agents:
        written += agent_guides.point_agents(folder, agents)
    for path in written:
        if path is not None:
            say(f"wrote {path}")
    say(f"serve it from anywhere below this folder: strongroom stdio\n\n{over_stdio()}")


async def _make(loaded: Loaded, folder: Path) -> tuple[str, Audience]:
    from server.cli.runtime import open_all, open_control
    from server.setup.agent_guides import agents_of, welcome
    from server.setup.project_vaults import project_vault

    async with open_control(loaded) as control:
        name = (await project_vault(control, loaded, folder)).name
    async with open_all(loaded) as services:
        await welcome(services, name)
        return name, agents_of(services, name)
