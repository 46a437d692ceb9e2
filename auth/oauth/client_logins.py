"""The tables ``client_logins`` and ``refresh_tokens``: a client that somebody let in, as long as it stays so.

A login is one vault, one role, and a family of refresh tokens of which the newest is good. Each use makes the next; one
that comes again was copied, and nobody can say which of the two is the thief, so the login ends with all its tokens
(RFC 9700 §4.14.2). Access tokens are tokens like any other: they carry the login's id to end with it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

from auth.oauth import clients
from auth.oauth.login_terms import LoginTerms
from auth.one_time import digest_of, make_secret, rfc3339
from auth.roles import Role, parse_role
from vaults.db.sql import Reader, Writer

EndReason = Literal[
    "revoked", "withdrawn", "code_replayed", "refresh_reused", "reset", "disabled", "ended", "no_grant", "vault"
]  # fmt: skip
"""Why a login ended before its time: by the client, by the person; by theft; by an admin, alone or with all that their
person had open; for want of a grant; with the vault."""

KEPT_S = 30 * 86_400
"""Seconds a login that is over is kept, for people to see and for its refresh tokens to be noticed."""


@dataclass(frozen=True, slots=True)
class ClientLogin:
    """Times are RFC 3339 UTC. ``client_name``: as it calls itself."""

    id: str
    client: str
    client_name: str
    person: str
    vault: str
    role: Role
    resource: str | None
    created_at: str
    used_at: str
    expires_at: str
    ended_at: str | None

    def is_over(self, now: float) -> bool:
        """Whether it opens nothing any more."""
        return self.ended_at is not None or self.expires_at <= rfc3339(now)


@dataclass(frozen=True, slots=True)
class StoredRefreshToken:
    """One refresh token of a login. ``is_used``: it was exchanged for the next."""

    login: ClientLogin
    is_used: bool


def start(writer: Writer, login_id: str, terms: LoginTerms, now: float) -> str:
    """Begin a login; returns its first refresh token, which is seen only here."""
    start_unrenewed(writer, login_id, terms, now)
    return _next_refresh_token(writer, login_id, terms.client, now)


def start_unrenewed(writer: Writer, login_id: str, terms: LoginTerms, now: float) -> None:
    """Begin a login without refresh tokens. What is long over is cleared away."""
    writer.run(
        "DELETE FROM client_logins WHERE expires_at <= :bygone OR ended_at <= :bygone",
        {"bygone": rfc3339(now - KEPT_S)},
    )
    writer.run(
        "DELETE FROM tokens WHERE login IS NOT NULL AND expires_at <= :bygone", {"bygone": rfc3339(now - KEPT_S)}
    )
    writer.run(
        "INSERT INTO client_logins (id, client, person, vault, role, resource, created_at, used_at, expires_at)"
        " VALUES (:id, :client, :person, :vault, :role, :resource, :now, :now, :until)",
        {
            "id": login_id,
            "client": terms.client,
            "person": terms.person,
            "vault": terms.vault,
            "role": terms.role.label,
            "resource": terms.resource,
            "now": rfc3339(now),
            "until": rfc3339(now + terms.days * 86_400),
        },
    )


def find_refresh_token(reader: Reader, token: str) -> StoredRefreshToken | None:
    """A refresh token, used or not, whatever became of its login."""
    row = reader.one("SELECT login, used_at FROM refresh_tokens WHERE digest = :digest", {"digest": digest_of(token)})
    login = None if row is None else find(reader, row[0])
    return None if row is None or login is None else StoredRefreshToken(login, row[1] is not None)


def rotate(writer: Writer, token: str, login: ClientLogin, now: float) -> str | None:
    """Use a refresh token up for the next one; None where it was used meanwhile. Access tokens of the login that have
    run out are forgotten: there is a new one each hour."""
    used = writer.run(
        "UPDATE refresh_tokens SET used_at = :now WHERE digest = :digest AND used_at IS NULL",
        {"now": rfc3339(now), "digest": digest_of(token)},
    )
    if not used:
        return None
    values = {"id": login.id, "now": rfc3339(now)}
    writer.run("UPDATE client_logins SET used_at = :now WHERE id = :id", values)
    writer.run("DELETE FROM tokens WHERE login = :id AND expires_at <= :now", values)
    return _next_refresh_token(writer, login.id, login.client, now)


def end(writer: Writer, login_id: str, now: float, reason: EndReason) -> None:
    """End a login and every token of it; one that is over is left alone."""
    values = {"id": login_id, "now": rfc3339(now), "reason": reason}
    writer.run(
        "UPDATE client_logins SET ended_at = :now, end_reason = :reason WHERE id = :id AND ended_at IS NULL", values
    )
    writer.run("UPDATE tokens SET revoked_at = :now WHERE login = :id AND revoked_at IS NULL", values)


def end_all_of(writer: Writer, person: str, now: float, reason: EndReason) -> int:
    """End every login of somebody; returns how many there were."""
    return _end_each(writer, "person = :value", person, now, reason)


def find(reader: Reader, login_id: str) -> ClientLogin | None:
    """A login, over or not."""
    row = reader.one(f"{_SELECT} WHERE l.id = :id", {"id": login_id})
    return None if row is None else _login(row)


def list_logins(reader: Reader, person: str, now: float) -> list[ClientLogin]:
    """What somebody let in and is not over, latest used first."""
    rows = reader.all(
        f"{_SELECT} WHERE l.person = :person AND l.ended_at IS NULL AND l.expires_at > :now"
        " ORDER BY l.used_at DESC, l.id DESC",
        {"person": person, "now": rfc3339(now)},
    )
    return [_login(row) for row in rows]


def find_logins(reader: Reader, text: str, now: float, limit: int, offset: int = 0) -> tuple[list[ClientLogin], int]:
    """Some of what anybody let in and is not over, by people, clients or vaults with this text, latest used first, and
    how many there are in all."""
    where = "l.ended_at IS NULL AND l.expires_at > :now AND (" + " OR ".join(
        f"instr(lower({column}), lower(:text)) > 0" for column in ("l.person", "c.name", "l.vault")
    )
    values = {"text": text, "now": rfc3339(now)}
    rows = reader.all(
        f"{_SELECT} WHERE {where}) ORDER BY l.used_at DESC, l.id DESC LIMIT :limit OFFSET :offset",
        {**values, "limit": limit, "offset": offset},
    )
    found = reader.one(
        f"SELECT count(*) FROM client_logins l JOIN oauth_clients c ON c.id = l.client WHERE {where})", values
    )
    return [_login(row) for row in rows], 0 if found is None else int(found[0])


def login_of_token(reader: Reader, token_id: str) -> ClientLogin | None:
    """The login an access token belongs to."""
    row = reader.one("SELECT login FROM tokens WHERE id = :id AND login IS NOT NULL", {"id": token_id})
    return None if row is None else find(reader, row[0])


def rename_vault(writer: Writer, old: str, new: str) -> None:
    """Have logins for ``old`` be for ``new``."""
    writer.run("UPDATE client_logins SET vault = :new WHERE vault = :old", {"old": old, "new": new})


def remove_vault(writer: Writer, vault: str) -> None:
    """End every login for a vault."""
    _end_each(writer, "vault = :value", vault, time.time(), "vault")


def _end_each(writer: Writer, where: str, value: str, now: float, reason: EndReason) -> int:
    rows = writer.all(f"SELECT id FROM client_logins WHERE {where} AND ended_at IS NULL", {"value": value})
    for (login_id,) in rows:
        end(writer, login_id, now, reason)
    return len(rows)


def _next_refresh_token(writer: Writer, login_id: str, client: str, now: float) -> str:
    token = make_secret()
    writer.run(
        "INSERT INTO refresh_tokens (digest, login, made_at) VALUES (:digest, :login, :now)",
        {"digest": digest_of(token), "login": login_id, "now": rfc3339(now)},
    )
    clients.keep(writer, client, now)
    return token


_SELECT = (
    "SELECT l.id, l.client, c.name, l.person, l.vault, l.role, l.resource, l.created_at, l.used_at, l.expires_at,"
    " l.ended_at FROM client_logins l JOIN oauth_clients c ON c.id = l.client"
)


def _login(row: tuple[str, ...]) -> ClientLogin:
    login_id, client, name, person, vault, role, resource, created_at, used_at, expires_at, ended_at = row
    return ClientLogin(
        login_id, client, name, person, vault, parse_role(role), resource, created_at, used_at, expires_at, ended_at
    )
