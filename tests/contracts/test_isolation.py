"""Vault × role × tool, from the registry: who has no grant learns nothing, who has one learns its own.

Covers server.dispatch.
"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from auth.access import AccessSnapshot
from auth.roles import Role
from server.call import Caller
from server.dispatch import CallOutcome, dispatch
from server.services import Services
from server.tool_spec import ToolSpec
from server.tools import discover
from tests.code_bases import store_files
from tests.conftest import Opening, asker, local, open_at
from tests.noted import folder, indexed, put, until
from tests.people import give_role
from vaults.db.sql import Reader
from vaults.domain.collections import collection_rows
from vaults.domain.collections.collection_model import CollectionFields

TOOLS = list(discover())
CALLS = [(spec, action) for spec in TOOLS for action in (spec.actions_for(Role.ADMIN) or [None])]
POLICY = """version: "1.0"
name: canary
description: A procedure to try
steps:
  - {id: log, tool: note_edit, args: {path: canary.md, content: more}}
"""

VALID = {
    "remember": {"content": "new"},
    "recall": {"query": "canary"},
    "memory_get": {"ids": ["{own}"]},
    "memory_update": {"id": "{own}", "tier": "hot"},
    "memory_forget": {"ids": ["{own}"]},
    "memory_supersede": {"id": "{own}", "content": "newer"},
    "memory_list": {},
    "memory_link": {"from_id": "{own}", "relation": "x", "to_id": "{other}"},
    "search": {"query": "canary"},
    "explain": {"query": "canary"},
    "context": {"query": "canary"},
    "fetch": {"id": "{own}"},
    "note_read": {"path": "canary"},
    "find_notes": {"title_contains": "canary"},
    "note_write": {"path": "canary", "content": "new", "mode": "overwrite"},
    "note_edit": {"path": "@daily", "content": "new"},
    "frontmatter_update": {"path": "canary", "set": {"status": "new"}},
    "tasks": {"path": "canary", "text": "new"},
    "note_move": {"path": "canary", "to": "moved"},
    "note_delete": {"path": "canary", "confirm": True},
    "history": {"path": "canary"},
    "graph": {"path": "canary", "to": "beside"},
    "links": {"path": "canary", "entity": "canary", "verdict": "accepted"},
    "session_resume": {},
    "session_save": {"summary": "done"},
    "session_history": {},
    "handoff_create": {"goal": "canary", "current_state": "new", "next_action": "new"},
    "handoff_load": {},
    "claims": {"resources": ["canary"]},
    "threads": {"thread": "canary"},
    "schema": {"field": "status", "tag": "canary", "to": "state", "mapping": {"new": "old"}, "dry_run": False},
    "insights": {"entity": "canary"},
    "entities": {"entity": "canary", "into": "other", "alias": "known"},
    "policies": {"name": "canary", "content": POLICY},
    "collections": {"name": "canary", "root": "/nowhere", "new_name": "other"},
    "code": {"name": "canary", "path": "canary.py"},
    "corrections": {"wrong": "canary", "right": "new", "kind": "memory", "subject": "{own}", "id": "none"},
    "checkpoint": {"reason": "new", "state": {"step": 1}, "thread": "canary"},
    "status": {},
    "usage": {"kind": "expired"},
    "feedback": {"type": "bug", "message": "canary"},
    "doctor": {},
    "backup": {"path": "canary", "id": "{own}"},
    "audit": {},
    "reindex": {},
    "transcripts": {"lines": [{"kind": "document", "external_id": "{own}", "parts": [{"text": "said"}]}]},
    "imports": {"run": "none", "lines": [{"content": "brought", "external_id": "{own}"}]},
    "ingest": {"content": "canary read in", "ids": ["none"]},
    "vaults": {},
    "discover_tools": {"query": "remember"},
}
"""One valid call of each tool. A new tool without a row here fails the suite: nobody thought about who may call it."""


def test_every_tool_has_a_call_to_try() -> None:
    assert set(VALID) == {spec.name for spec in TOOLS}


async def _grant(services: Services, subject: str, vault: str, role: Role) -> None:
    await give_role(services, subject, role, vault=vault)


async def _canary(services: Services, vault: str) -> tuple[str, str]:
    await _grant(services, f"seed-{vault}", vault, Role.ADMIN)
    ask = asker(services, Caller(local(f"seed-{vault}"), vault, Role.ADMIN, "http"))
    own = (await ask("remember", content=f"canary {vault}", thread="canary")).content["id"]
    other = (await ask("remember", content=f"second {vault}")).content["id"]
    async with services.pool.lease(services.registry_cache.entry(vault)) as held:
        await store_files(held, {"canary.py": f"def canary():\n    return '{vault}'\n"})
    put(folder(services.data, vault), {"canary.md": f"canary {vault}\n", "beside.md": "beside\n"})
    return own, other


def _filled(spec: ToolSpec, action: str | None, own: str, other: str) -> dict[str, object]:
    text = json.dumps(VALID[spec.name]).replace("{own}", own).replace("{other}", other)
    arguments = json.loads(text)
    if action is not None:
        arguments["action"] = action
    if spec.name == "vaults" and action not in ("list", "info"):
        arguments |= {"name": "brand-new", "to": "newer", "name_again": "brand-new"}
    if spec.action_of(arguments).destroys:
        arguments["confirmed"] = True
    return arguments


def _writes(spec: ToolSpec, action: str | None) -> bool:
    return spec.action_of(_filled(spec, action, "own", "other")).writes


READING = [call for call in CALLS if not _writes(*call)]
WRITING = [call for call in CALLS if _writes(*call)]
each_batch = pytest.mark.parametrize(
    "calls",
    [READING, *([call] for call in WRITING)],
    ids=["reading", *(f"{spec.name}{f'-{action}' if action else ''}" for spec, action in WRITING)],
)
"""What changes something has a server of its own; all that only reads shares one."""


@dataclass(frozen=True)
class Planted:
    """A data folder of vaults with canaries and no server on it, and the ids of two memories of each vault."""

    data: Path
    ids: dict[str, tuple[str, str]]

    def copy_to(self, place: Path) -> Path:
        return Path(shutil.copytree(self.data, place / "copy"))


VAULTS = ("mine", "theirs")


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    """Planted once; each call has a copy of it."""
    data = tmp_path_factory.mktemp("planted") / "data"

    async def plant() -> dict[str, tuple[str, str]]:
        async with open_at(data, VAULTS) as services:
            ids = {vault: await _canary(services, vault) for vault in VAULTS}
            await _grant(services, "alice", "mine", Role.ADMIN)
            for role in Role:
                await _grant(services, f"is-{role.label}", "mine", role)
            return ids

    return Planted(data, asyncio.run(plant()))


@pytest.fixture
async def own_copy(planted: Planted, tmp_path: Path) -> AsyncIterator[Services]:
    """A server of one call's own."""
    async with open_at(planted.copy_to(tmp_path), VAULTS) as services:
        yield services


