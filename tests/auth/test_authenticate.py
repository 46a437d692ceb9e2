"""The chain with good tokens of both kinds, revoked ones (fault F 73) and remembered ones.

Covers auth.errors, auth.local_issuer.
"""

import time
from typing import Any

import jwt
import pytest

from auth.authenticate import CACHE_SIZE
from auth.grants import set_grant
from auth.keys import KeyRing
from auth.principal import LOCAL
from auth.roles import Role
from auth.tokens import TokenRequest, create_token, revoke_token
from tests.auth.forge import (
    CURVE,
    IDP,
    INSTANCE,
    OTHER,
    RSA,
    URN,
    Door,
    claims,
    local_claims,
    local_token,
    raw_token,
    signed,
)
from vaults.db.transactions import Transactions
from vaults.errors import VaultUnavailable

# --- good ones


async def test_a_local_token_gives_its_principal_and_caps(door: Door) -> None:
    issued = await local_token(door, vaults=("v1", "v2"), role=Role.READER, preset="notes")
    principal = await door(issued.token)
    assert (principal.subject, principal.issuer, principal.token_id) == ("alice", LOCAL, issued.id)
    assert (principal.token_vaults, principal.token_role, principal.preset) == ({"v1", "v2"}, Role.READER, "notes")
    assert (principal.scope_role, principal.lacks_scope) == (None, False)
    assert door.access_cache.current.role_in(principal, "v1") is Role.READER


async def test_a_star_token_has_no_cap_on_vaults(door: Door) -> None:
    assert (await door((await local_token(door, vaults=("*",))).token)).token_vaults is None


@pytest.mark.parametrize("typ", ["at+jwt", "AT+JWT", "application/at+jwt", "JWT", "jwt", None])
@pytest.mark.parametrize(("key", "algorithm"), [(RSA, "RS256"), (CURVE, "ES256")])
async def test_an_outside_token_gives_its_names_and_scopes(
    door: Door, key: Any, algorithm: str, typ: str | None
) -> None:
    payload = claims(email="a@b.c", email_verified=True, groups=["team", 7, "bad\n"])
    principal = await door(signed(payload, key, algorithm, typ=typ))
    assert (principal.issuer, principal.scope_role, principal.token_vaults) == (IDP, Role.WRITER, None)
    assert principal.names == {"alice", "sub:alice", "a@b.c", "email:a@b.c", "team", "group:team"}


@pytest.mark.parametrize("verified", [False, "true", 1, None, ...])
async def test_an_email_counts_only_when_the_issuer_says_it_is_verified(door: Door, verified: Any) -> None:
    principal = await door(signed(claims(email="boss@b.c", email_verified=verified)))
    assert principal.names == {"alice", "sub:alice"}


@pytest.mark.parametrize(
    ("change", "role", "lacks"),
    [
        ({"scope": "vault:read"}, Role.READER, False),
        ({"scope": "openid vault:admin"}, Role.ADMIN, False),
        ({"scope": ..., "scp": ["vault:write"]}, Role.WRITER, False),
        ({"scope": ..., "scp": "vault:read"}, Role.READER, False),
        ({"scope": "openid"}, None, True),
        ({"scope": ...}, None, True),
        ({"scope": ["vault:read", 7]}, Role.READER, False),
        ({"scope": {"vault:read": 1}}, None, True),
        ({"scope": "vault:*"}, None, True),
    ],
)
async def test_scopes_cap_and_their_absence_is_marked(door: Door, change: Any, role: Role | None, lacks: bool) -> None:
    principal = await door(signed(claims(**change)))
    assert (principal.scope_role, principal.lacks_scope) == (role, lacks)


async def test_scopes_need_not_be_there_where_the_operator_says_so(control: Transactions, ring: KeyRing) -> None:
    door = Door(control, ring, require_scope=False, groups_claim="roles")
    principal = await door(signed(claims(scope=..., roles="team")))
    assert (principal.scope_role, principal.lacks_scope) == (None, False)
    assert "group:team" in principal.names


# --- local tokens


