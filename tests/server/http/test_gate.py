"""The gate as a client meets it: raw ASGI calls, real tokens, every refusal by status, header and code.

Covers server.http.request_head.
"""

import dataclasses
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser

from auth.grants import remove_grant
from auth.principal import LOCAL
from auth.roles import Role
from auth.tokens import revoke_token
from server.http.gate import Gate
from tests.server.http.house import IDP, LIMIT, METADATA, MODERN, House, open_house, outside
from tests.work import python_steps


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path) as made:
        yield made


# --- letting in


async def test_a_granted_caller_reaches_its_vault_with_its_role(house: House) -> None:
    issued = await house.token()
    assert (await house.call(token=issued.token)).status == 200
    admission = house.admission
    assert (admission.principal.subject, admission.vault, admission.role) == ("alice", "v1", Role.WRITER)
    assert house.bodies == [b"{}"]
    assert house.denied == []


async def test_the_sdk_gets_its_own_user_and_never_the_token(house: House) -> None:
    issued = await house.token()
    await house.call(token=issued.token)
    scope = house.reached[-1]
    user = scope["user"]
    assert isinstance(user, AuthenticatedUser)
    access = user.access_token
    assert (access.client_id, access.subject, access.claims) == (house.admission.principal.key, "alice", {"iss": LOCAL})
    assert scope["auth"].scopes == ["vault:read", "vault:write"]
    assert issued.token not in repr((scope["user"].access_token, scope["state"], scope["auth"]))


async def test_state_of_the_lifespan_stays_and_the_callers_scope_is_not_changed(house: House) -> None:
    issued = await house.token()
    state = {"pool": 1}
    await house.call(token=issued.token, state=state)
    assert house.reached[-1]["state"]["pool"] == 1
    assert state == {"pool": 1}


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "Bearer "])
async def test_72_the_scheme_is_read_in_any_case(house: House, scheme: str) -> None:
    issued = await house.token()
    answer = await house.call(headers=[("authorization", f"{scheme} {issued.token}")])
    assert answer.status == 200


async def test_mode_none_makes_every_caller_the_owner(house: House) -> None:
    house.policy = dataclasses.replace(house.policy, authenticator=None)
    assert (await house.call("/v/v2/mcp", token="whatever")).status == 200
    assert (house.admission.principal.issuer, house.admission.role) == ("loopback", Role.ADMIN)
    assert (await house.call("/v/v9/mcp")).status == 404
    assert (await house.call("/mcp")).status == 400


# --- 401


async def test_no_token_is_challenged_without_an_error(house: House) -> None:
    answer = await house.call()
    assert (answer.status, answer.code) == (401, "unauthorized")
    assert answer.headers["www-authenticate"] == f'Bearer scope="vault:read", resource_metadata="{METADATA}/v/v1/mcp"'
    assert house.reached == []
    assert house.denied == [(401, "missing")]


async def test_a_bad_token_is_challenged_with_invalid_token_whatever_is_wrong(house: House) -> None:
    issued = await house.token()
    await house.access_cache.write(lambda w: revoke_token(w, issued.id))
    answers = [
        await house.call(token=token)
        for token in ("x", issued.token, outside(aud="other"), outside(exp=1), outside()[:-4] + "AAAA", "a" * 9000)
    ]
    assert {answer.status for answer in answers} == {401}
    assert {answer.headers["www-authenticate"] for answer in answers} == {
        f'Bearer error="invalid_token", scope="vault:read", resource_metadata="{METADATA}/v/v1/mcp"'
    }
    assert len({answer.body for answer in answers}) == 1
    assert [reason for _, reason in house.denied] == [
        "malformed",
        "revoked",
        "audience",
        "expired",
        "signature",
        "too_large",
    ]
    assert house.reached == []