@each_batch
async def test_each_role_may_do_exactly_what_its_tools_say(
    own_copy: Services, planted: Planted, calls: list[tuple[ToolSpec, str | None]]
) -> None:
    for spec, action in calls:
        await _try_each_role(own_copy, planted, spec, action)


async def _try_each_role(own_copy: Services, planted: Planted, spec: ToolSpec, action: str | None) -> None:
    arguments = _filled(spec, action, *planted.ids["mine"])
    needed = spec.action_of(arguments).role
    for role in Role:
        # The caller claims to be an admin; only the grant counts.
        caller = Caller(local(f"is-{role.label}"), "mine", Role.ADMIN, "http")
        outcome = await dispatch(own_copy, caller, spec.name, arguments)
        if role < needed:
            assert outcome.code == "forbidden", (spec.name, action, role)
        else:
            assert outcome.code in (None, "forbidden", "already_exists", "not_found", "conflict"), outcome.text
            if spec.name != "vaults" or action in ("list", "info"):
                assert outcome.code in (None, "not_found", "conflict"), outcome.text


@each_batch
async def test_a_vault_without_a_grant_answers_as_one_that_does_not_exist(
    own_copy: Services, planted: Planted, calls: list[tuple[ToolSpec, str | None]]
) -> None:
    for spec, action in calls:
        await _try_foreign(own_copy, planted, spec, action)


async def _try_foreign(own_copy: Services, planted: Planted, spec: ToolSpec, action: str | None) -> None:
    arguments = _filled(spec, action, *planted.ids["theirs"])

    async def call(vault: str) -> CallOutcome:
        return await dispatch(own_copy, Caller(local("alice"), vault, Role.ADMIN, "http"), spec.name, arguments)

    foreign, absent = await call("theirs"), await call("no-such-vault")
    assert foreign.code == "not_found", (spec.name, action)
    assert foreign == absent, (spec.name, action)
    mine = await call("mine")
    said = json.dumps(mine.content) + mine.text
    assert "theirs" not in said.replace(str(arguments), ""), (spec.name, action)
    assert "canary theirs" not in said, (spec.name, action)


async def test_ids_of_another_vault_answer_like_ids_nobody_has(opening: Opening) -> None:
    async with opening(vaults=("mine", "theirs")) as services:
        own, other = await _canary(services, "theirs")
        await _grant(services, "alice", "mine", Role.ADMIN)
        ask = asker(services, Caller(local("alice"), "mine", Role.ADMIN, "http"))
        made_up, another = "01900000-0000-7000-8000-000000000000", "01900000-0000-7000-8000-000000000001"
        for spec in TOOLS:
            if "{own}" not in json.dumps(VALID[spec.name]):
                continue
            foreign = await ask(spec.name, **_filled(spec, None, own, other))
            unknown = await ask(spec.name, **_filled(spec, None, made_up, another))
            theirs = json.dumps(foreign.content).replace(own, made_up).replace(other, another)
            assert theirs == json.dumps(unknown.content), spec.name