@pytest.mark.parametrize(
    "change",
    [
        {"iss": "urn:strongroom:abd"},
        {"aud": "urn:strongroom:abd"},
        {"aud": [URN, "other"]},
        {"aud": [URN, "https://mem.example/v/v2/mcp"]},
        {"aud": ["https://mem.example/v/v1/mcp"]},
        {"aud": [URN, "https://mem.example/v/v1/mcp", "other"]},
        {"aud": [URN, "https://mem.example/v/v1/mcp"], "vaults": ["v1", "v2"]},
        {"aud": [URN, "https://mem.example/v/v1/mcp"], "vaults": 7},
        {"aud": ...},
        {"jti": ...},
        {"jti": 7},
        {"jti": ""},
        {"role": "owner"},
        {"role": ...},
        {"role": ["admin"]},
        {"vaults": ...},
        {"vaults": "v1"},
        {"vaults": [1]},
        {"preset": 7},
        {"sub": ...},
        {"header": {"typ": "JWT"}},
        {"header": {"typ": None}},
    ],
)
async def test_a_local_token_must_be_exactly_what_we_issue(door: Door, change: Any) -> None:
    issued = await local_token(door)
    assert await door.reason(local_claims(door, issued.token, **change)) in {
        "issuer",
        "audience",
        "claims",
        "malformed",
    }
    assert (await door(local_claims(door, issued.token))).token_id == issued.id


async def test_a_token_of_another_installation_is_refused(door: Door) -> None:
    issued = await local_token(door)
    payload = jwt.decode(issued.token, options={"verify_signature": False})
    assert (
        await door.reason(jwt.encode(payload, OTHER, "EdDSA", headers={"kid": door.ring.newest.kid, "typ": "at+jwt"}))
        == "signature"
    )


# --- 73: revocation


async def test_73_a_revoked_token_is_refused_on_the_next_request_although_remembered(door: Door) -> None:
    issued = await local_token(door)
    await door(issued.token)
    await door.access_cache.write(lambda w: revoke_token(w, issued.id))
    assert await door.reason(issued.token) == "revoked"


async def test_73_a_token_another_process_just_made_is_good_at_once(door: Door) -> None:
    request = TokenRequest("bob", ("v1",), Role.READER, 600)
    issued = await door.control.write(lambda w: create_token(w, door.ring, INSTANCE, request))
    assert (await door(issued.token)).subject == "bob"


async def test_73_a_lowered_role_holds_for_the_token_already_in_use(door: Door) -> None:
    issued = await local_token(door, role=Role.ADMIN)
    principal = await door(issued.token)
    await door.access_cache.write(lambda w: set_grant(w, "alice", LOCAL, "v1", Role.READER))
    assert door.access_cache.current.role_in(principal, "v1") is Role.READER


async def test_73_a_token_whose_row_is_gone_is_refused(door: Door) -> None:
    issued = await local_token(door)
    await door.access_cache.write(lambda w: w.run("DELETE FROM tokens"))
    assert await door.reason(issued.token) == "revoked"


async def test_when_grants_cannot_be_read_local_tokens_are_refused_as_unavailable(
    control: Transactions, ring: KeyRing
) -> None:
    door = Door(control, ring)
    issued = await control.write(lambda w: create_token(w, ring, INSTANCE, TokenRequest("a", ("v1",), Role.READER, 60)))
    with pytest.raises(VaultUnavailable):
        await door(issued.token)


# --- remembering


async def test_a_verified_token_is_remembered_for_thirty_seconds(door: Door) -> None:
    token = signed()
    for _ in range(3):
        await door(token)
    assert door.keys.asked == ["rsa"]
    door.clock.now += 30
    await door(token)
    assert door.keys.asked == ["rsa", "rsa"]


async def test_a_token_is_not_remembered_beyond_its_own_end(door: Door) -> None:
    now = int(time.time())
    short = signed(claims(exp=now + 10))
    await door(short)
    door.clock.now += 10
    await door(short)
    within_leeway = signed(claims(exp=now - 5, iat=now - 60))
    for _ in range(2):
        await door(within_leeway)
    assert door.keys.asked == ["rsa"] * 4
    assert len(door.authenticator._verified) == 1


async def test_refused_tokens_push_nobody_out_and_the_memory_is_bounded(door: Door) -> None:
    for number in range(5):
        await door.reason(raw_token({"alg": "RS256", "kid": "rsa"}, claims(sub=f"s{number}"), b"x"))
    assert not door.authenticator._verified
    principal = await door(signed())
    for number in range(CACHE_SIZE + 5):
        door.authenticator._remember(number.to_bytes(32, "big"), principal)
    assert len(door.authenticator._verified) == CACHE_SIZE


async def test_no_token_is_kept_as_text(door: Door) -> None:
    token = signed()
    await door(token)
    assert all(isinstance(key, bytes) and len(key) == 32 for key in door.authenticator._verified)
