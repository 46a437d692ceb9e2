"""``strongroom token …``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from auth.tokens import IssuedToken, TokenRecord
    from server.settings import Loaded
    from vaults.db.connection import Database

Json = Annotated[bool, typer.Option("--json", help="print JSON, for programs")]


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(name="token", help="Create, list and revoke access tokens.", no_args_is_help=True)
    group.command("create")(create)
    group.command("list")(show_list)
    group.command("revoke")(revoke)
    app.add_typer(group)


def create(
    ctx: typer.Context,
    *,
    subject: Annotated[str, typer.Option(help="who will use it")],
    vault: Annotated[list[str], typer.Option(metavar="<str>", help="vault it opens; repeat for more, '*' for all")],
    role: Annotated[Literal["reader", "writer", "admin"], typer.Option(help="what it may do there")],
    ttl: Annotated[str | None, typer.Option(help="life, such as 30d or 12h; default: auth.token_ttl")] = None,
    tools: Annotated[Literal["agent", "notes", "full"] | None, typer.Option(help="tools it is shown")] = None,
    as_json: Json = False,
) -> None:
    """Issue a token and the grants it needs. It is shown once."""
    from auth.roles import parse_role
    from auth.tokens import TokenRequest
    from server.cli.output import note, say, say_json
    from server.cli.runtime import load_settings, run_async

    loaded = load_settings(ctx)
    seconds = _seconds(ttl or loaded.settings.auth.token_ttl)
    request = TokenRequest(subject, tuple(dict.fromkeys(vault)), parse_role(role), seconds, tools)
    issued = run_async(_create(loaded, request))
    if as_json:
        say_json(_shown(issued))
        return
    note(f"token {issued.id} for {issued.subject}: {role} of {', '.join(issued.vaults)} until {issued.expires_at}")
    note(_how_to_connect(loaded, issued))
    say(issued.token)


def _how_to_connect(loaded: Loaded, issued: IssuedToken) -> str:
    """With the token where a person looks on; where the output goes to a program, nothing repeats it."""
    import sys

    from auth.access import EVERY_VAULT
    from auth.roles import Role
    from server.http.app import public_url
    from server.remote_vault.endpoint import endpoint_of
    from server.running_server import served_at
    from server.setup.client_config import AGENTS_LINES, READERS_LINES, over_http
    from server.setup.first_start import FIRST

    named = [name for name in issued.vaults if name != EVERY_VAULT] or [FIRST]
    server = loaded.settings.server
    url = served_at(loaded.data) or public_url(loaded.settings, server.host, server.port)
    endpoint = endpoint_of(url, named[0])
    shown = issued.token if sys.stdout.isatty() and sys.stderr.isatty() else "$TOKEN"
    each = f"\nEach of its vaults has such a URL: {', '.join(named)}.\n" if len(named) > 1 else ""
    return f"""
{over_http(endpoint, shown)}{each}
For the rules the agent reads (CLAUDE.md, AGENTS.md, .cursor/rules/strongroom.mdc):
{READERS_LINES if issued.role == Role.READER else AGENTS_LINES}
"""


def _seconds(ttl: str) -> int:
    from vaults.durations import parse_duration
    from vaults.errors import InvalidArgument

    try:
        return parse_duration(ttl)
    except ValueError as failure:
        raise InvalidArgument("--ttl", str(failure)) from None


def _shown(issued: IssuedToken) -> dict[str, Any]:
    return {
        "token": issued.token,
        "id": issued.id,
        "subject": issued.subject,
        "vaults": list(issued.vaults),
        "role": issued.role.label,
        "expires_at": issued.expires_at,
    }


async def _create(loaded: Loaded, request: Any) -> IssuedToken:
    import asyncio

    from auth.keys import open_keys
    from auth.tokens import create_token
    from server.cli.runtime import open_control
    from server.setup.first_start import KEYS
    from vaults import registry

    async with open_control(loaded) as control:
        await require_vaults(control, request.vaults)
        ring = await asyncio.to_thread(open_keys, loaded.data / KEYS)
        instance = await registry.instance_id(control)
        return await control.write(lambda tx: create_token(tx, ring, instance, request))


async def require_vaults(control: Database, names: Any) -> None:
    """Raise ``NotFound`` for a vault that is not there: a mistyped name would make a useless grant."""
    from auth.access import EVERY_VAULT
    from vaults import registry
    from vaults.errors import InvalidArgument, NotFound

    known = {entry.name for entry in await control.read(registry.listed) if entry.state == "active"}
    for name in names:
        if not name:
            raise InvalidArgument("vault", "may not be empty")
        if name != EVERY_VAULT and name not in known:
            raise NotFound(f"no vault {name}", hint="vault list shows what there is")


def show_list(ctx: typer.Context, as_json: Json = False) -> None:
    """List every token ever issued. The tokens themselves are never shown."""
    from server.cli.output import say_json, say_table
    from server.cli.runtime import load_settings, run_async

    records = run_async(_records(load_settings(ctx)))
    if as_json:
        say_json({"tokens": [_recorded(record) for record in records]})
        return
    rows = [
        (each.id, each.subject, each.role.label, ",".join(each.vaults), each.expires_at, each.revoked_at)
        for each in records
    ]
    say_table(("ID", "SUBJECT", "ROLE", "VAULTS", "EXPIRES", "REVOKED"), rows)


def _recorded(record: TokenRecord) -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(record), "role": record.role.label}


async def _records(loaded: Loaded) -> list[TokenRecord]:
    from auth.tokens import list_tokens
    from server.cli.runtime import open_control

    async with open_control(loaded) as control:
        return await control.read(list_tokens)


def revoke(
    ctx: typer.Context, token_id: Annotated[str, typer.Argument(metavar="ID", help="its id, as token list shows it")]
) -> None:
    """End a token. A running server refuses it within 5 seconds."""
    from server.cli.output import say
    from server.cli.runtime import load_settings, run_async

    run_async(_revoke(load_settings(ctx), token_id))
    say(f"token {token_id} is revoked")


async def _revoke(loaded: Loaded, token_id: str) -> None:
    from auth.tokens import revoke_token
    from server.cli.runtime import open_control

    async with open_control(loaded) as control:
        await control.write(lambda tx: revoke_token(tx, token_id))
