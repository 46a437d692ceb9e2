"""``strongroom key …``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from auth.kept_keys import KeptKeys
    from auth.key_rotation import KeyUse
    from auth.keys import KeyRing, SigningKey
    from server.settings import LoadedSettings
    from vaults.db.transactions import Transactions

Json = Annotated[bool, typer.Option("--json", help="print JSON, for programs")]


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(name="key", help="List and change keys, and their passphrase.", no_args_is_help=True)
    group.command("list")(show_list)
    group.command("rotate")(rotate)
    group.command("passphrase")(passphrase)
    app.add_typer(group)


def show_list(ctx: typer.Context, as_json: Json = False) -> None:
    """List the keys. Says which one signs, how long tokens need the others, and what else is sealed with a key."""
    from server.cli.output import say_json, say_table
    from server.cli.runtime import load_settings, run_async

    kept = run_async(_kept(load_settings(ctx)))
    if as_json:
        secrets = [{"file": name, "encrypted": name in kept.encrypted} for name in kept.secrets]
        say_json({"keys": [_row(each, kept) for each in kept.uses], "secrets": secrets})
        return
    rows: list[tuple[Any, ...]] = [
        (each.key.kid, each.key.name, each.state, _lies(each.key.name, kept), each.tokens, each.needed_until)
        for each in kept.uses
    ]
    rows += [("-", name, "seals", _lies(name, kept), "", "") for name in kept.secrets]
    say_table(("KID", "FILE", "STATE", "LIES", "TOKENS", "NEEDED UNTIL"), rows)


def _row(use: KeyUse, kept: KeptKeys) -> dict[str, Any]:
    return {
        "kid": use.key.kid,
        "file": use.key.name,
        "state": use.state,
        "ended_at": use.ended_at,
        "tokens": use.tokens,
        "needed_until": use.needed_until,
        "encrypted": use.key.name in kept.encrypted,
    }


def _lies(name: str, kept: KeptKeys) -> str:
    return "encrypted" if name in kept.encrypted else "in the clear"


async def _kept(loaded: LoadedSettings) -> KeptKeys:
    from auth.kept_keys import read_kept_keys

    async with _open_keys(loaded) as (control, ring):
        return await read_kept_keys(control, ring)


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


def passphrase(
    ctx: typer.Context,
    old: Annotated[
        Path | None, typer.Option("--old", help="file with the passphrase that was; leave it out if there was none")
    ] = None,
) -> None:
    """Encrypt every key with the passphrase that auth.key_passphrase_file names now; where it names none, they lie in
    the clear. A running server follows. A call that was cut off is made again."""
    from server.cli.output import say
    from server.cli.runtime import load_settings, run_async

    loaded = load_settings(ctx)
    changed = run_async(_change_passphrase(loaded, old))
    lie = "lie in the clear" if loaded.settings.auth.key_passphrase_file is None else "are encrypted with it"
    say(f"all keys {lie}; {len(changed)} changed" + (f": {', '.join(changed)}" if changed else ""))


async def _change_passphrase(loaded: LoadedSettings, old: Path | None) -> list[str]:
    import asyncio
    from dataclasses import replace

    from auth.key_passphrase import read_passphrase
    from auth.keys import KEYS_FOLDER
    from auth.passphrase_change import change_passphrase, find_opener, plan_change
    from ops.audit.content_hashes import KEY_FILE
    from server.cli.admin_acts import recorded
    from server.cli.runtime import open_control
    from vaults.errors import NotFound

    folder = loaded.data / KEYS_FOLDER
    if not folder.is_dir():
        raise NotFound(f"there are no keys in {loaded.data}", hint="--data names the data folder")
    new = read_passphrase(loaded.settings.auth.key_passphrase_file)
    was = read_passphrase(None if old is None else str(old), "--old")
    await asyncio.to_thread(plan_change, folder, was, new)  # what neither opens is told by its name
    # The audit has a key among them, which lies under the old passphrase until it is changed too.
    files = (loaded.settings.auth.key_passphrase_file, None if old is None else str(old))
    opener = await asyncio.to_thread(find_opener, folder / KEY_FILE, files)
    auth = loaded.settings.auth.model_copy(update={"key_passphrase_file": opener})
    opening = replace(loaded, settings=loaded.settings.model_copy(update={"auth": auth}))
    async with open_control(loaded), recorded(opening, "key", "passphrase") as details:
        changed = await asyncio.to_thread(change_passphrase, folder, was, new)
        details["files"] = changed
    return changed


@asynccontextmanager
async def _open_keys(loaded: LoadedSettings) -> AsyncIterator[tuple[Transactions, KeyRing]]:
    import asyncio

    from auth.kept_secrets import open_secrets
    from auth.keys import KEYS_FOLDER, open_key_ring
    from server.cli.runtime import open_control

    folder, passphrase_file = loaded.data / KEYS_FOLDER, loaded.settings.auth.key_passphrase_file
    async with open_control(loaded) as control:
        ring = await asyncio.to_thread(open_key_ring, folder, passphrase_file)
        await asyncio.to_thread(open_secrets, folder, passphrase_file)
        yield control, ring