async def test_72_two_authorization_headers_are_nobody_even_when_both_are_good(house: House) -> None:
    one, two = (await house.token()).token, (await house.token("bob")).token
    for pair in ((one, two), (one, one)):
        answer = await house.call(headers=[("authorization", f"Bearer {token}") for token in pair])
        assert answer.status == 401
    answer = await house.call(token=one, headers=[("authorization", "Basic dTpw")])
    assert answer.status == 401
    assert house.reached == []


async def test_72_a_token_in_the_query_is_no_token(house: House) -> None:
    issued = await house.token()
    for query in (f"access_token={issued.token}", f"token={issued.token}"):
        answer = await house.call(query_string=query.encode())
        assert (answer.status, "error=" in answer.headers["www-authenticate"]) == (401, False)


@pytest.mark.parametrize("vault", ['a"b', "a\r\nX-Evil: 1", "ü", "..", "x" * 200, "a b", "%0a"])
async def test_a_strangers_path_cannot_break_out_of_the_challenge(house: House, vault: str) -> None:
    answer = await house.call(f"/v/{vault}/mcp")
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == f'Bearer scope="vault:read", resource_metadata="{METADATA}"'


async def test_without_a_token_existing_and_missing_vaults_are_challenged_alike(house: House) -> None:
    answers = [await house.call(f"/v/{vault}/mcp") for vault in ("v1", "v9")]
    assert answers[0].body == answers[1].body
    assert answers[0].headers["www-authenticate"].replace("v1", "v9") == answers[1].headers["www-authenticate"]


# --- 404: one and the same


@pytest.mark.parametrize(
    "path",
    [
        "/v/v2/mcp",
        "/v/v9/mcp",
        "/v/v3/mcp",
        "/v/V1/mcp",
        "/v/v1%20/mcp",
        "/v/ v1/mcp",
        "/v/../mcp",
        "/v//mcp",
        "/v/*/mcp",
        "/v/v1\x00/mcp",
    ],
)
async def test_a_foreign_missing_archived_or_malformed_vault_is_the_same_not_found(house: House, path: str) -> None:
    issued = await house.token()
    await house.grant("alice", "v3", Role.ADMIN)  # archived: granted, but not among the active vaults
    missing = await house.call("/v/no-such-vault/mcp", token=issued.token)
    answer = await house.call(path, token=issued.token)
    assert (answer.status, answer.code) == (404, "not_found")
    assert (answer.body, answer.headers) == (missing.body, missing.headers)
    assert house.reached == []


@pytest.mark.parametrize(
    "path", ["/v/v1/mcp/", "/v/v1", "/v/v1/mcp/x", "/x/v1/mcp", "/", "/mcp/", "//mcp", "/v/a/b/mcp", "/v/v1/mcp\n"]
)
async def test_any_other_address_is_not_found(house: House, path: str) -> None:
    issued = await house.token()
    assert (await house.call(path, token=issued.token)).code == "not_found"


async def test_a_star_grant_opens_every_existing_vault_and_no_other(house: House) -> None:
    issued = await house.token("root", "*", role=Role.ADMIN)
    assert (await house.call("/v/v2/mcp", token=issued.token)).status == 200
    for vault in ("v9", "*", ""):
        assert (await house.call(f"/v/{vault}/mcp", token=issued.token)).status == 404


async def test_a_token_for_one_vault_opens_no_other_its_subject_may_enter(house: House) -> None:
    issued = await house.token("alice", "v1")
    await house.grant("alice", "v2", Role.ADMIN)
    assert (await house.call("/v/v2/mcp", token=issued.token)).status == 404


async def test_73_a_grant_taken_away_closes_the_door_for_the_token_in_use(house: House) -> None:
    issued = await house.token()
    assert (await house.call(token=issued.token)).status == 200
    await house.access_cache.write(lambda w: remove_grant(w, "alice", LOCAL, "v1"))
    assert (await house.call(token=issued.token)).status == 404


async def test_73_an_archived_vault_closes_at_once(house: House) -> None:
    issued = await house.token()
    house.vaults.discard("v1")
    assert (await house.call(token=issued.token)).status == 404


