"""What follows a vault from server to server, and what counts for all servers together: sessions, claims, events, the
audit, rates."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from auth.principal import owner
from auth.roles import Role
from ops.audit.links import INSTALLATION
from ops.audit.searching import AuditQuery, search
from ops.audit.verification import verify
from server.call import Caller
from server.cli import admin_acts
from server.cli import audit as audit_commands
from server.cli import doctor as doctor_commands
from server.cluster.shared_rates import SharedRates
from server.settings import load
from tests.cluster.open_servers import OpenServer, OpenServers, open_servers
from tests.conftest import QUIET, Asking, asker
from vaults.vault_hosting import VaultElsewhere


def agent(server: OpenServer) -> Asking:
    """An agent that calls over HTTP, whose sessions a server that ends would pause on one machine."""
    return asker(server.services, Caller(owner("cli"), "main", Role.ADMIN, "http"))


async def hand_over(server: OpenServer) -> None:
    assert await server.cluster.held.hand_over(server.entry().vault_id, 5.0)


async def claimed(ask: Asking) -> list[str]:
    return [each["resource"] for each in (await ask("claims")).content["claims"]]


async def test_a_session_goes_on_at_the_next_holder_with_its_claims_and_events(servers: OpenServers) -> None:
    a, b = servers.opened
    handle = (await agent(a)("session_resume")).content["session"]["id"]
    assert (await agent(a)("claims", action="claim", resources=["src/db.ts"], session=handle)).ok
    assert (await agent(a)("remember", content="tea is at four", session=handle)).ok
    await hand_over(a)
    again = await agent(b)("session_resume", session=handle)
    assert (again.content["session"]["id"], again.content["session"]["status"]) == (handle, "active")
    assert await claimed(agent(b)) == ["src/db.ts"]
    async with b.services.pool.lease(b.entry()) as vault:
        await vault.activity_log.flush()
        tools = await vault.db.read(lambda tx: [name for (name,) in tx.all("SELECT tool FROM events ORDER BY seq")])
    assert list(dict.fromkeys(tools))[:3] == ["session_resume", "claims", "remember"]


async def test_a_call_without_a_handle_goes_on_with_its_session_at_the_next_holder(servers: OpenServers) -> None:
    a, b = servers.opened
    before = (await agent(a)("session_resume")).content["session"]["id"]
    await hand_over(a)
    assert (await agent(b)("session_resume")).content["session"]["id"] == before


async def test_a_server_that_ends_leaves_sessions_and_claims_to_the_next(servers: OpenServers) -> None:
    a, b = servers.opened
    handle = (await agent(a)("session_resume")).content["session"]["id"]
    assert (await agent(a)("claims", action="claim", resources=["src/db.ts"], session=handle)).ok
    servers.opened.remove(a)
    await a.end()
    assert await claimed(agent(b)) == ["src/db.ts"]
    (session,) = [each for each in (await agent(b)("session_history")).content["sessions"] if each["id"] == handle]
    assert session["status"] == "active"


async def test_who_listens_is_where_the_vault_is_and_not_for_longer(servers: OpenServers) -> None:
    a, b = (server.services for server in servers.opened)
    entry = servers.opened[0].entry()
    await a.begin_stream(entry)
    with pytest.raises(VaultElsewhere):
        await b.begin_stream(entry)
    assert (a.holds(entry.vault_id), b.holds(entry.vault_id)) == (True, False)
    await hand_over(servers.opened[0])
    await b.begin_stream(entry)
    assert (a.holds(entry.vault_id), b.holds(entry.vault_id)) == (False, True)


async def test_the_audit_of_a_vault_is_one_chain_whoever_holds_it(servers: OpenServers) -> None:
    a, b = servers.opened
    chain = a.entry().vault_id
    await agent(a)("remember", content="tea is at four")
    await hand_over(a)
    await agent(b)("remember", content="cake is at five")
    entries = await a.services.audit.chain(chain).read(
        lambda tx: [json.loads(body) for (body,) in tx.all("SELECT body FROM entries ORDER BY seq")]
    )
    assert [(each["seq"], each["tool"]) for each in entries if each["tool"] == "remember"] == [
        (1, "remember"),
        (2, "remember"),
    ]
    for server in (a, b):
        await server.services.audit.sign()
    for server in (a, b):
        reports = await verify(server.services.audit, [chain, INSTALLATION])
        assert [(each.ok, each.signed) for each in reports] == [(True, each.last) for each in reports]
        assert not (server.services.data / "audit").exists()


async def test_commands_record_in_the_audit_of_the_servers_and_check_it(servers: OpenServers, tmp_path: Path) -> None:
    a, _ = servers.opened
    await agent(a)("remember", content="tea is at four")
    await a.services.audit.sign()
    loaded = load(tmp_path / "command", flags={**QUIET, "cluster.url": servers.url}, environment={})
    async with admin_acts.recorded(loaded, "grant", "set", vault="main", subject="anna"):
        pass
    acts = await search(a.services.audit, INSTALLATION, AuditQuery(tool="grant"))
    assert [each.fields()["details"] for each in acts] == [{"subject": "anna"}]
    reports, names = await audit_commands._verify(loaded, None, installation=False)
    assert {names.get(each.chain, each.chain): each.faults for each in reports} == {"main": [], INSTALLATION: []}
    assert (await doctor_commands._shared_audit(loaded)).status == "ok"


@pytest.fixture
async def limited(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[OpenServers]:
    """Servers that tell each other what they counted when the test says so alone."""
    monkeypatch.setattr(SharedRates, "start", lambda _: None)
    flags = {"limits.calls_per_minute": 5}
    async with open_servers(tmp_path, url, **flags) as opened:
        yield opened


async def test_calls_of_one_caller_count_over_servers(limited: OpenServers) -> None:
    a, b = limited.opened
    for _ in range(3):
        assert (await agent(a)("status")).ok
    await exchange(a, b)
    answers = [await agent(b)("status") for _ in range(5)]
    assert [each.code for each in answers].count("rate_limited") == 3


async def exchange(*servers: OpenServer) -> None:
    for server in servers * 2:
        shared = server.services.shared_counts
        assert isinstance(shared, SharedRates)
        await shared.exchange_once()
