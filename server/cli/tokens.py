"""``strongroom token …``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from auth.tokens import IssuedToken, TokenRecord
    from server.settings import LoadedSettings

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
    tools: Annotated[
        str | None, typer.Option(help="tools it is shown: agent, notes or full, or another system's, such as moltmind")
    ] = None,
    as_json: Json = False,
) -> None:
    """Issue a token and the grants it needs. It is shown once."""
    from auth.roles import parse_role
    from server.administration.tokens import read_request
    from server.cli.output import say, say_json, say_on_stderr
    from server.cli.runtime import load_settings, run_async

    loaded = load_settings(ctx)
    request = read_request(subject, vault, parse_role(role), ttl or loaded.settings.auth.token_ttl, tools)
    issued = run_async(_issue(loaded, request))
    if as_json:
        say_json(_issued_to_row(issued))
        return
    say_on_stderr(
        f"token {issued.id} for {issued.subject}: {role} of {', '.join(issued.vaults)} until {issued.expires_at}"
    )
    say_on_stderr(_how_to_connect(loaded, issued))
    say(issued.token)


def _how_to_connect(loaded: LoadedSettings, issued: IssuedToken) -> str:
    """How to connect, with the token if a person reads the output; where a program does, nothing repeats it."""
    import sys

    from server.http.app import public_url
    from server.running_server import find_running_url
    from server.setup.client_config import token_client_config

    server = loaded.settings.server
    url = find_running_url(loaded.data) or public_url(loaded.settings, server.host, server.port)
    shown = issued.token if sys.stdout.isatty() and sys.stderr.isatty() else "$TOKEN"
    return f"\n{token_client_config(url, issued, shown)}"


def _issued_to_row(issued: IssuedToken) -> dict[str, Any]:
    return {
        "token": issued.token,
        "id": issued.id,
        "subject": issued.subject,
        "vaults": list(issued.vaults),
        "role": issued.role.label,
        "expires_at": issued.expires_at,
    }


async def _issue(loaded: LoadedSettings, request: Any) -> IssuedToken:
    import asyncio

    from auth.keys import KEYS_FOLDER, open_key_ring
    from auth.tokens import create_token
    from server.administration.vault_names import require_vaults
    from server.cli.admin_acts import recorded
    from server.cli.runtime import open_control
    from vaults import registry

    async with open_control(loaded) as control:
        await control.read(lambda tx: require_vaults(tx, request.vaults))
        ring = await asyncio.to_thread(
            open_key_ring, loaded.data / KEYS_FOLDER, loaded.settings.auth.key_passphrase_file
        )
        instance = await registry.instance_id(control)
        about = {"subject": request.subject, "vaults": list(request.vaults), "role": request.role.label}
        async with recorded(loaded, "token", "create", **about) as details:
            issued = await control.write(lambda tx: create_token(tx, ring, instance, request))
            details |= {"token": issued.id, "expires_at": issued.expires_at}
        return issued


def show_list(
    ctx: typer.Context,
    *,
    subject: Annotated[str | None, typer.Option(help="only those issued to this subject")] = None,
    as_json: Json = False,
) -> None:
    """List every token ever issued. The tokens themselves are never shown."""
    from server.cli.output import say_json, say_table
    from server.cli.runtime import load_settings, run_async

    records = run_async(_records(load_settings(ctx), subject))
    if as_json:
        say_json({"tokens": [_record_to_row(record) for record in records]})
        return
    rows = [
        (each.id, each.subject, each.role.label, ",".join(each.vaults), each.expires_at, each.revoked_at)
        for each in records
    ]
    say_table(("ID", "SUBJECT", "ROLE", "VAULTS", "EXPIRES", "REVOKED"), rows)


def _record_to_row(record: TokenRecord) -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(record), "role": record.role.label}


async def _records(loaded: LoadedSettings, subject: str | None) -> list[TokenRecord]:
    from auth.tokens import list_tokens
    from server.cli.runtime import open_control

    async with open_control(loaded) as control:
        return await control.read(lambda tx: list_tokens(tx, subject))


def revoke(
    ctx: typer.Context,
    token_id: Annotated[str | None, typer.Argument(metavar="ID", help="its id, as token list shows it")] = None,
    *,
    subject: Annotated[str | None, typer.Option(help="every token of this subject")] = None,
) -> None:
    """End a token, or every token of a subject. A running server refuses them within 5 seconds."""
    from server.cli.output import say
    from server.cli.runtime import load_settings, run_async
    from vaults.errors import InvalidArgument

    if (token_id is None) == (subject is None):
        raise InvalidArgument("ID", "or --subject is needed, not both")
    loaded = load_settings(ctx)
    if subject is not None:
        count = len(run_async(_revoke_all(loaded, subject)))
        say(f"{count} {'token' if count == 1 else 'tokens'} of {subject} {'is' if count == 1 else 'are'} revoked")
    elif token_id is not None:
        run_async(_revoke(loaded, token_id))
        say(f"token {token_id} is revoked")


async def _revoke_all(loaded: LoadedSettings, subject: str) -> list[TokenRecord]:
    from auth.tokens import revoke_subject
    from server.cli.admin_acts import recorded
    from server.cli.runtime import open_control

    async with open_control(loaded) as control, recorded(loaded, "token", "revoke", subject=subject):
        return await control.write(lambda tx: revoke_subject(tx, subject))


async def _revoke(loaded: LoadedSettings, token_id: str) -> None:
    from auth.tokens import revoke_token
    from server.administration.tokens import MAX_TOKEN_ID
    from server.cli.admin_acts import recorded
    from server.cli.runtime import open_control

    async with open_control(loaded) as control, recorded(loaded, "token", "revoke", token=token_id[:MAX_TOKEN_ID]):
        await control.write(lambda tx: revoke_token(tx, token_id))
