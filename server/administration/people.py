"""People who sign in with a browser: inviting them, and the link they come in by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from auth.grants import raise_grant
from auth.people import accounts
from auth.people.people import Person
from auth.principal import LOCAL
from auth.roles import Role
from auth.settings import AuthSettings, has_local_login
from vaults.db.sql import Writer
from vaults.errors import InvalidArgument

PersonState = Literal["invited", "active", "disabled"]


def require_sign_in(settings: AuthSettings, url: str) -> None:
    """Raise ``InvalidArgument`` where nobody signs in to the server that people find at ``url``: a link would lead
    nowhere."""
    try:
        signs_in = has_local_login(settings, url)
    except ValueError as failure:
        raise InvalidArgument("auth.login", str(failure)) from None
    if not signs_in:
        reason = f"people do not sign in to this server, at {url}; it must be local, at https or a loopback address"
        raise InvalidArgument("auth.login", reason)


def invite(writer: Writer, name: str, vaults: Iterable[str], role: Role, now: float) -> str:
    """Make somebody known, with at least this role in each of the vaults; returns the secret of their link. Raises
    ``InvalidArgument`` or ``AlreadyExists``."""
    secret = accounts.invite(writer, name, now)
    for vault in vaults:
        raise_grant(writer, name, LOCAL, vault, role)
    return secret


def link_of(url: str, secret: str) -> str:
    """The address by which somebody makes a passkey or sets a password, once."""
    return f"{url}/oauth/invite?link={secret}"


def state_of(person: Person) -> PersonState:
    """How far somebody has come."""
    if person.disabled_at is not None:
        return "disabled"
    return "active" if person.has_way_in else "invited"
