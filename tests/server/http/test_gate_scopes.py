"""The gate and scopes: step-up, and headers that say one thing over a body that says another."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from auth.roles import Role
from tests.server.http.house import IDP, METADATA, MODERN, House, open_house, outside, tool_call


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path) as made:
        yield made


# --- 403


async def test_an_outside_token_without_our_scopes_is_told_so_alike_for_every_vault(house: House) -> None:
    await house.grant("carol", "v1", Role.ADMIN, IDP)
    token = outside(scope="openid")
    bodies = set()
    for path in ("/v/v1/mcp", "/v/v9/mcp", "/mcp"):
        answer = await house.call(path, token=token)
        assert (answer.status, answer.code) == (403, "forbidden")
        assert answer.headers["www-authenticate"].startswith('Bearer error="insufficient_scope", scope="vault:read", ')
        bodies.add(answer.body)
    assert len(bodies) == 1


MODERN_CALL = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call")]


@pytest.mark.parametrize("modern", [True, False])
@pytest.mark.parametrize(
    ("grant", "scope", "tool", "needed"),
    [
        (Role.ADMIN, "vault:read", "recall", None),
        (Role.ADMIN, "vault:read", "remember", "vault:read vault:write"),
        (Role.ADMIN, "vault:read", "reindex", "vault:read vault:write vault:admin"),
        (Role.ADMIN, "vault:write", "reindex", "vault:read vault:write vault:admin"),
        (Role.ADMIN, "vault:write", "remember", None),
        (Role.ADMIN, "vault:admin", "reindex", None),
        (Role.WRITER, "vault:read", "reindex", None),  # the grant would not do: the tool must seem not to exist
        (Role.READER, "vault:read", "remember", None),
        (Role.ADMIN, "vault:read", "no_such_tool", None),
    ],
)
async def test_a_tool_beyond_the_scope_is_stepped_up_only_where_the_grant_would_do(
    house: House, modern: bool, grant: Role, scope: str, tool: str, needed: str | None
) -> None:
    await house.grant("carol", "v1", grant, IDP)
    headers = [*MODERN_CALL, ("mcp-name", tool)] if modern else []
    answer = await house.call(token=outside(scope=scope), body=tool_call(tool), headers=headers)
    if needed is None:
        assert answer.status == 200
        assert house.bodies == [tool_call(tool)]
    else:
        assert answer.status == 403
        assert answer.headers["www-authenticate"] == (
            f'Bearer error="insufficient_scope", scope="{needed}", resource_metadata="{METADATA}/v/v1/mcp"'
        )
        assert house.reached == []


@pytest.mark.parametrize(
    ("grant", "tool", "status"),
    [(Role.ADMIN, "recall", 200), (Role.ADMIN, "remember", 403), (Role.READER, "remember", 200)],
)
async def test_a_plain_call_is_stepped_up_by_the_tool_in_its_address_whatever_it_sends(
    house: House, grant: Role, tool: str, status: int
) -> None:
    await house.grant("carol", "v1", grant, IDP)
    headers = [*MODERN_CALL, ("mcp-name", "recall")]
    answer = await house.call(f"/v/v1/tools/{tool}", token=outside(), body=tool_call("recall"), headers=headers)
    assert answer.status == status
    if status == 403:
        assert f'resource_metadata="{METADATA}/v/v1/mcp"' in answer.headers["www-authenticate"]
        assert house.reached == []


async def test_a_token_for_one_vault_opens_its_plain_door_and_no_other(house: House) -> None:
    for vault in ("v1", "v2"):
        await house.grant("alice", vault, Role.WRITER)
    token = (await house.token("alice", "v1")).token
    for path in ("tools/recall", "openapi.json"):
        assert (await house.call(f"/v/v1/{path}", token=token)).status == 200
        assert (await house.call(f"/v/v2/{path}", token=token)).status == 404
        for other in (outside(aud="https://elsewhere.example"), outside(exp=1), "nonsense", None):
            assert (await house.call(f"/v/v1/{path}", token=other)).status == 401


@pytest.mark.parametrize(
    "headers",
    [
        [("mcp-method", "ping")],
        [("mcp-method", "tools/call"), ("mcp-name", "recall")],
        [("mcp-protocol-version", "2025-11-25"), ("mcp-method", "tools/call"), ("mcp-name", "recall")],
        [("mcp-protocol-version", "2025-11-25 "), ("mcp-method", "tools/call"), ("mcp-name", "recall")],
        [("mcp-protocol-version", MODERN), ("mcp-protocol-version", "2025-11-25"), ("mcp-method", "ping")],
        [("mcp-protocol-version", MODERN)],
        [("mcp-protocol-version", MODERN), ("mcp-method", "ping"), ("mcp-method", "tools/call")],
    ],
)
async def test_a_harmless_header_over_another_call_does_not_pass_where_nobody_compares(
    house: House, headers: Any
) -> None:
    await house.grant("carol", "v1", Role.ADMIN, IDP)
    answer = await house.call(token=outside(), body=tool_call("remember"), headers=headers)
    assert answer.status == 403


@pytest.mark.parametrize(
    "body",
    [
        [tool_call("remember")[:20], tool_call("remember")[20:]],
        [b"", tool_call("remember")],
        b"[" + tool_call("recall") + b"," + tool_call("remember") + b"]",
        b'{"method": "ping", "method": "tools/call", "params": {"name": "remember"}}',
    ],
)
async def test_a_call_in_pieces_in_a_batch_or_doubled_is_found(house: House, body: Any) -> None:
    await house.grant("carol", "v1", Role.ADMIN, IDP)
    assert (await house.call(token=outside(), body=body)).status == 403


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[" * 999,
        b"[]",
        b"[1, null]",
        b'{"method": "tools/call"}',
        tool_call(7),
        tool_call(["remember"]),
        b"\xff",
    ],
)
async def test_a_body_that_calls_nothing_is_handed_on_unchanged(house: House, body: bytes) -> None:
    await house.grant("carol", "v1", Role.ADMIN, IDP)
    assert (await house.call(token=outside(), body=body)).status == 200
    assert house.bodies == [body]


async def test_a_name_in_the_base64_form_is_decoded(house: House) -> None:
    await house.grant("carol", "v1", Role.ADMIN, IDP)
    headers = [*MODERN_CALL, ("mcp-name", "=?base64?cmVtZW1iZXI=?=")]
    assert (await house.call(token=outside(), headers=headers)).status == 403


async def test_a_local_token_is_never_stepped_up(house: House) -> None:
    issued = await house.token(role=Role.READER)
    assert (await house.call(token=issued.token, body=tool_call("reindex"))).status == 200
    assert house.admission.role is Role.READER


async def test_blanks_after_mcp_headers_are_stripped_and_others_kept(house: House) -> None:
    issued = await house.token()
    await house.call(token=issued.token, headers=[("mcp-name", " x \t"), ("x-other", "y ")])
    headers = dict(house.reached[-1]["headers"])
    assert (headers[b"mcp-name"], headers[b"x-other"]) == (b"x", b"y ")
