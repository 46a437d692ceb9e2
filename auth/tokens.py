"""Tokens issued here: signed JWTs, and the table ``tokens`` that knows their ids.

A token takes away from its subject's grants, it never adds: its vaults and role are caps. The token itself is
shown once and never stored; its id is, so that it can be revoked.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import uuid_utils

from auth.access import EVERY_VAULT
from auth.daily_usage import find_counted
from auth.grants import raise_grant
from auth.keys import KeyRing, SigningKey
from auth.principal import LOCAL, NAME_PREFIXES, is_name
from auth.roles import Role, parse_role
from auth.token_claims import ACCESS_TOKEN, TOKEN_LIMIT
from vaults.db.sql import Reader, Writer
from vaults.errors import InvalidArgument, NotFound

TTL_LIMIT_S = 3650 * 86_400


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """The token asked for."""

    subject: str
    vaults: tuple[str, ...]  # ``("*",)``: every vault
    role: Role
    ttl_s: int  # its life in seconds
    preset: str | None = None
    resource: str | None = None  # the address it was asked for (RFC 8707): named beside us as an audience


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new token, for whoever asked for it: the only time ``token`` is seen. Times are RFC 3339 UTC."""

    token: str
    id: str
    subject: str
    vaults: tuple[str, ...]
    role: Role
    expires_at: str


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """What is stored about a token. Times are RFC 3339 UTC."""

    id: str
    subject: str
    vaults: tuple[str, ...]
    role: Role
    preset: str | None
    created_at: str
    expires_at: str | None
    revoked_at: str | None

    def is_good(self, now: float) -> bool:
        """Whether it opens anything at ``now``, in seconds since 1970."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > _rfc3339(int(now)))


def instance_urn(instance_id: str) -> str:
    """Issuer and audience of this installation's tokens: no other installation accepts them as its own."""
    return f"urn:strongroom:{instance_id}"


def create_token(writer: Writer, ring: KeyRing, instance_id: str, request: TokenRequest) -> IssuedToken:
    """Issue a token and ensure that its subject has the grants it needs, all in one transaction."""
    issued = issue_token(writer, ring, instance_id, request)
    for vault in issued.vaults:
        raise_grant(writer, issued.subject, LOCAL, vault, issued.role)
    return issued


def issue_token(
    writer: Writer, ring: KeyRing, instance_id: str, request: TokenRequest, *, login: str | None = None
) -> IssuedToken:
    """Sign a token and store its id. It opens what its subject's grants open, and makes none. ``login``: the client
    login it ends with."""
    _check(request)
    now = int(time.time())
    issued = IssuedToken(
        token="",
        id=str(uuid_utils.uuid7()),
        subject=request.subject,
        vaults=tuple(dict.fromkeys(request.vaults)),
        role=request.role,
        expires_at=_rfc3339(now + request.ttl_s),
    )
    writer.run(
        "INSERT INTO tokens (id, subject, vaults, role, preset, created_at, expires_at, login)"
        " VALUES (:id, :subject, :vaults, :role, :preset, :created_at, :expires_at, :login)",
        {
            "id": issued.id,
            "subject": issued.subject,
            "vaults": json.dumps(issued.vaults),
            "role": issued.role.label,
            "preset": request.preset,
            "created_at": _rfc3339(now),
            "expires_at": issued.expires_at,
            "login": login,
        },
    )
    signed = _sign(ring.newest, instance_urn(instance_id), issued, request, now)
    return replace(issued, token=signed)


def revoke_token(writer: Writer, token_id: str) -> TokenRecord:
    """End a token for good; doing it again changes nothing. Raises ``NotFound`` for an unknown id."""
    writer.run(
        "UPDATE tokens SET revoked_at = :at WHERE id = :id AND revoked_at IS NULL",
        {"at": _rfc3339(int(time.time())), "id": token_id},
    )
    row = writer.one(f"{_SELECT} WHERE id = :id", {"id": token_id})
    if row is None:
        raise NotFound("there is no token with this id", hint="token list shows the ids")
    return _record(row)


def revoke_subject(writer: Writer, subject: str) -> list[TokenRecord]:
    """End every token of a subject that has not ended yet; returns these. Raises ``NotFound`` for a subject that was
    never given one."""
    tokens = list_tokens(writer, subject)
    if not tokens:
        raise NotFound(f"no token was issued to {subject}", hint="token list shows the subjects")
    now = _rfc3339(int(time.time()))
    living = [each for each in tokens if each.revoked_at is None and (each.expires_at is None or each.expires_at > now)]
    return [revoke_token(writer, each.id) for each in living]


def list_tokens(reader: Reader, subject: str | None = None) -> list[TokenRecord]:
    """Every token ever issued, or those of a subject, oldest first (ids are UUIDv7)."""
    which = "" if subject is None else " WHERE subject = :subject"
    return [_record(row) for row in reader.all(f"{_SELECT}{which} ORDER BY id", {"subject": subject})]


def find_tokens(
    reader: Reader, text: str, limit: int, offset: int = 0, *, alive_at: float | None = None
) -> tuple[list[TokenRecord], int]:
    """Some of the tokens with this text in their subject or id, newest first, and how many there are in all;
    ``alive_at``: only those that are good then."""
    where = "(instr(lower(subject), lower(:text)) > 0 OR instr(id, lower(:text)) > 0)"
    values: dict[str, Any] = {"text": text}
    if alive_at is not None:
        where += " AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now)"
        values["now"] = _rfc3339(int(alive_at))
    rows = reader.all(
        f"{_SELECT} WHERE {where} ORDER BY id DESC LIMIT :limit OFFSET :offset",
        {**values, "limit": limit, "offset": offset},
    )
    found = reader.one(f"SELECT count(*) FROM tokens WHERE {where}", values)
    return [_record(row) for row in rows], 0 if found is None else int(found[0])


