"""``strongroom grant …``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from auth.grants import Grant
    from server.settings import LoadedSettings

Subject = Annotated[
    str, typer.Argument(metavar="SUBJECT", help="subject, e-mail or group; sub:…, email:… or group:… to say which")
]
VaultName = Annotated[str, typer.Argument(metavar="VAULT", help="a vault, or '*' for all")]
Issuer = Annotated[
    str | None, typer.Option(help="whose identity: an issuer's URL, or local; needed if there are several")
]


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(name="grant", help="Say what identities may do in vaults.", no_args_is_help=True)
    group.command("set")(set_one)
    group.command("list")(show_list)
    group.command("remove")(remove)
    app.add_typer(group)


def set_one(
    ctx: typer.Context,
    subject: Subject,
    vault: VaultName,
    role: Annotated[
        Literal["reader", "writer", "admin"],
        typer.Argument(metavar="ROLE", help="what it may do there"),
    ],
    issuer: Issuer = None,
) -> None:
    """Give exactly this role. A running server follows within 5 seconds."""
    from server.cli.output import say
    from server.cli.runtime import load_settings, run_async

    whose = run_async(_set(load_settings(ctx), subject, vault, role, issuer))
    say(f"{subject} ({whose}) is {role} of {vault}")


async def _set(loaded: LoadedSettings, subject: str, vault: str, role: str, issuer: str | None) -> str:
    from auth.grants import set_grant
    from auth.roles import parse_role
    from server.administration.grants import issuer_of
    from server.administration.vault_names import require_vaults
    from server.cli.admin_acts import recorded
    from server.cli.runtime import open_control

    async with open_control(loaded) as control:
        await control.read(lambda tx: require_vaults(tx, [vault]))
        issuers = loaded.settings.auth.issuer_urls
        whose = issuer if issuer is not None else await control.read(lambda tx: issuer_of(tx, issuers, subject))
        async with recorded(loaded, "grant", "set", vault=vault, subject=subject, issuer=whose, role=role):
            await control.write(lambda tx: set_grant(tx, subject, whose, vault, parse_role(role)))
    return whose


def show_list(
    ctx: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="print JSON, for programs")] = False
) -> None:
    """List every grant."""
    from server.cli.output import say_json, say_table
    from server.cli.runtime import load_settings, run_async

    grants = run_async(_grants(load_settings(ctx)))
    rows = [(each.subject, each.issuer, each.vault, each.role.label, each.created_at, each.source) for each in grants]
    if as_json:
        names = ("subject", "issuer", "vault", "role", "created_at", "source")
        say_json({"grants": [dict(zip(names, row, strict=True)) for row in rows]})
    else:
        say_table(("SUBJECT", "ISSUER", "VAULT", "ROLE", "SINCE", "BY GROUPS OF"), rows)


async def _grants(loaded: LoadedSettings) -> list[Grant]:
    from auth.grants import list_grants
    from server.cli.runtime import open_control

    async with open_control(loaded) as control:
        return await control.read(list_grants)


def remove(ctx: typer.Context, subject: Subject, vault: VaultName, issuer: Issuer = None) -> None:
    """Take a grant away. A running server follows within 5 seconds."""
    from server.cli.output import say
    from server.cli.runtime import load_settings, run_async

    whose = run_async(_remove(load_settings(ctx), subject, vault, issuer))
    say(f"{subject} ({whose}) has no grant for {vault} any more")


async def _remove(loaded: LoadedSettings, subject: str, vault: str, issuer: str | None) -> str:
    from auth.grants import remove_grant
    from server.administration.grants import issuer_of_grant
    from server.cli.admin_acts import recorded
    from server.cli.runtime import open_control

    async with open_control(loaded) as control:
        whose, issuers = issuer, loaded.settings.auth.issuer_urls
        if whose is None:
            whose = await control.read(lambda tx: issuer_of_grant(tx, issuers, subject, vault))
        async with recorded(loaded, "grant", "remove", vault=vault, subject=subject, issuer=whose):
            await control.write(lambda tx: remove_grant(tx, subject, whose, vault))
    return whose
