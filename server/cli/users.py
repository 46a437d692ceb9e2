"""``strongroom user …``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from auth.people.people import Person
    from auth.roles import Role
    from server.settings import LoadedSettings

Name = Annotated[str, typer.Argument(metavar="NAME", help="what they sign in as; grants and tokens name them so")]
Json = Annotated[bool, typer.Option("--json", help="print JSON, for programs")]


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(name="user", help="Let people sign in with a browser, or shut them out.", no_args_is_help=True)
    group.command("invite")(invite)
    group.command("list")(show_list)
    group.command("disable")(disable)
    group.command("reset")(reset)
    app.add_typer(group)


def invite(
    ctx: typer.Context,
    name: Name,
    *,
    vault: Annotated[
        list[str] | None, typer.Option(metavar="<str>", help="vault they get a grant for; repeat for more, '*' for all")
    ] = None,
    role: Annotated[Literal["reader", "writer", "admin"], typer.Option(help="what they may do there")] = "writer",
    as_json: Json = False,
) -> None:
    """Print a link by which somebody makes a passkey or sets a password, good once and for 24 hours. Asked again, it
    makes a new one."""
    from auth.roles import parse_role
    from server.cli.runtime import load_settings, run_async

    loaded = load_settings(ctx)
    url = _sign_in_url(loaded)
    secret = run_async(_invite(loaded, name, tuple(dict.fromkeys(vault or ())), parse_role(role)))
    _say_link(url, name, secret, as_json=as_json)


async def _invite(loaded: LoadedSettings, name: str, vaults: tuple[str, ...], role: Role) -> str:
    import time

    from server.administration import people
    from server.administration.vault_names import require_vaults
    from server.cli.admin_acts import recorded
    from server.cli.runtime import open_control

    async with open_control(loaded) as control:
        await control.read(lambda tx: require_vaults(tx, vaults))
        about: dict[str, Any] = {"subject": name, "vaults": list(vaults), "role": role.label if vaults else None}
        async with recorded(loaded, "user", "invite", **about):
            return await control.write(lambda tx: people.invite(tx, name, vaults, role, time.time()))


def reset(ctx: typer.Context, name: Name, as_json: Json = False) -> None:
    """Take somebody's password and passkeys away and print a new link. Ends their sessions and the programs they let
    in, and lets in again who was disabled."""
    from server.cli.runtime import load_settings, run_async

    loaded = load_settings(ctx)
    url = _sign_in_url(loaded)
    _say_link(url, name, run_async(_reset(loaded, name)), as_json=as_json)


async def _reset(loaded: LoadedSettings, name: str) -> str:
    import time

    from auth.people import accounts
    from server.cli.admin_acts import recorded
    from server.cli.runtime import open_control

    async with open_control(loaded) as control, recorded(loaded, "user", "reset", subject=name):
        return await control.write(lambda tx: accounts.reset(tx, name, time.time()))


def disable(ctx: typer.Context, name: Name) -> None:
    """Shut somebody out: ends their sessions, the programs they let in, and every token of that name. Grants stay. A
    running server follows within 5 seconds."""
    from server.cli.output import say
    from server.cli.runtime import load_settings, run_async

    run_async(_disable(load_settings(ctx), name))
    say(f"{name} cannot sign in any more; user reset lets them in again")


async def _disable(loaded: LoadedSettings, name: str) -> None:
    import time

    from auth.people import accounts
    from server.cli.admin_acts import recorded
    from server.cli.runtime import open_control

    async with open_control(loaded) as control, recorded(loaded, "user", "disable", subject=name):
        await control.write(lambda tx: accounts.disable(tx, name, time.time()))


def show_list(ctx: typer.Context, as_json: Json = False) -> None:
    """List who signs in."""
    from server.administration.people import state_of
    from server.cli.output import say_json, say_table
    from server.cli.runtime import load_settings, run_async

    everybody = run_async(_people(load_settings(ctx)))
    rows = [
        (each.name, state_of(each), each.created_at, each.disabled_at, each.invited_until, each.passkeys, each.provider)
        for each in everybody
    ]
    if as_json:
        names = ("name", "state", "created_at", "disabled_at", "link_until", "passkeys", "provider")
        say_json({"users": [dict(zip(names, row, strict=True)) for row in rows]})
    else:
        say_table(("NAME", "STATE", "SINCE", "DISABLED", "LINK UNTIL", "PASSKEYS", "THROUGH"), rows)


async def _people(loaded: LoadedSettings) -> list[Person]:
    from auth.people.people import list_people
    from server.cli.runtime import open_control

    async with open_control(loaded) as control:
        return await control.read(list_people)


def _sign_in_url(loaded: LoadedSettings) -> str:
    """Where people find the server. Raises ``InvalidArgument`` where nobody signs in to it."""
    from server.administration.people import require_sign_in
    from server.http.app import public_url
    from server.running_server import find_running_url

    settings = loaded.settings
    running = None if settings.auth.public_url else find_running_url(loaded.data)
    url = running or public_url(settings, settings.server.host, settings.server.port)
    require_sign_in(settings.auth, url)
    return url


def _say_link(url: str, name: str, secret: str, *, as_json: bool) -> None:
    from server.administration.people import link_of
    from server.cli.output import say, say_json, say_on_stderr

    link = link_of(url, secret)
    about: dict[str, Any] = {"name": name, "link": link}
    if as_json:
        say_json(about)
        return
    say_on_stderr(f"{name} makes a passkey or sets a password here, once and within 24 hours:")
    say(link)
