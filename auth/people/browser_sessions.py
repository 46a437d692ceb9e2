"""Browsers in which somebody is signed in: the cookie is a random secret, kept as its digest."""

from __future__ import annotations

from dataclasses import dataclass

import uuid_utils

from auth.one_time import digest_of, make_secret, rfc3339
from vaults.db.sql import Reader, Writer

LIFE_S = 7 * 86_400
"""Seconds after which somebody signs in again, whatever they did."""

IDLE_S = 12 * 3600
"""Seconds without a request after which a session is over."""

FRESH_S = 900
"""Seconds after signing in within which ways in may be added and taken away."""

SEEN_EVERY_S = 600
"""Seconds between two notes of when a session was last used: each is a write that other processes look at."""

BROWSER_LIMIT = 200
"""Characters kept of what a browser calls itself."""


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """Times are RFC 3339 UTC. ``id`` says which one to end, and opens nothing."""

    id: str
    person: str
    browser: str
    created_at: str
    seen_at: str
    expires_at: str


def start(writer: Writer, person: str, browser: str, now: float) -> str:
    """Begin one; returns the cookie's value, which is seen only here. What ran out is cleared away."""
    writer.run(
        "DELETE FROM browser_sessions WHERE expires_at <= :now OR seen_at <= :idle",
        {"now": rfc3339(now), "idle": rfc3339(now - IDLE_S)},
    )
    secret = make_secret()
    writer.run(
        "INSERT INTO browser_sessions (id, digest, person, browser, created_at, seen_at, expires_at)"
        " VALUES (:id, :digest, :person, :browser, :now, :now, :until)",
        {
            "id": str(uuid_utils.uuid7()),
            "digest": digest_of(secret),
            "person": person,
            "browser": "".join(each for each in browser if each.isprintable())[:BROWSER_LIMIT],
            "now": rfc3339(now),
            "until": rfc3339(now + LIFE_S),
        },
    )
    return secret


def find(reader: Reader, secret: str, now: float) -> BrowserSession | None:
    """The session of a cookie, unless it is over or its person is shut out."""
    row = reader.one(
        f"{_SELECT} WHERE s.digest = :digest AND {_ALIVE}",
        {"digest": digest_of(secret), "now": rfc3339(now), "idle": rfc3339(now - IDLE_S)},
    )
    return None if row is None else BrowserSession(*row)


def is_seen_long_ago(session: BrowserSession, now: float) -> bool:
    """Whether it is time for ``note_seen``."""
    return session.seen_at <= rfc3339(now - SEEN_EVERY_S)


def is_fresh(session: BrowserSession, now: float) -> bool:
    """Whether somebody proved just now who they are: a browser that was left open is not enough to add a way in."""
    return session.created_at >= rfc3339(now - FRESH_S)


def note_seen(writer: Writer, session_id: str, now: float) -> None:
    """Note that a session was used."""
    writer.run("UPDATE browser_sessions SET seen_at = :now WHERE id = :id", {"id": session_id, "now": rfc3339(now)})


def list_sessions(reader: Reader, person: str, now: float) -> list[BrowserSession]:
    """Where somebody is signed in, latest first."""
    rows = reader.all(
        f"{_SELECT} WHERE s.person = :person AND {_ALIVE} ORDER BY s.seen_at DESC, s.id DESC",
        {"person": person, "now": rfc3339(now), "idle": rfc3339(now - IDLE_S)},
    )
    return [BrowserSession(*row) for row in rows]


def end(writer: Writer, person: str, session_id: str) -> int:
    """End one of somebody's sessions, that of another person is left alone; returns how many ended."""
    return writer.run(
        "DELETE FROM browser_sessions WHERE id = :id AND person = :person", {"id": session_id, "person": person}
    )


def end_all(writer: Writer, person: str) -> int:
    """End every session of somebody; returns how many there were."""
    return writer.run("DELETE FROM browser_sessions WHERE person = :person", {"person": person})


_SELECT = (
    "SELECT s.id, s.person, s.browser, s.created_at, s.seen_at, s.expires_at"
    " FROM browser_sessions s JOIN people p ON p.name = s.person"
)
_ALIVE = "s.expires_at > :now AND s.seen_at > :idle AND p.disabled_at IS NULL"
