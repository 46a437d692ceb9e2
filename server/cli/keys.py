"""``strongroom key …``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from auth.key_rotation import KeyUse
    from auth.keys import KeyRing, SigningKey
    from server.settings import LoadedSettings
    from vaults.db.connection import Database

Json = Annotated[bool, typer.Option("--json", help="print JSON, for programs")]


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(name="key", help="List and change the keys that sign tokens.", no_args_is_help=True)
    group.command("list")(show_list)
    group.command("rotate")(rotate)
    app.add_typer(group)


def show_list(ctx: typer.Context, as_json: Json = False) -> None:
    """List the keys. Says which one signs, and how long tokens need the others."""
    from server.cli.output import say_json, say_table
    from server.cli.runtime import load_settings, run_async

    uses = run_async(_uses(load_settings(ctx)))
    if as_json:
        say_json({"keys": [_row(each) for each in uses]})
        return
    rows = [(each.key.kid, each.key.name, _state(each), each.tokens, each.needed_until) for each in uses]
    say_table(("KID", "FILE", "STATE", "TOKENS", "NEEDED UNTIL"), rows)


def _row(use: KeyUse) -> dict[str, Any]:
    return {
        "kid": use.key.kid,
        "file": use.key.name,
        "state": _state(use),
        "ended_at": use.ended_at,
        "tokens": use.tokens,
        "needed_until": use.needed_until,
    }


def _state(use: KeyUse) -> str:
    return "signs" if use.signs else "spent" if use.is_spent else "verifies"


async def _uses(loaded: LoadedSettings) -> list[KeyUse]:
    from auth.key_rotation import uses_of

    async with _open_keys(loaded) as (control, ring):
        return await control.read(lambda tx: uses_of(tx, ring.keys))


def rotate(ctx: typer.Context) -> None:
    """Make a new key. A running server signs with it within seconds; an old one verifies until the last token it signed
    has run out, and then goes."""
    from server.cli.output import say
    from server.cli.runtime import load_settings, run_async

    key = run_async(_rotate(load_settings(ctx)))
    say(f"key {key.kid} signs now ({key.name})")


async def _rotate(loaded: LoadedSettings) -> SigningKey:
    from auth import key_rotation
    from server.cli.admin_acts import recorded

    async with _open_keys(loaded) as (control, ring), recorded(loaded, "key", "rotate") as details:
        key = await key_rotation.rotate(control, ring)
        details["kid"] = key.kid
    return key


@asynccontextmanager
async def _open_keys(loaded: LoadedSettings) -> AsyncIterator[tuple[Database, KeyRing]]:
    import asyncio

    from auth.keys import KEYS_FOLDER, open_key_ring
    from server.cli.runtime import open_control

    async with open_control(loaded) as control:
        folder = loaded.data / KEYS_FOLDER
        yield control, await asyncio.to_thread(open_key_ring, folder, loaded.settings.auth.key_passphrase_file)
