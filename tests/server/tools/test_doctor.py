"""doctor and reindex: what an admin of a vault is told and may have done, and what nobody from afar is told."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from auth.principal import owner
from auth.roles import Role
from server.call import Caller
from server.dispatch import dispatch
from server.services import Services
from server.tools import doctor as doctoring
from tests.conftest import Asking, Opening, asker, local
from tests.noted import folder, indexed, put, until
from tests.people import give_role
from tests.server.rendering.answers import is_told
from tests.tool_list import registry_with
from vaults.db.sql import Reader, Writer
from vaults.domain.maintenance import reindexing


def caller(subject: str, role: Role = Role.ADMIN, write_mode: str = "auto") -> Caller:
    return Caller(local(subject), "main", role, "http", write_mode=write_mode)  # type: ignore[arg-type]


async def grant(services: Services, subject: str, role: Role) -> Asking:
    await give_role(services, subject, role)
    return asker(services, caller(subject, role))


async def run(services: Services, sql: str, *values: object) -> None:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await vault.activity_log.flush()
        await vault.db.write(lambda tx: tx.run(sql, values))


async def test_a_vault_that_is_well_is_said_to_be(ask: Asking) -> None:
    assert (await ask("remember", content="x")).ok
    said = await ask("doctor")
    assert (said.content["well"], said.content["health"]) == (True, 1.0)
    assert is_told(said.text, "well: true")
    assert is_told(said.text, "health: 1.0")
    assert all(check["status"] != "ok" for check in said.content.get("checks", ()))


async def test_a_diagnosis_has_every_check_and_names_no_place_on_the_machine(
    services: Services, ask: Asking, tmp_path: Path
) -> None:
    put(folder(tmp_path), {"bad.md": "---\na: [\n---\n"})
    (folder(tmp_path) / "latin.md").write_bytes(b"caf\xe9")
    await indexed(services, 1)
    said = await ask("doctor", action="diagnosis")
    names = {check["name"] for check in said.content["checks"]}
    assert {"holds", "vectors", "changes", "sessions", "claims", "ledger", "events", "notes_folder", "history"} <= names
    assert "latin.md: not UTF-8 at byte 3" in said.text
    assert "frontmatter" in (await ask("doctor")).text
    assert str(tmp_path) not in json.dumps(said.content) + said.text


async def test_a_folder_that_is_gone_is_said_without_its_place(services: Services, ask: Asking, tmp_path: Path) -> None:
    put(folder(tmp_path), {"a.md": "x"})
    await indexed(services, 1)
    folder(tmp_path).rename(tmp_path / "away")
    said = await ask("doctor")
    assert not said.content["well"]
    assert "the notes folder cannot be read" in said.text
    assert str(tmp_path) not in json.dumps(said.content) + said.text


async def test_an_admin_is_not_told_of_private_memories_of_others(services: Services) -> None:
    ada, bob = await grant(services, "ada", Role.ADMIN), await grant(services, "bob", Role.WRITER)
    assert (await bob("remember", content="mine", visibility="private")).ok
    await run(services, "INSERT OR REPLACE INTO embedding_queue (passage, attempts) SELECT seq, 9 FROM passages")
    diagnosis = (await ada("doctor", action="diagnosis")).text
    assert is_told(diagnosis, "name holds, status ok", "0 memories, 0 notes, 0 passages")
    assert is_told(diagnosis, "name vectors, status ok", "every passage has its vector")
    stats = (await ada("doctor", action="stats")).content["stats"]
    assert (stats["memories"]["living"], stats["passages"]) == (0, 0)
    assert "remember" not in {event["tool"] for event in (await ada("doctor", action="log")).content["events"]}


async def test_what_is_under_way_and_how_much_there_is_can_be_asked(ask: Asking) -> None:
    assert (await ask("remember", content="x")).ok
    busy = (await ask("doctor", action="pipeline")).content["pipeline"]
    assert (busy["leads"], busy["reindexing"], busy["events_lost"]) == (True, False, 0)
    assert {"embedding", "index", "notes", "working"} <= set(busy)
    said = await ask("doctor", action="stats")
    assert said.content["stats"]["rows"]["sessions"] == 1
    assert is_told(said.text, "memories: living 1")


async def test_settings_are_shown_without_secrets_places_and_what_is_not_the_vaults(opening: Opening) -> None:
    flags = {
        "embedding.models_dir": "/srv/models",
        "expansion.endpoint": "https://me:hunter2@host/",
        "ops.otlp_endpoint": "http://me:hunter2@collector:4318",
    }
    # The endpoint's own check refuses users; what comes of settings that do not is masked all the same.
    flags["expansion.endpoint"] = "https://host/variants"
    async with opening(flags) as services:
        ada = await grant(services, "ada", Role.ADMIN)
        config = (await ada("doctor", action="config")).content["config"]
        assert config["embedding.models_dir"] == "(a path on the server)"
        assert config["telemetry.query_context"] is False
        assert {name.split(".")[0] for name in config} == doctoring.VAULT_SECTIONS
        whole = (await asker(services)("doctor", action="config")).content["config"]
        assert whole["ops.otlp_endpoint"] == "http://********@collector:4318"
        assert "hunter2" not in json.dumps(whole)


async def test_the_log_shows_the_newest_calls_and_only_failed_ones_if_asked(services: Services, ask: Asking) -> None:
    assert (await ask("remember", content="the ferry")).ok
    assert not (await ask("memory_get")).ok
    said = await ask("doctor", action="log")
    assert [event["tool"] for event in said.content["events"]] == ["memory_get", "remember"]
    failed = (await ask("doctor", action="log", failed=True)).content["events"]
    assert [event["summary"] for event in failed] == ["[FAILED] memory_get: invalid_argument"]
    assert len((await ask("doctor", action="log", limit=1)).content["events"]) == 1
    assert "ferry" not in json.dumps(said.content)
    assert (await ask("doctor", action="log", limit=0)).code == "invalid_argument"


async def test_a_failure_inside_has_the_reference_of_its_log_line(services: Services) -> None:
    async def explode(call: object, args: object) -> None:
        raise RuntimeError("secret")

    spec = services.registry.get("recall")
    assert spec is not None
    broken = replace(services, registry=registry_with(replace(spec, run=explode)))
    await grant(services, "bob", Role.READER)
    outcome = await dispatch(broken, caller("bob", Role.READER), "recall", {"query": "x"})
    (event,) = (await asker(services)("doctor", action="log", failed=True)).content["events"]
    assert event["resource"] == outcome.content["error"]["details"]["reference"]
    assert (event["who"], event["outcome"]) == ("bob", "internal")


async def test_a_call_that_took_too_long_is_told_from_one_that_was_given_up(opening: Opening) -> None:
    begun = asyncio.Event()

    async def wait(call: object, args: object) -> None:
        begun.set()
        await asyncio.Event().wait()

    async with opening() as services:
        spec = services.registry.get("recall")
        assert spec is not None
        slow = replace(services, registry=registry_with(replace(spec, run=wait)))
        who = Caller(owner("cli"), "main", Role.ADMIN, "cli")
        limit = 0.5
        while not begun.is_set():  # on a busy machine so little may be over before the tool has begun
            hasty = services.settings.server.model_copy(update={"call_timeout_s": limit})
            cut_off = replace(slow, settings=services.settings.model_copy(update={"server": hasty}))
            async with services.pool.lease(services.registry_cache.entry("main")):  # its time is for the tool alone
                assert (await dispatch(cut_off, who, "recall", {"query": "x"})).code == "timeout"
            limit *= 2
        begun.clear()
        given_up = asyncio.create_task(dispatch(slow, who, "recall", {"query": "x"}))
        await begun.wait()
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        events = (await asker(services)("doctor", action="log", failed=True)).content["events"]
        assert [event["outcome"] for event in events] == ["cancelled", "timeout"]


async def test_what_was_asked_for_stands_in_the_log_only_where_it_is_kept(opening: Opening) -> None:
    async with opening() as services:
        ask = asker(services)
        assert (await ask("recall", query="where is the ferry")).ok
        assert "ferry" not in (await ask("doctor", action="log")).text
    async with opening({"telemetry.query_context": "true"}) as services:
        ask = asker(services)
        assert (await ask("recall", query="where is the ferry")).ok
        event = (await ask("doctor", action="log")).content["events"][0]
        if event["tool"] == "doctor":
            event = (await ask("doctor", action="log")).content["events"][1]
        assert event["context"] == "query=where is the ferry"


async def test_a_repair_parts_with_sessions_nobody_is_in_and_what_they_claimed(services: Services, ask: Asking) -> None:
    bob = await grant(services, "bob", Role.WRITER)
    assert (await bob("recall", query="x")).ok
    await run(services, "INSERT INTO claims SELECT 'a', seq, NULL, started_at FROM sessions WHERE who = 'bob'")
    await run(services, "UPDATE sessions SET seen_at = '2026-01-01T00:00:00.000Z' WHERE who = 'bob'")
    assert "1 sessions are active and nobody is in them" in (await ask("doctor", action="diagnosis")).text
    said = await ask("doctor", action="repair")
    assert said.content["repaired"] == ["1 sessions nobody is in were paused"]
    assert (await ask("status")).content["claims"]["held"] == 0
    assert "repaired" not in (await ask("doctor", action="repair")).content


async def test_looking_needs_no_consent_and_goes_on_where_writing_is_off(services: Services) -> None:
    await grant(services, "ada", Role.ADMIN)
    for mode, refusal in (("ask", "confirmation_required"), ("off", "read_only")):
        ada = asker(services, caller("ada", write_mode=mode))
        for action in doctoring.doctor.actions_for(Role.ADMIN, "off"):
            assert (await ada("doctor", action=action)).ok, (mode, action)
        assert (await ada("doctor", action="repair")).code == refusal
        assert (await ada("reindex")).code == refusal
    registry = services.registry
    assert "doctor" in {spec.name for spec in registry.visible(Role.ADMIN, "full", "off")}
    assert "reindex" not in {spec.name for spec in registry.visible(Role.ADMIN, "full", "off")}


@pytest.mark.parametrize("tool", ["doctor", "reindex"])
async def test_only_admins_of_the_vault_come_near(services: Services, tool: str) -> None:
    bob = await grant(services, "bob", Role.WRITER)
    assert (await bob(tool)).code == "forbidden"
    assert (await asker(services, caller("mallory"))(tool)).code == "not_found"


async def test_reindex_builds_the_index_anew_and_says_what_is_there(
    services: Services, ask: Asking, tmp_path: Path
) -> None:
    put(folder(tmp_path), {"a.md": "# Harbour\nThe ferry leaves at nine."})
    await indexed(services, 1)
    assert (await ask("remember", content="the ferry leaves at nine")).ok
    await run(services, "DELETE FROM item_tags")
    await run(services, "INSERT INTO passages_fts (passages_fts) VALUES ('delete-all')")
    said = await ask("reindex")
    assert (said.content["done"], said.content["memories"], said.content["notes"]) == (True, 1, 1)
    assert len((await ask("search", query="ferry", mode="keyword")).content["hits"]) == 2
    assert (await ask("doctor", action="pipeline")).content["pipeline"]["reindexing"] is False


async def test_a_reindex_that_takes_long_goes_on_behind_the_call(
    services: Services, ask: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    going_on = asyncio.Event()
    renew = reindexing.rebuild

    async def slow(vault: object, progress: object) -> object:
        await going_on.wait()
        return await renew(vault, progress)  # type: ignore[arg-type]

    monkeypatch.setattr(reindexing, "rebuild", slow)
    monkeypatch.setattr(doctoring, "WAIT_S", 0.05)
    said = await ask("reindex")
    assert not said.content["done"]
    assert "goes on in the background" in said.text
    assert (await ask("doctor", action="pipeline")).content["pipeline"]["reindexing"]
    going_on.set()

    def done(tx: Reader) -> bool:
        return not reindexing.is_reindex_pending(tx)

    await until(services, done)


async def test_a_reindex_that_was_cut_off_is_done_after_the_restart(opening: Opening) -> None:
    def owe(tx: Writer) -> None:
        tx.run("INSERT INTO vault_info VALUES ('reindex', 'somebody asked')")
        tx.run("DELETE FROM item_tags")

    async with opening() as services:
        assert (await asker(services)("remember", content="x", tags=["harbour"])).ok
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            await vault.db.write(owe)
    async with opening() as services:
        await until(services, lambda tx: not reindexing.is_reindex_pending(tx))
        await until(services, lambda tx: tx.value("SELECT COUNT(*) FROM item_tags") == 1)
