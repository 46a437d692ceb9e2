"""What the audit records of a call, and that a change waits for it.

Covers server.tools.audit.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import pwd
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from auth.principal import Principal, owner
from auth.roles import Role
from ops.audit import chain_rows
from ops.audit.export_formats import to_csv_row, to_line
from ops.audit.syslog import to_message
from server.audited_calls import actor_of, os_user
from server.call import Caller
from server.dispatch import dispatch
from server.http.gate import Admission
from server.http.http_caller import caller_of
from server.local_attempt import watching_attempt
from server.services import Services
from tests.conftest import Asking, Opening, asker, local
from tests.ops.audit.chains import FullDisk
from tests.people import give_role
from vaults.change_notes import ChangeNotes
from vaults.context import CallContext, bind_call
from vaults.db import connection
from vaults.vault_hosting import VaultElsewhere

ANA = Caller(local("ana"), "main", Role.ADMIN, "http", client="editor", address="192.0.2.7")


async def entries(services: Services, vault: str = "main") -> list[dict[str, Any]]:
    chain = services.audit.chain(services.registry_cache.entry(vault).vault_id)
    rows = await chain.read(lambda tx: tx.all("SELECT body FROM entries ORDER BY seq"))
    return [json.loads(body) for (body,) in rows]


async def grant(services: Services, subject: str, role: Role) -> None:
    await give_role(services, subject, role)


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


async def test_a_call_that_is_made_elsewhere_is_recorded_there_alone(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(*_: object) -> None:
        raise VaultElsewhere("b", "10.0.0.2:8700")

    monkeypatch.setattr(services.pool, "_slot", gone)
    with watching_attempt() as attempt:
        assert (await asker(services)("remember", content="the harbour")).code == "vault_unavailable"
    assert attempt.did_nothing
    assert await entries(services) == []
    await asker(services)("remember", content="the harbour")  # nobody passes it on: this is what became of it
    assert [each["outcome"] for each in await entries(services)] == ["vault_unavailable"]


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
    monkeypatch.setattr("vaults.change_notes.MAX_CHANGE_NOTES", 2)
    ask = asker(services)
    ids = [(await ask("remember", content=f"fact {n}")).content["id"] for n in range(3)]
    await ask("memory_forget", ids=ids)
    last = (await entries(services))[-1]
    assert ([each[1] for each in last["changes"]], last["changed"]) == (ids[:2], 3)
    assert last["changes_digest"].startswith("k:")


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> FullDisk:
    return FullDisk(monkeypatch)


async def test_changes_stop_while_it_cannot_be_written_and_reads_go_on(
    services: Services, ask: Asking, disk: FullDisk
) -> None:
    await ask("remember", content="before")
    disk.on = True
    late = await ask("remember", content="unrecorded")
    assert (late.code, late.content["error"]["retryable"]) == ("audit_unavailable", False)
    assert late.content["error"]["details"]["done"] is True
    refused = await ask("remember", content="never")
    assert (refused.code, refused.content["error"]["retryable"]) == ("audit_unavailable", True)
    found = await ask("recall", query="before never unrecorded")
    assert sorted(each["content"] for each in found.content["hits"]) == ["before", "unrecorded"]
    disk.on = False
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
LIMIT_S = 1234.5
"""Seconds that no call takes, and that no other time limit is."""


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


class HeldWrites:
    """Nobody hears of changes that are committed until they are let go; ``begun`` tells that there is one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.let_go, self._loop = asyncio.Event(), threading.Event(), asyncio.get_running_loop()
        self._commit = connection._commit_group
        monkeypatch.setattr(connection, "_commit_group", self._hold)

    def _hold(self, writer: Any, group: Any, log: Any) -> Any:
        outcomes = self._commit(writer, group, log)
        if any(each.changes for each in group):
            self._loop.call_soon_threadsafe(self.begun.set)
            assert self.let_go.wait(30)
        return outcomes


