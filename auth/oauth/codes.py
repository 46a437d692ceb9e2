"""The table ``authorization_codes``: what a client is sent back with, and exchanges for tokens once, within a minute.

A code that comes twice was stolen, before or after: the login it started ends (RFC 9700 §4.2.4)."""

from __future__ import annotations

from dataclasses import dataclass

import uuid_utils

from auth.oauth.login_terms import LoginTerms
from auth.one_time import digest_of, make_secret, rfc3339
from auth.roles import parse_role
from vaults.db.sql import Reader, Writer

LIFE_S = 60
"""Seconds a code is good for: a client is sent back with it and uses it at once."""

KEPT_S = 86_400
"""Seconds a used code is remembered, to notice that it comes again."""


@dataclass(frozen=True, slots=True)
class CodeRequest:
    """What somebody allowed. ``redirect_named``: the client's request named the redirect. ``challenge``: of PKCE."""

    terms: LoginTerms
    redirect_uri: str
    redirect_named: bool
    challenge: str


@dataclass(frozen=True, slots=True)
class StoredCode:
    """A code as it is kept. ``login``: the id of the login it starts. Times are RFC 3339 UTC."""

    digest: str
    login: str
    asked: CodeRequest
    expires_at: str
    used_at: str | None


def make_code(writer: Writer, asked: CodeRequest, now: float) -> str:
    """A new code. It is seen only here."""
    writer.run("DELETE FROM authorization_codes WHERE expires_at <= :bygone", {"bygone": rfc3339(now - KEPT_S)})
    code = make_secret()
    writer.run(
        "INSERT INTO authorization_codes (digest, login, client, person, vault, role, days, redirect_uri, named,"
        " challenge, resource, expires_at) VALUES (:digest, :login, :client, :person, :vault, :role, :days, :uri,"
        " :named, :challenge, :resource, :until)",
        {
            "digest": digest_of(code),
            "login": str(uuid_utils.uuid7()),
            "client": asked.terms.client,
            "person": asked.terms.person,
            "vault": asked.terms.vault,
            "role": asked.terms.role.label,
            "days": asked.terms.days,
            "uri": asked.redirect_uri,
            "named": int(asked.redirect_named),
            "challenge": asked.challenge,
            "resource": asked.terms.resource,
            "until": rfc3339(now + LIFE_S),
        },
    )
    return code


def find(reader: Reader, code: str, client: str) -> StoredCode | None:
    """A client's code, used or not; another client's does not exist for it."""
    row = reader.one(
        "SELECT digest, login, client, person, vault, role, days, redirect_uri, named, challenge, resource, expires_at,"
        " used_at FROM authorization_codes WHERE digest = :digest AND client = :client",
        {"digest": digest_of(code), "client": client},
    )
    if row is None:
        return None
    digest, login, client_id, person, vault, role, days, uri, named, challenge, resource, expires_at, used_at = row
    terms = LoginTerms(client_id, person, vault, parse_role(role), days, resource)
    asked = CodeRequest(terms, uri, bool(named), challenge)
    return StoredCode(digest, login, asked, expires_at, used_at)


def use(writer: Writer, code: StoredCode, now: float) -> bool:
    """Use a code up; False where it was before, or has run out."""
    return bool(
        writer.run(
            "UPDATE authorization_codes SET used_at = :now"
            " WHERE digest = :digest AND used_at IS NULL AND expires_at > :now",
            {"digest": code.digest, "now": rfc3339(now)},
        )
    )
