"""The table ``device_codes``: a command asks, a person types its code in a browser, and the command looks whether they
did."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Literal

from auth.oauth.clients import plain_name
from auth.oauth.login_terms import LoginTerms
from auth.one_time import digest_of, make_secret, rfc3339
from auth.roles import parse_role
from vaults.db.sql import Reader, Writer

LIFE_S = 600
"""Seconds a command waits at most."""

INTERVAL_S = 5
"""Seconds between two looks of a command."""

OWN_CLIENT = "strongroom-login"
"""The one client there is without registration: our own command."""

_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
"""No vowels, so no words; nothing that looks like something else (RFC 8628 §6.1). Eight of them: 34 bits."""

DeviceState = Literal["pending", "allowed", "denied", "used"]


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """What waits for a person. ``asked_by``: where the command says it runs; ``address``: from where it asked."""

    user_code: str
    asked_by: str
    address: str
    resource: str | None


def ask(writer: Writer, asked_by: str, address: str, resource: str | None, now: float) -> tuple[str, str]:
    """A new device code, seen only here, and the code that a person types for it."""
    writer.run("DELETE FROM device_codes WHERE expires_at <= :now", {"now": rfc3339(now)})
    _keep_own_client(writer, now)
    device_code, letters = make_secret(), "".join(secrets.choice(_LETTERS) for _ in range(8))
    user_code = f"{letters[:4]}-{letters[4:]}"
    writer.run(
        "INSERT INTO device_codes (digest, user_code, asked_by, address, resource, expires_at)"
        " VALUES (:digest, :code, :by, :address, :resource, :until)",
        {
            "digest": digest_of(device_code),
            "code": user_code,
            "by": plain_name(asked_by),
            "address": address,
            "resource": resource,
            "until": rfc3339(now + LIFE_S),
        },
    )
    return device_code, user_code


def find_pending(reader: Reader, typed: str, now: float) -> DeviceRequest | None:
    """What a typed code is for, whatever its case and blanks; None for one that is unknown, decided or run out."""
    row = reader.one(
        "SELECT user_code, asked_by, address, resource FROM device_codes"
        " WHERE user_code = :code AND state = 'pending' AND expires_at > :now",
        {"code": spelled(typed), "now": rfc3339(now)},
    )
    return None if row is None else DeviceRequest(*row)


def decide(writer: Writer, user_code: str, terms: LoginTerms | None, now: float) -> bool:
    """Allow a command what ``terms`` say, or deny it (None); False where it waits no more."""
    values = {
        "code": user_code,
        "now": rfc3339(now),
        "state": "denied" if terms is None else "allowed",
        "person": terms and terms.person,
        "vault": terms and terms.vault,
        "role": terms and terms.role.label,
        "days": terms and terms.days,
    }
    return bool(
        writer.run(
            "UPDATE device_codes SET state = :state, person = :person, vault = :vault, role = :role, days = :days"
            " WHERE user_code = :code AND state = 'pending' AND expires_at > :now",
            values,
        )
    )


def find_state(reader: Reader, device_code: str, now: float) -> DeviceState | None:
    """How a command's wish stands; None for a code that is unknown or has run out."""
    state: DeviceState | None = reader.value(
        "SELECT state FROM device_codes WHERE digest = :digest AND expires_at > :now",
        {"digest": digest_of(device_code), "now": rfc3339(now)},
    )
    return state


def redeem(writer: Writer, device_code: str, now: float) -> LoginTerms | None:
    """What was allowed, once; None where nothing is, or is no more."""
    values = {"digest": digest_of(device_code), "now": rfc3339(now)}
    row = writer.one(
        "SELECT person, vault, role, days, resource FROM device_codes"
        " WHERE digest = :digest AND state = 'allowed' AND expires_at > :now",
        values,
    )
    if row is None:
        return None
    writer.run("UPDATE device_codes SET state = 'used' WHERE digest = :digest", values)
    person, vault, role, days, resource = row
    return LoginTerms(OWN_CLIENT, person, vault, parse_role(role), days, resource)


def spelled(typed: str) -> str:
    """A code as it is kept, from what somebody typed."""
    letters = "".join(each for each in typed.upper() if each in _LETTERS)
    return f"{letters[:4]}-{letters[4:]}"


def _keep_own_client(writer: Writer, now: float) -> None:
    writer.run(
        "INSERT INTO oauth_clients (id, name, redirect_uris, auth_method, created_at, expires_at)"
        " VALUES (:id, 'strongroom login', '[]', 'none', :now, '9999-12-31T00:00:00Z') ON CONFLICT (id) DO NOTHING",
        {"id": OWN_CLIENT, "now": rfc3339(now)},
    )
