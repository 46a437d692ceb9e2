"""What an admin does to somebody, each in one transaction: a link, or the end of all that lets them in."""

from __future__ import annotations

from auth import tokens
from auth.oauth import client_logins
from auth.outside import identities
from auth.people import browser_sessions, invites, passkeys, people
from auth.people.passkeys import NewPasskey
from vaults.db.sql import Writer


def invite(writer: Writer, name: str, now: float) -> str:
    """Make a person known, who sets a password or makes a passkey by the link whose secret this returns. Raises
    ``InvalidArgument`` or ``AlreadyExists``."""
    people.add(writer, name, now)
    return invites.make_invite(writer, name, now)


def reset(writer: Writer, name: str, now: float) -> str:
    """Take somebody's password and passkeys away, and whatever they opened; the link whose secret this returns sets
    others. Who was disabled is so no more, and who came through a provider is of this server from now on. Raises
    ``NotFound``."""
    people.require(writer, name)
    people.set_password(writer, name, None)
    passkeys.remove_all(writer, name)
    identities.forget(writer, name)
    people.set_disabled(writer, name, None)
    _end_what_is_open(writer, name, now, "reset")
    return invites.make_invite(writer, name, now)


def disable(writer: Writer, name: str, now: float) -> None:
    """Shut somebody out: sessions, links, programs they let in, and every token of theirs. Grants stay, for the day
    they are let in again. Raises ``NotFound``."""
    people.require(writer, name)
    people.set_disabled(writer, name, now)
    invites.drop_invite(writer, name)
    _end_what_is_open(writer, name, now, "disabled")
    if tokens.has_local_tokens(writer, name):
        tokens.revoke_subject(writer, name)


def change_password(writer: Writer, name: str, kept: str) -> None:
    """Have somebody sign in with this from now on, everywhere anew; ``kept``: as ``passwords`` keeps it. Programs that
    were let in stay: they never saw the password."""
    people.set_password(writer, name, kept)
    invites.drop_invite(writer, name)
    browser_sessions.end_all(writer, name)


def take_passkey(writer: Writer, name: str, label: str, made: NewPasskey, now: float) -> None:
    """Have somebody sign in with a passkey made by a link; ``label``: what they call it. Raises ``AlreadyExists`` or
    ``QuotaExceeded``."""
    passkeys.add(writer, name, label, made, now)
    invites.drop_invite(writer, name)
    browser_sessions.end_all(writer, name)


def drop_passkey(writer: Writer, name: str, passkey_id: str) -> bool:
    """Take one of somebody's passkeys away, and end every session: it may have begun them. False where there is none
    of this id. Raises ``InvalidArgument`` where it is the only way in."""
    if not passkeys.remove(writer, name, passkey_id):
        return False
    browser_sessions.end_all(writer, name)
    return True


def _end_what_is_open(writer: Writer, name: str, now: float, reason: client_logins.EndReason) -> None:
    browser_sessions.end_all(writer, name)
    client_logins.end_all_of(writer, name, now, reason)