async def test_an_outside_identity_needs_a_grant_of_its_own_issuer(house: House) -> None:
    await house.grant("carol", "v1", Role.ADMIN)  # the local carol
    assert (await house.call(token=outside())).status == 404
    await house.grant("carol", "v1", Role.ADMIN, IDP)
    assert (await house.call(token=outside())).status == 200
    assert house.admission.role is Role.READER


# --- /mcp


async def test_the_short_address_leads_to_the_only_vault(house: House) -> None:
    issued = await house.token("alice", "v1")
    assert (await house.call("/mcp", token=issued.token)).status == 200
    assert house.admission.vault == "v1"
    await house.grant("alice", "v2", Role.ADMIN)  # the token's vaults decide, not all of the subject's
    assert (await house.call("/mcp", token=issued.token)).status == 200


async def test_the_short_address_with_several_vaults_or_none_says_the_same_and_lists_nothing(house: House) -> None:
    two = await house.token("alice", "v1", "v2")
    none = await house.token("bob", "v9")
    answers = [await house.call("/mcp", token=issued.token) for issued in (two, none)]
    assert {(answer.status, answer.code) for answer in answers} == {(400, "invalid_argument")}
    assert answers[0].body == answers[1].body
    assert not any(vault in answers[0].body for vault in (b"v1", b"v2", b"v9"))
    assert (await house.call("/mcp")).headers["www-authenticate"].endswith(f'resource_metadata="{METADATA}/mcp"')


# --- host, origin, size, availability


@pytest.mark.parametrize(
    "hosts",
    [[], ["evil.example"], ["mem.example:8"], ["mem.example.evil"], ["mem.example", "evil.example"], ["localhost"]],
)
async def test_83_another_host_is_421_before_anything_is_looked_up(house: House, hosts: list[str]) -> None:
    house.policy = dataclasses.replace(house.policy, authenticator=None)
    answers = [await house.send(f"/v/{vault}/mcp", [("host", host) for host in hosts], b"{}") for vault in ("v1", "v9")]
    assert {(answer.status, answer.body) for answer in answers} == {(421, answers[0].body)}
    assert house.reached == []


@pytest.mark.parametrize("host", ["localhost:8700", "LOCALHOST:8700", "localhost:1", "Mem.Example"])
async def test_a_host_is_allowed_in_any_case_and_under_any_port_of_a_wildcard(house: House, host: str) -> None:
    issued = await house.token()
    headers = [("host", host), ("authorization", f"Bearer {issued.token}")]
    assert (await house.send("/v/v1/mcp", headers, b"{}")).status == 200


@pytest.mark.parametrize(
    "port", ["evil.com", "8700.evil.com", "evil@evil.com", "", "123456", "87:00", "8\xb2", "-1", " 80", "80\n", "*"]
)
async def test_83_a_wildcard_port_is_one_to_five_digits_and_nothing_else(house: House, port: str) -> None:
    issued = await house.token()
    house.policy = dataclasses.replace(house.policy, allowed_origins=("http://localhost:*",))
    token = ("authorization", f"Bearer {issued.token}")
    assert (await house.send("/v/v1/mcp", [("host", f"localhost:{port}"), token], b"{}")).status == 421
    origin = ("origin", f"http://localhost:{port}")
    assert (await house.send("/v/v1/mcp", [("host", "localhost:80"), token, origin], b"{}")).status == 403
    good = ("origin", "http://LocalHost:3000")
    assert (await house.send("/v/v1/mcp", [("host", "localhost:80"), token, good], b"{}")).status == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "", "https://app.example.evil", "http://app.example"]
)
async def test_83_another_origin_is_403(house: House, origin: str) -> None:
    issued = await house.token()
    answer = await house.call(token=issued.token, headers=[("origin", origin)])
    assert (answer.status, answer.code) == (403, "forbidden")
    assert not any(name.startswith("access-control") for name in answer.headers)
    assert (await house.call(token=issued.token, headers=[("origin", "https://app.example")])).status == 200