async def test_what_a_call_changed_after_its_caller_hung_up_is_recorded(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opening() as services:
        held = HeldWrites(monkeypatch)
        calling = asyncio.create_task(dispatch(services, ANA_OWNER, "remember", {"content": "x"}))
        await held.begun.wait()
        calling.cancel()
        await asyncio.wait({calling})
        held.let_go.set()
    monkeypatch.undo()
    async with opening() as services:
        (said,) = await entries(services)
        (stored,) = (await asker(services)("memory_list")).content["memories"]
        assert said["outcome"] == "cancelled"
        assert [each[:3] for each in said["changes"]] == [["memory", stored["id"], None]]


async def test_what_a_call_changed_after_its_time_ran_out_is_recorded(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits, timeout = list[asyncio.Timeout](), asyncio.timeout

    def noted(delay: float | None) -> asyncio.Timeout:
        made = timeout(delay)
        if delay == LIMIT_S:
            limits.append(made)
        return made

    async with opening({"server.call_timeout_s": LIMIT_S}) as services:
        held = HeldWrites(monkeypatch)
        monkeypatch.setattr("server.dispatch.asyncio.timeout", noted)
        calling = asyncio.create_task(dispatch(services, ANA_OWNER, "remember", {"content": "x"}))
        await held.begun.wait()
        (limit,) = limits
        limit.reschedule(asyncio.get_running_loop().time())  # its time runs out while it writes, and not before
        outcome = await calling
        held.let_go.set()
    monkeypatch.undo()
    assert outcome.code == "timeout"
    async with opening() as services:
        (said,) = await entries(services)
        assert (said["outcome"], len(said["changes"])) == ("timeout", 1)


async def test_a_change_whose_answer_failed_is_owed_on_a_full_disk(
    services: Services, ask: Asking, disk: FullDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ask("remember", content="before")

    async def fail(*_: Any) -> None:
        disk.on = True
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr("server.dispatch.rendering.render", fail)
        assert (await ask("remember", content="made all the same")).code == "internal"
    disk.on = False
    await ask("remember", content="after")
    assert [(each["outcome"], len(each["changes"])) for each in await entries(services)] == [
        ("ok", 1), ("internal", 1), ("ok", 1),
    ]  # fmt: skip


async def test_what_the_vault_does_meanwhile_is_no_change_of_the_call(services: Services) -> None:
    changes, done = ChangeNotes(), asyncio.Event()
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:

        async def work() -> None:
            await vault.db.write(lambda tx: tx.note_change("memory archived", "m", "a", "a"))
            done.set()

        with bind_call(CallContext("ana", "v", math.inf, changes=changes)):
            vault.background.run_follow_up(work)
            await vault.db.write(lambda tx: tx.note_change("note", "a.md", None, "1"))
            await asyncio.wait_for(done.wait(), 30)
    assert [each.kind for each in changes.first] == ["note"]


async def test_of_other_vaults_an_admin_of_this_one_is_told_nothing(opening: Opening) -> None:
    async with opening({"audit.reads": True, "audit.shown_ids": True}, vaults=("main", "secret")) as services:
        ask, other = asker(services), asker(services, Caller(owner("cli"), "secret", Role.ADMIN, "cli"))
        theirs = (await other("remember", content="harbour")).content["id"]
        await ask("recall", query="harbour", vaults=["*"])
        assert (await ask("vaults", action="rename", name="secret", to="hidden", confirmed=True)).ok
        secret = await entries(services, "hidden")
        said = (await ask("audit", limit=100)).content
        assert len(said["entries"]) == 2
        assert not [word for word in ("secret", "hidden", theirs) if word in json.dumps(said)]
        assert [each["tool"] for each in secret] == ["remember"]
        assert "entries" not in (await ask("audit", tool="vault")).content
        assert "entries" not in (await ask("audit", id=theirs)).content


async def test_a_client_steers_nothing_by_its_name(services: Services) -> None:
    name = '=1+1\r\n<1>1 - - - - - "]}\x1b[2J\u202e'
    await grant(services, "ana", Role.WRITER)
    await asker(services, replace(ANA, client=name, address=name))("remember", content="x")
    chain = services.audit.chain(services.registry_cache.entry("main").vault_id)
    (stored,) = await chain.read(lambda tx: chain_rows.read_from(tx, 1, 10))
    for line in (to_line(stored), to_message(chain.chain, stored, "host").decode()):
        assert line.isprintable()
    assert json.loads(to_line(stored))["entry"]["client"] == name
    assert all(cell.isprintable() and not cell.startswith("=") for cell in to_csv_row(stored))


def test_a_person_is_who_the_system_says_and_not_their_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "somebody-else")
    os_user.cache_clear()
    assert os_user() == pwd.getpwuid(os.getuid()).pw_name
