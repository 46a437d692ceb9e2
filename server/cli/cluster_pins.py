"""``strongroom cluster pin`` and ``cluster unpin``: which server a vault belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from server.cli.cluster_address import Url, cluster_settings

if TYPE_CHECKING:
    from server.settings import LoadedSettings

Vault = Annotated[str, typer.Argument(metavar="VAULT", help="the vault's name")]


def pin(
    ctx: typer.Context,
    vault: Vault,
    to: Annotated[str, typer.Option("--to", metavar="SERVER", help="name of the server that is to have it")],
    url: Url = None,
) -> None:
    """Have a vault served by one server while that one serves, and by any other while it does not. It goes there once
    nobody uses it."""
    from server.cli.output import say
    from server.cli.runtime import run_async

    if run_async(_pin(_load(ctx, url), vault, to)):
        say(f"vault {vault} is pinned to {to}, and goes there once nobody uses it")
    else:
        say(f"vault {vault} is pinned to {to}: no server of that name serves now, it goes there once one does")


async def _pin(loaded: LoadedSettings, vault: str, to: str) -> bool:
    from server.cli.admin_acts import recorded
    from server.cli.runtime import open_control
    from server.cluster import vault_pins

    async with open_control(loaded) as control, recorded(loaded, "cluster", "pin", vault=vault, to=to):
        return await vault_pins.pin(control, vault, to)


def unpin(ctx: typer.Context, vault: Vault, url: Url = None) -> None:
    """Have a vault served by any server again, as its hash says."""
    from server.cli.output import say
    from server.cli.runtime import run_async

    run_async(_unpin(_load(ctx, url), vault))
    say(f"vault {vault} is not pinned, and goes to any server")


async def _unpin(loaded: LoadedSettings, vault: str) -> None:
    from server.cli.admin_acts import recorded
    from server.cli.runtime import open_control
    from server.cluster import vault_pins

    async with open_control(loaded) as control, recorded(loaded, "cluster", "unpin", vault=vault):
        await vault_pins.unpin(control, vault)


def _load(ctx: typer.Context, url: str | None) -> LoadedSettings:
    from dataclasses import replace

    from server.cli.runtime import load_settings

    loaded = load_settings(ctx)
    cluster = cluster_settings(loaded.settings.cluster, url)
    return replace(loaded, settings=loaded.settings.model_copy(update={"cluster": cluster}))
