"""What the audit records of a call, and that a change waits for it.

Covers server.tools.audit.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from auth.principal import Principal, owner
from auth.roles import Role
from server.audited_calls import actor_of
from server.call import Caller
from server.dispatch import dispatch
from server.http.gate import Admission
from server.http.mcp_route import caller_of
from server.services import Services
from tests.conftest import Asking, Opening, asker, local
from vaults.db.connection import Database
from vaults.errors import StorageFull

ANA = Caller(local("ana"), "main", Role.ADMIN, "http", client="editor", address="192.0.2.7")


async def entries(services: Services, vault: str = "main") -> list[dict[str, Any]]:
    chain = services.audit.chain(services.registry_cache.entry(vault).vault_id)
    rows = await chain.read(lambda tx: tx.all("SELECT body FROM entries ORDER BY seq"))
    return [json.loads(body) for (body,) in rows]


async def grant(services: Services, subject: str, role: Role) -> None:
    row = (subject, "local", "main", role.label, "2026-01-01T00:00:00Z")
    await services.access_cache.write(lambda tx: tx.run("INSERT INTO grants VALUES (?, ?, ?, ?, ?)", row))


async def test_a_change_is_recorded_with_who_what_and_hashes(services: Services) -> None:
    await grant(services, "ana", Role.WRITER)
    ask = asker(services, ANA)
    stored = (await ask("remember", content="the harbour")).content["id"]
    await ask("note_write", path="a.md", content="one")
    await ask("note_move", path="a.md", to="b.md")
    first, second, third = await entries(services)
    expected = {
        "seq": 1, "kind": "call", "subject": "ana", "issuer": "local", "principal": local("ana").key, "role": "writer",
        "client": "editor", "address": "192.0.2.7", "transport": "http", "vault": "main", "tool": "remember",
        "outcome": "ok",
    }  # fmt: skip
    assert {name: first[name] for name in expected} == expected
    assert [each[:3] for each in first["changes"]] == [["memory", stored, None]]
    ((_, path, _, after),) = second["changes"]
    assert path == "a.md"
    assert third["targets"] == ["a.md", "b.md"]
    assert third["changes"] == [["note", "a.md", after, None], ["note", "b.md", None, after]]


async def test_reads_and_dry_runs_are_not_recorded_unless_reads_are(opening: Opening) -> None:
    async with opening() as services:
        ask = asker(services)
        await ask("recall", query="harbour")
        assert await entries(services) == []
    async with opening({"audit.reads": True, "audit.shown_ids": True}) as services:
        ask = asker(services)
        stored = (await ask("remember", content="the harbour")).content["id"]
        assert (await ask("recall", query="harbour")).ok
        wrote, read = await entries(services)
        assert (wrote["tool"], read["tool"], read["shown"]) == ("remember", "recall", [stored])
        assert "harbour" not in json.dumps(read)


async def test_what_was_refused_is_recorded_and_not_what_no_one_may_know(services: Services) -> None:
    await grant(services, "ana", Role.READER)
    ask = asker(services, ANA)
    assert (await ask("remember", content="x")).code == "forbidden"
    assert (await asker(services, Caller(local("eve"), "main", Role.ADMIN, "http"))("remember", content="x")).code
    assert [(each["subject"], each["outcome"]) for each in await entries(services)] == [("ana", "forbidden")]


async def test_what_failed_is_recorded_with_its_code_and_without_changes(services: Services) -> None:
    ask = asker(services)
    stored = (await ask("remember", content="x")).content["id"]
    assert (await ask("memory_forget", ids=[stored, "none"])).code == "not_found"
    failed = (await entries(services))[1]
    assert (failed["outcome"], failed["targets"]) == ("not_found", [stored, "none"])
    assert "changes" not in failed


async def test_a_call_that_changes_much_lists_the_first_and_a_hash_of_all(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaults.context.MAX_CHANGE_NOTES", 2)
    ask = asker(services)
    ids = [(await ask("remember", content=f"fact {n}")).content["id"] for n in range(3)]
    await ask("memory_forget", ids=ids)
    last = (await entries(services))[-1]
    assert ([each[1] for each in last["changes"]], last["changed"]) == (ids[:2], 3)
    assert len(last["changes_digest"]) == 64


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    state, write = {"full": False}, Database.write_uncounted

    async def write_or_fail(database: Database, work: Any) -> Any:
        if state["full"] and database.path.parent.name == "audit":
            raise StorageFull("the disk is full")
        return await write(database, work)

    monkeypatch.setattr(Database, "write_uncounted", write_or_fail)
    return state


async def test_changes_stop_while_it_cannot_be_written_and_reads_go_on(
    services: Services, ask: Asking, full: dict[str, bool]
) -> None:
    await ask("remember", content="before")
    full["full"] = True
    late = await ask("remember", content="unrecorded")
    assert (late.code, late.content["error"]["retryable"]) == ("audit_unavailable", False)
    assert late.content["error"]["details"]["done"] is True
    refused = await ask("remember", content="never")
    assert (refused.code, refused.content["error"]["retryable"]) == ("audit_unavailable", True)
    found = await ask("recall", query="before never unrecorded")
    assert sorted(each["content"] for each in found.content["hits"]) == ["before", "unrecorded"]
    full["full"] = False
    assert (await ask("remember", content="after")).ok
    assert [each["outcome"] for each in await entries(services)] == ["ok", "ok", "ok"]


async def test_a_call_whose_caller_hung_up_is_recorded(
    opening: Opening, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with opening() as services:
        began = asyncio.Event()

        async def wait(*_: Any) -> Any:
            began.set()
            await asyncio.Event().wait()

        monkeypatch.setattr("server.dispatch._run", wait)
        calling = asyncio.create_task(dispatch(services, ANA_OWNER, "remember", {"content": "x"}))
        await began.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
    monkeypatch.undo()
    async with opening() as services:
        assert [each["outcome"] for each in await entries(services)] == ["cancelled"]


ANA_OWNER = Caller(owner("cli"), "main", Role.ADMIN, "cli")


async def test_a_failure_inside_is_recorded_as_one(services: Services, ask: Asking, monkeypatch: Any) -> None:
    async def fail(*_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr("server.dispatch._run", fail)
    assert (await ask("remember", content="x")).code == "internal"
    monkeypatch.undo()
    assert [each["outcome"] for each in await entries(services)] == ["internal"]


async def test_an_admin_searches_and_checks_the_vaults_own_chain(opening: Opening) -> None:
    async with opening(vaults=("main", "other")) as services:
        ask = asker(services)
        stored = (await ask("remember", content="x")).content["id"]
        await ask("memory_forget", ids=[stored])
        other = asker(services, Caller(owner("cli"), "other", Role.ADMIN, "cli"))
        await other("remember", content="y")
        found = (await ask("audit", id=stored)).content["entries"]
        assert [(each["what"], each["outcome"]) for each in found] == [("memory_forget", "ok"), ("remember", "ok")]
        assert [each["seq"] for each in (await ask("audit", limit=1)).content["entries"]] == [2]
        assert [each["seq"] for each in (await ask("audit", before=2)).content["entries"]] == [1]
        assert len((await other("audit")).content["entries"]) == 1
        state = (await ask("audit", action="verify")).content["chain"]
        assert (state["ok"], state["entries"], state["last"]) == (True, 2, 2)
        wrong = await ask("audit", since="soon")
        assert wrong.code == "invalid_argument"


async def test_an_archived_vault_stands_in_the_installations_chain(opening: Opening) -> None:
    async with opening(vaults=("main", "spare")) as services:
        ask = asker(services)
        assert (await ask("vaults", action="create", name="more", confirmed=True)).ok
        assert (await ask("vaults", action="archive", name="spare", confirmed=True)).ok
        chain = services.audit.chain("installation")
        rows = await chain.read(lambda tx: tx.all("SELECT body FROM entries ORDER BY seq"))
        said = [json.loads(body) for (body,) in rows]
        assert [(each["tool"], each["action"], each["vault"]) for each in said] == [
            ("vault", "create", "more"),
            ("vault", "archive", "spare"),
        ]


def test_over_http_the_address_is_that_of_the_connection(services: Services) -> None:
    state = {"admission": Admission(local("ana"), "main", Role.READER)}
    scope = {"state": state, "query_string": b"", "headers": [], "client": ("192.0.2.7", 4711)}
    assert caller_of(scope, services).address == "192.0.2.7"


def test_a_token_of_an_outside_issuer_is_named_as_that_issuer_does() -> None:
    principal = Principal("ann", "https://id.example.org", frozenset(), foreign_token_id="jti-1")
    assert actor_of(Caller(principal, "main", Role.READER, "http")).token_id == "jti-1"
