"""The table ``people``: who may sign in with a browser.

A person is a subject of the issuer ``local``, the same as the holder of a token of that name: grants say what they may
do. Being listed here opens nothing.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from auth.access import EVERY_VAULT
from auth.one_time import rfc3339
from auth.principal import LOCAL, NAME_PREFIXES, Principal, is_name, local_names
from vaults.db.sql import Reader, Writer
from vaults.errors import AlreadyExists, InvalidArgument, NotFound


@dataclass(frozen=True, slots=True)
class Person:
    """Times are RFC 3339 UTC. ``password``: as it is kept, None where none is set. ``invited_until``: of a link that
    was not used yet, which may be past. ``passkeys``: how many there are. ``handle``: by which they name their person,
    32 random bytes in hexadecimal. ``provider``: through which alone somebody signs in; None: here."""

    name: str
    password: str | None
    created_at: str
    disabled_at: str | None
    invited_until: str | None
    passkeys: int
    handle: str
    provider: str | None

    @property
    def has_way_in(self) -> bool:
        """Whether there is something to sign in with."""
        return self.password is not None or self.passkeys > 0 or self.provider is not None


def add(writer: Writer, name: str, now: float) -> None:
    """Add somebody who has no way in yet; one who is there without one is left alone. Raises ``InvalidArgument``,
    or ``AlreadyExists`` for who can sign in or is disabled."""
    if not is_name(name) or name.startswith(NAME_PREFIXES) or name == EVERY_VAULT:
        raise InvalidArgument("name", "must be a plain name of 1 to 255 printable characters")
    known = find(writer, name)
    if known is not None and (known.has_way_in or known.disabled_at is not None):
        raise AlreadyExists(f"{name} is known already", hint="user reset makes a new link")
    writer.run(
        "INSERT INTO people (name, created_at, handle) VALUES (:name, :at, :handle) ON CONFLICT (name) DO NOTHING",
        {"name": name, "at": rfc3339(now), "handle": secrets.token_hex(32)},
    )


def find(reader: Reader, name: str) -> Person | None:
    """Who is called so, exactly."""
    row = reader.one(f"{_SELECT} WHERE p.name = :name", {"name": name})
    return None if row is None else Person(*row)


def require(reader: Reader, name: str) -> Person:
    """Who is called so. Raises ``NotFound``."""
    person = find(reader, name)
    if person is None:
        raise NotFound(f"nobody called {name} signs in here", hint="user list shows who does")
    return person


def list_people(reader: Reader) -> list[Person]:
    """Everybody, by name."""
    return [Person(*row) for row in reader.all(f"{_SELECT} ORDER BY p.name")]


def find_people(reader: Reader, text: str, limit: int, offset: int = 0) -> tuple[list[Person], int]:
    """Some of those whose name has this text, by name, and how many there are in all."""
    has_text = "instr(lower(p.name), lower(:text)) > 0"
    values = {"text": text, "limit": limit, "offset": offset}
    rows = reader.all(f"{_SELECT} WHERE {has_text} ORDER BY p.name LIMIT :limit OFFSET :offset", values)
    found = reader.one(f"SELECT count(*) FROM people p WHERE {has_text}", {"text": text})
    return [Person(*row) for row in rows], 0 if found is None else int(found[0])


def is_enabled(reader: Reader, name: str) -> bool:
    """Whether somebody is known and not disabled."""
    return reader.one("SELECT 1 FROM people WHERE name = :name AND disabled_at IS NULL", {"name": name}) is not None


def set_password(writer: Writer, name: str, kept: str | None) -> None:
    """Change what is kept of a password; None: there is none any more."""
    writer.run("UPDATE people SET password = :kept WHERE name = :name", {"name": name, "kept": kept})


def set_disabled(writer: Writer, name: str, now: float | None) -> None:
    """Shut somebody out from ``now`` on, or let them in again (None)."""
    at = None if now is None else rfc3339(now)
    writer.run("UPDATE people SET disabled_at = :at WHERE name = :name", {"name": name, "at": at})


def principal_of(name: str) -> Principal:
    """A person as grants know them."""
    return Principal(subject=name, issuer=LOCAL, names=local_names(name))


_SELECT = (
    "SELECT p.name, p.password, p.created_at, p.disabled_at, i.expires_at,"
    " (SELECT count(*) FROM passkeys k WHERE k.person = p.name), p.handle,"
    " (SELECT o.provider FROM outside_identities o WHERE o.person = p.name)"
    " FROM people p LEFT JOIN invites i ON i.person = p.name"
)
