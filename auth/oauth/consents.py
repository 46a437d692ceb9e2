"""The table ``consents``: what somebody last let a client do, so that it need not be chosen again.

It opens nothing and saves no question: a client on somebody's machine cannot prove that it is the same one (RFC 8252
§8.6), so people are always asked, with their last answer filled in.
"""

from __future__ import annotations

from dataclasses import dataclass

from auth.one_time import rfc3339
from auth.roles import Role, parse_role
from vaults.db.sql import Reader, Writer


@dataclass(frozen=True, slots=True)
class Consent:
    """One answer. ``given_at`` is RFC 3339 UTC."""

    vault: str
    role: Role
    days: int
    given_at: str


def remember(writer: Writer, person: str, client: str, consent: Consent, now: float) -> None:
    """Keep an answer, over the last one for the same vault."""
    writer.run(
        "INSERT INTO consents (person, client, vault, role, days, given_at)"
        " VALUES (:person, :client, :vault, :role, :days, :at)"
        " ON CONFLICT (person, client, vault) DO UPDATE SET role = excluded.role, days = excluded.days,"
        " given_at = excluded.given_at",
        {
            "person": person,
            "client": client,
            "vault": consent.vault,
            "role": consent.role.label,
            "days": consent.days,
            "at": rfc3339(now),
        },
    )


def last_consents(reader: Reader, person: str, client: str) -> list[Consent]:
    """What somebody let a client do, latest first."""
    rows = reader.all(
        "SELECT vault, role, days, given_at FROM consents WHERE person = :person AND client = :client"
        " ORDER BY given_at DESC, vault",
        {"person": person, "client": client},
    )
    return [Consent(vault, parse_role(role), days, at) for vault, role, days, at in rows]


def forget(writer: Writer, person: str, client: str, vault: str) -> None:
    """Forget an answer."""
    values = {"person": person, "client": client, "vault": vault}
    writer.run("DELETE FROM consents WHERE person = :person AND client = :client AND vault = :vault", values)


def rename_vault(writer: Writer, old: str, new: str) -> None:
    """Have what was allowed for ``old`` be for ``new``."""
    writer.run("DELETE FROM consents WHERE vault = :new", {"new": new})
    writer.run("UPDATE consents SET vault = :new WHERE vault = :old", {"old": old, "new": new})


def remove_vault(writer: Writer, vault: str) -> None:
    """Forget what was allowed for a vault."""
    writer.run("DELETE FROM consents WHERE vault = :vault", {"vault": vault})