@pytest.mark.parametrize("length", [str(LIMIT + 1), "999999999999", "9" * 40, "-1", "1e3", "0x10", ""])
async def test_an_announced_body_over_the_limit_is_413_before_the_token_is_read(house: House, length: str) -> None:
    answer = await house.call(headers=[("content-length", length)])
    assert (answer.status, answer.code) == (413, "too_large")


async def test_an_unannounced_body_that_must_be_read_is_capped(house: House) -> None:
    await house.grant("carol", "v1", Role.ADMIN, IDP)
    answer = await house.call(token=outside(), body=[b" " * 400] * 4)
    assert answer.status == 413
    assert (await house.call(token=outside(), body=[b" " * 400] * 2)).status == 200


async def test_when_grants_cannot_be_read_everybody_gets_503(house: House) -> None:
    issued = await house.token()
    house.access_cache._fresh_at = None
    for token in (issued.token, outside()):
        answer = await house.call(token=token)
        assert (answer.status, answer.code, answer.headers["retry-after"]) == (503, "vault_unavailable", "5")
    assert house.reached == []


async def test_a_stalled_loop_refuses_nobody_and_still_sees_what_was_taken_away(tmp_path: Path) -> None:
    clock = _Clock()
    async with open_house(tmp_path, clock) as house:
        kept, gone = await house.token(), await house.token("bob")
        clock.now += 60  # the loop stood still: no poll could look
        assert (await house.call(token=kept.token)).status == 200
        await house.db.write(lambda w: revoke_token(w, gone.id))  # as another process would
        clock.now += 60
        assert (await house.call(token=gone.token)).status == 401
        assert (await house.call(token=kept.token)).status == 200


async def test_a_websocket_is_closed_and_the_lifespan_passes(house: House) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "lifespan.startup"}

    await Gate(house.app, house.policy)({"type": "websocket", "path": "/mcp"}, receive, send)
    assert sent == [{"type": "websocket.close", "code": 1008}]
    assert house.reached == []
    await Gate(house.app, house.policy)({"type": "lifespan"}, receive, send)
    assert house.reached == [{"type": "lifespan"}]


async def test_a_root_path_before_the_address_is_left_out(house: House) -> None:
    issued = await house.token()
    assert (await house.call("/team/v/v1/mcp", token=issued.token, root_path="/team")).status == 200
    assert (await house.call("/teamx/v/v1/mcp", token=issued.token, root_path="/team")).status == 404


async def test_no_answer_ever_repeats_the_token(house: House) -> None:
    secret = (await house.token("bob", "v2")).token
    for path in ("/v/v1/mcp", "/mcp", f"/v/{secret}/mcp"):
        answer = await house.call(path, token=secret)
        assert secret not in repr(answer)
    assert secret not in repr(house.denied)


async def test_the_way_of_a_known_caller_through_the_gate_is_short(house: House) -> None:
    issued = await house.token()
    gate = Gate(_nothing, house.policy)
    headers = [
        (b"host", b"mem.example"),
        (b"authorization", f"Bearer {issued.token}".encode()),
        (b"content-length", b"2"),
    ]
    headers += [(b"mcp-protocol-version", MODERN.encode()), (b"mcp-method", b"tools/call"), (b"mcp-name", b"recall")]
    headers += [(b"accept", b"application/json"), (b"content-type", b"application/json"), (b"user-agent", b"x")]
    scope = {"type": "http", "method": "POST", "path": "/v/v1/mcp", "headers": headers, "state": {}}

    def passed() -> None:
        with pytest.raises(StopIteration):  # it waits for nothing
            gate(scope, _no_receive, _no_send).send(None)

    passed()
    assert python_steps(passed) < 1_200  # 20-25 µs on a quiet machine


async def _nothing(scope: Any, receive: Any, send: Any) -> None:
    pass


async def _no_receive() -> Any:
    raise AssertionError


async def _no_send(message: Any) -> None:
    raise AssertionError(message)


class _Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now
