"""Links by which somebody sets a password: each is good once, for a day, and a new one ends the one before."""

from __future__ import annotations

from auth.one_time import digest_of, make_secret, rfc3339
from vaults.db.sql import Reader, Writer

LIFE_S = 86_400
"""Seconds a link is good for."""


def make_invite(writer: Writer, person: str, now: float) -> str:
    """The secret of a new link for somebody who is known. It is seen only here."""
    secret = make_secret()
    writer.run(
        "INSERT INTO invites (person, digest, created_at, expires_at) VALUES (:person, :digest, :at, :until)"
        " ON CONFLICT (person) DO UPDATE SET digest = excluded.digest, created_at = excluded.created_at,"
        " expires_at = excluded.expires_at",
        {"person": person, "digest": digest_of(secret), "at": rfc3339(now), "until": rfc3339(now + LIFE_S)},
    )
    return secret


def invited(reader: Reader, secret: str, now: float) -> str | None:
    """Whom a link is for; None alike for one that is used, replaced, run out or made up."""
    row = reader.one(
        "SELECT i.person FROM invites i JOIN people p ON p.name = i.person"
        " WHERE i.digest = :digest AND i.expires_at > :now AND p.disabled_at IS NULL",
        {"digest": digest_of(secret), "now": rfc3339(now)},
    )
    return None if row is None else str(row[0])


def drop_invite(writer: Writer, person: str) -> None:
    """End whatever link somebody has."""
    writer.run("DELETE FROM invites WHERE person = :person", {"person": person})
