"""What the log says of an outside token that is refused: which check, whose, and what was found instead."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519

from auth.principal import principal_key
from auth.roles import Role
from tests.server.http.house import IDP, IDP_KEY, House, open_house, outside

CAROL = principal_key(IDP, "carol")


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path) as made:
        await made.grant("carol", "v1", Role.WRITER, IDP)
        yield made


def now() -> int:
    return int(time.time())


def signed(key: ed25519.Ed25519PrivateKey, kid: str) -> str:
    return jwt.encode(jwt.decode(outside(), options={"verify_signature": False}), key, "EdDSA", headers={"kid": kid})


@pytest.mark.parametrize(
    ("make", "status", "reason", "principal", "found"),
    [
        (lambda: outside(exp=now() - 600, iat=now() - 900), 401, "expired", CAROL, None),
        (lambda: outside(nbf=now() + 600), 401, "not_yet_valid", CAROL, None),
        (lambda: outside(aud=["account", "other"]), 401, "audience", CAROL, "account, other"),
        (lambda: outside(cnf={"jkt": "x"}), 401, "claims", CAROL, None),
        (lambda: outside(sub=7), 401, "claims", None, None),
        (lambda: outside(iss=f"{IDP}/"), 401, "issuer", None, f"{IDP}/"),
        (lambda: outside(iss="see <b>here</b>"), 401, "issuer", None, None),
        (lambda: signed(ed25519.Ed25519PrivateKey.generate(), "k"), 401, "signature", None, None),
        (lambda: signed(IDP_KEY, "rotated"), 401, "key", None, None),
        (lambda: "ya29.opaque", 401, "malformed", None, None),
        (lambda: outside(scope="openid"), 403, "scope", CAROL, None),
        (lambda: outside(sub="dave"), 404, "grant", principal_key(IDP, "dave"), None),
    ],
)
async def test_the_line_says_which_check_failed(
    house: House, make: Callable[[], str], status: int, reason: str, principal: str | None, found: str | None
) -> None:
    assert (await house.call(token=make())).status == status
    (line,) = house.lines
    assert (line.reason, line.status, line.principal, line.found) == (reason, status, principal, found)


async def test_a_tool_above_the_scopes_names_vault_and_caller(house: House) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remember"}}'
    assert (await house.call(token=outside(), body=body)).status == 403
    (line,) = house.lines
    assert (line.reason, line.principal, line.vault) == ("scope", CAROL, "v1")