def find_token(reader: Reader, token_id: str) -> TokenRecord | None:
    """The token of this id, good or not."""
    row = reader.one(f"{_SELECT} WHERE id = :id", {"id": token_id})
    return None if row is None else _record(row)


def rename_vault(writer: Writer, old: str, new: str) -> None:
    """Have every token that opens ``old`` open ``new``."""
    _change_lists(writer, old, lambda vaults: [new if each == old else each for each in vaults if each != new])


def remove_vault(writer: Writer, vault: str) -> None:
    """Take a vault out of every token's list; one that opened nothing else opens nothing from now on."""
    _change_lists(writer, vault, lambda vaults: [each for each in vaults if each != vault])


def _change_lists(writer: Writer, vault: str, change: Callable[[list[str]], list[str]]) -> None:
    for token_id, text in writer.all("SELECT id, vaults FROM tokens WHERE vaults <> :every", {"every": '["*"]'}):
        vaults = json.loads(text)
        if vault in vaults:
            values = {"id": token_id, "vaults": json.dumps(change(vaults))}
            writer.run("UPDATE tokens SET vaults = :vaults WHERE id = :id", values)


TOKEN_SEEN = "token:"  # noqa: S105  a prefix
"""Prefix of a token's id: names the counter of the days on which it was let in."""


def ending_tokens(reader: Reader, now: datetime, notice: timedelta) -> list[TokenRecord]:
    """Tokens in use that end within ``notice`` from ``now`` and were not replaced by one of the same subject, for the
    same vaults, that lasts longer. Those made for less time than ``notice`` are their maker's to renew, and those of a
    login their client's."""
    used = find_counted(reader, TOKEN_SEEN)
    used -= {token_id for (token_id,) in reader.all("SELECT id FROM tokens WHERE login IS NOT NULL")}
    alive = [each for each in list_tokens(reader) if each.revoked_at is None and each.expires_at is not None]
    return [each for each in alive if each.id in used and _is_ending(each, now, notice) and not _successor(each, alive)]


def _is_ending(token: TokenRecord, now: datetime, notice: timedelta) -> bool:
    ends, made = datetime.fromisoformat(token.expires_at or ""), datetime.fromisoformat(token.created_at)
    return now < ends <= now + notice and ends - made > notice


def _successor(token: TokenRecord, alive: Sequence[TokenRecord]) -> bool:
    """Whether another lasts longer. RFC 3339 times in UTC compare as text."""
    return any(
        each.subject == token.subject
        and (each.expires_at or "") > (token.expires_at or "")
        and (EVERY_VAULT in each.vaults or set(token.vaults) <= set(each.vaults))
        for each in alive
    )


def has_local_tokens(reader: Reader, subject: str) -> bool:
    """Whether this subject was ever given a token here: then a grant to it means the local subject."""
    return reader.one("SELECT 1 FROM tokens WHERE subject = :subject LIMIT 1", {"subject": subject}) is not None


_SELECT = "SELECT id, subject, vaults, role, preset, created_at, expires_at, revoked_at FROM tokens"


def _record(row: tuple[str, ...]) -> TokenRecord:
    token_id, subject, vaults, role, preset, created_at, expires_at, revoked_at = row
    return TokenRecord(
        id=token_id,
        subject=subject,
        vaults=tuple(json.loads(vaults)),
        role=parse_role(role),
        preset=preset,
        created_at=created_at,
        expires_at=expires_at,
        revoked_at=revoked_at,
    )


def _check(request: TokenRequest) -> None:
    if not is_name(request.subject) or request.subject.startswith(NAME_PREFIXES) or request.subject == EVERY_VAULT:
        raise InvalidArgument("subject", "must be a plain name of 1 to 255 printable characters")
    if not request.vaults or not all(is_name(vault) for vault in request.vaults):
        raise InvalidArgument("vault", "must be names of vaults, or '*'")
    if EVERY_VAULT in request.vaults and len(set(request.vaults)) > 1:
        raise InvalidArgument("vault", "must be either '*' or names, not both")
    if not 1 <= request.ttl_s <= TTL_LIMIT_S:
        raise InvalidArgument("ttl", "must lie between 1s and 3650d")


def _sign(key: SigningKey, urn: str, issued: IssuedToken, request: TokenRequest, now: int) -> str:
    claims: dict[str, Any] = {
        "iss": urn,
        "aud": urn if request.resource is None else [urn, request.resource],
        "sub": issued.subject,
        "jti": issued.id,
        "iat": now,
        "exp": now + request.ttl_s,
        "vaults": list(issued.vaults),
        "role": issued.role.label,
    }
    if request.preset is not None:
        claims["preset"] = request.preset
    token = jwt.encode(claims, key.private, algorithm="EdDSA", headers={"typ": ACCESS_TOKEN, "kid": key.kid})
    if len(token) > TOKEN_LIMIT:
        raise InvalidArgument("vault", "names more vaults than fit into one token; use a group of tokens or '*'")
    return token


def _rfc3339(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
