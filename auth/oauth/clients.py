"""The table ``oauth_clients``: programs that registered themselves (RFC 7591).

Anybody can register one, so a client is nobody by itself: what it calls itself is shown as such, and it opens nothing
before a person lets it in. One nobody lets in is forgotten after a day.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal, get_args

from auth.oauth.redirects import check_redirect
from auth.one_time import rfc3339
from vaults.db.sql import Reader, Writer

UNUSED_S = 86_400
"""Seconds a client is kept that nobody lets in."""

USED_S = 180 * 86_400
"""Seconds a client is kept after it was last let in: longer than any login lasts."""

NAME_LIMIT = 80
REDIRECTS = 10
"""Redirect URIs of one client at most."""

AuthMethod = Literal["none", "client_secret_post", "client_secret_basic"]
_AUTH_METHODS: dict[str, AuthMethod] = {name: name for name in get_args(AuthMethod)}


@dataclass(frozen=True, slots=True)
class Client:
    """``name``: as it calls itself, "" for nothing. ``auth_method``: how it proves who it is at the token endpoint."""

    id: str
    name: str
    redirect_uris: tuple[str, ...]
    auth_method: AuthMethod


@dataclass(frozen=True, slots=True)
class ListedClient:
    """A client that is known. Times are RFC 3339 UTC. ``logins``: in how many vaults by how many people it is let in
    now."""

    client: Client
    created_at: str
    expires_at: str
    logins: int


def register(writer: Writer, client: Client, now: float) -> None:
    """Keep a new client, and forget those that ran out. Raises ``ValueError`` for redirects nobody may register."""
    _check_redirects(client)
    writer.run("DELETE FROM oauth_clients WHERE expires_at <= :now", {"now": rfc3339(now)})
    writer.run(_INSERT, _values(client, now))


def describe_again(writer: Writer, client: Client, now: float) -> None:
    """Keep a client as it is described now, whether it was known or not. Raises ``ValueError`` as ``register``."""
    _check_redirects(client)
    writer.run(
        f"{_INSERT} ON CONFLICT (id) DO UPDATE SET name = excluded.name, redirect_uris = excluded.redirect_uris,"
        " expires_at = CASE WHEN oauth_clients.expires_at > excluded.expires_at THEN oauth_clients.expires_at"
        " ELSE excluded.expires_at END",
        _values(client, now),
    )


_INSERT = (
    "INSERT INTO oauth_clients (id, name, redirect_uris, auth_method, created_at, expires_at)"
    " VALUES (:id, :name, :uris, :method, :at, :until)"
)


def _values(client: Client, now: float) -> dict[str, str]:
    return {
        "id": client.id,
        "name": plain_name(client.name),
        "uris": json.dumps(client.redirect_uris),
        "method": client.auth_method,
        "at": rfc3339(now),
        "until": rfc3339(now + UNUSED_S),
    }


def _check_redirects(client: Client) -> None:
    if not 1 <= len(client.redirect_uris) <= REDIRECTS:
        raise ValueError(f"a client has 1 to {REDIRECTS} redirect URIs")
    for uri in client.redirect_uris:
        check_redirect(uri)


def find(reader: Reader, client_id: str, now: float) -> Client | None:
    """The client of this id, unless it ran out."""
    row = reader.one(
        "SELECT id, name, redirect_uris, auth_method FROM oauth_clients WHERE id = :id AND expires_at > :now",
        {"id": client_id, "now": rfc3339(now)},
    )
    if row is None:
        return None
    return Client(row[0], row[1], tuple(json.loads(row[2])), _AUTH_METHODS[row[3]])


def find_clients(reader: Reader, text: str, now: float, limit: int, offset: int = 0) -> tuple[list[ListedClient], int]:
    """Some of the clients that call themselves so or have this text in their id, by name, and how many there are."""
    where = "c.expires_at > :now AND (instr(lower(c.name), lower(:text)) > 0 OR instr(lower(c.id), lower(:text)) > 0)"
    values = {"text": text, "now": rfc3339(now)}
    rows = reader.all(
        "SELECT c.id, c.name, c.redirect_uris, c.auth_method, c.created_at, c.expires_at,"
        " (SELECT count(*) FROM client_logins l WHERE l.client = c.id AND l.ended_at IS NULL AND l.expires_at > :now)"
        f" FROM oauth_clients c WHERE {where} ORDER BY c.name, c.id LIMIT :limit OFFSET :offset",
        {**values, "limit": limit, "offset": offset},
    )
    found = reader.one(f"SELECT count(*) FROM oauth_clients c WHERE {where}", values)
    return [
        ListedClient(Client(row[0], row[1], tuple(json.loads(row[2])), _AUTH_METHODS[row[3]]), *row[4:]) for row in rows
    ], 0 if found is None else int(found[0])


def auth_method_of(name: str | None) -> AuthMethod | None:
    """The method of this name; None: there is none."""
    return _AUTH_METHODS.get(name or "")


def keep(writer: Writer, client_id: str, now: float) -> None:
    """Put a client's end off: somebody lets it in."""
    values = {"id": client_id, "until": rfc3339(now + USED_S)}
    writer.run("UPDATE oauth_clients SET expires_at = :until WHERE id = :id AND expires_at < :until", values)


def plain_name(name: str) -> str:
    """What a client calls itself, without what changes how a line reads (controls, directions of writing)."""
    return " ".join("".join(each if each.isprintable() else " " for each in name).split())[:NAME_LIMIT]