async def test_search_across_vaults_asks_the_grant_of_each(opening: Opening) -> None:
    async with opening(vaults=("a", "b", "c")) as services:
        for vault in ("a", "b", "c"):
            await _canary(services, vault)
        await _grant(services, "alice", "a", Role.READER)
        await _grant(services, "alice", "b", Role.READER)
        ask = asker(services, Caller(local("alice"), "a", Role.READER, "http"))
        every = await ask("recall", query="canary", vaults=["*"])
        assert {hit["vault"] for hit in every.content["hits"]} == {"a", "b"}
        named = await ask("recall", query="canary", vaults=["b"])
        assert {hit["vault"] for hit in named.content["hits"]} == {"a", "b"}
        foreign, absent = await ask("recall", query="x", vaults=["c"]), await ask("recall", query="x", vaults=["zzz"])
        assert foreign.code == "not_found"
        assert foreign == absent
        listed = (await ask("vaults")).content["vaults"]
        assert [line["name"] for line in listed] == ["a", "b"]
        assert (await ask("vaults", action="info", name="c")) == (await ask("vaults", action="info", name="zzz"))


async def test_a_grant_taken_away_or_lowered_bites_at_once(services: Services) -> None:
    await _grant(services, "alice", "main", Role.WRITER)
    ask = asker(services, Caller(local("alice"), "main", Role.WRITER, "http"))
    assert (await ask("remember", content="one")).ok
    await services.access_cache.write(lambda tx: tx.run("UPDATE grants SET role = 'reader' WHERE subject = 'alice'"))
    assert (await ask("remember", content="two")).code == "forbidden"
    assert (await ask("recall", query="one")).ok
    await services.access_cache.write(lambda tx: tx.run("DELETE FROM grants WHERE subject = 'alice'"))
    assert (await ask("recall", query="one")).code == "not_found"


async def test_reading_changes_nothing_an_owner_would_call_data(services: Services) -> None:
    own, other = await _canary(services, "main")
    await indexed(services, 2)
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await store_files(vault, {"canary.py": "def canary():\n    return 1\n"})
        canary = CollectionFields(name="canary", kind="code", root=Path("/nowhere"), watch=False)
        await vault.db.write(lambda tx: collection_rows.insert(tx, canary, "o"))
    await until(services, lambda tx: tx.value("SELECT COUNT(*) FROM embedding_queue") == 0)
    for role in Role:
        await _grant(services, f"r-{role.label}", "main", role)
    callers = {role: Caller(local(f"r-{role.label}"), "main", role, "http") for role in Role}

    authored = {"action": "author", "name": "canary", "content": POLICY}
    assert (await dispatch(services, callers[Role.ADMIN], "policies", authored)).ok
    assert (await dispatch(services, callers[Role.ADMIN], "backup", {"action": "run"})).ok

    async def digest() -> list[object]:
        def read(tx: Reader) -> list[object]:
            tables = ("memories", "memory_links", "item_tags", "passages", "embeddings", "idempotency_keys", "audit")
            tables += ("notes", "note_links", "note_changes")
            return [tx.all(f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables]

        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            return await vault.db.read(read)

    before = await digest()
    for spec, action in CALLS:
        arguments = _filled(spec, action, own, other)
        if not spec.action_of(arguments).writes:
            who = callers[spec.action_of(arguments).role]
            assert (await dispatch(services, who, spec.name, arguments)).ok, spec.name
    assert await digest() == before


async def test_interleaved_callers_never_meet_each_others_vault(opening: Opening) -> None:
    names = tuple(f"v{n}" for n in range(6))
    async with opening({"storage.open_vaults": 8}, vaults=names) as services:
        for name in names:
            await _canary(services, name)
            for client in range(16):
                await _grant(services, f"c{client}", name, Role.WRITER)

        async def client(number: int) -> None:
            order = random.Random(number)
            for turn in range(12):
                vault = order.choice(names)
                ask = asker(services, Caller(local(f"c{number}"), vault, Role.WRITER, "http"))
                if turn % 3 == 0:
                    assert (await ask("remember", content=f"by c{number} turn {turn} in {vault}")).ok
                found = await ask("recall", query="canary second turn", mode=order.choice(("hybrid", "keyword")))
                said = {hit["content"].rsplit(" ", 1)[1] for hit in found.content["hits"]}
                assert said == {vault}
                assert not any("vault" in hit for hit in found.content["hits"]), "that is said already"

        await asyncio.gather(*(client(number) for number in range(16)))


async def test_the_isolation_suite_notices_when_the_check_is_taken_out(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests above are worth nothing if they pass without the check."""
    monkeypatch.setattr(AccessSnapshot, "role_in", lambda self, principal, vault: Role.ADMIN)
    async with opening(vaults=("mine", "theirs")) as services:
        ask = asker(services, Caller(local("alice"), "theirs", Role.READER, "http"))
        assert (await ask("recall", query="canary")).ok
        broken = replace(services)
        assert broken.role_in(local("alice"), "theirs") == Role.ADMIN
