"""usage and feedback: what a caller is told of cost and savings, and what becomes of what it says."""

from __future__ import annotations

import json

import pytest

from auth.roles import Role
from server.call import Caller
from server.services import Services
from server.tools.telemetry import count_schema_tokens
from tests.conftest import Asking, Opening, asker, local
from tests.people import give_role
from tests.server.rendering.answers import is_told
from vaults.search import tokenizer


@pytest.fixture(autouse=True)
def no_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has expired is archived by whoever a test has do it, and not by the vault itself beforehand."""
    monkeypatch.setattr("server.background_jobs.BACKGROUND_JOBS", ())


async def grant(services: Services, subject: str, role: Role) -> Asking:
    await give_role(services, subject, role)
    return asker(services, Caller(local(subject), "main", role, "http"))


async def run_out(services: Services) -> None:
    """Let the time of memories that have one be over."""
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await vault.db.write(
            lambda tx: tx.run(
                "UPDATE memories SET expires_at = '2026-01-01T00:00:00.000Z' WHERE expires_at IS NOT NULL"
            )
        )


async def test_usage_tells_calls_tokens_savings_growth_and_what_could_be_tidied(
    services: Services, ask: Asking
) -> None:
    for number in range(3):
        assert (await ask("remember", content=f"the ferry leaves at {number}")).ok
    assert not (await ask("memory_get")).ok
    said = await ask("usage")
    found = said.content
    assert {use["tool"]: (use["calls"], use["errors"]) for use in found["tools"]} == {
        "remember": (3, 0),
        "memory_get": (1, 1),
    }
    remembered = found["tools"][0]
    assert 0 < remembered["p50_ms"] <= remembered["p95_ms"]
    assert found["tokens"]["arguments"] == sum(use["tokens_in"] for use in found["tools"]) > 0
    assert found["tokens"]["results"] == sum(use["tokens_out"] for use in found["tools"]) > 0
    assert found["savings"]["cold_starts_avoided"] == 0
    assert found["savings"]["overhead"] == found["tokens"]["schemas"]
    assert found["growth"][-1]["memories"] == 3
    assert set(found["hygiene"]) == {"duplicates", "never_read", "expired"}
    assert is_told(said.text, "sessions: 1")
    assert is_told(said.text, "tool remember", "calls 3", "errors 0")
    assert is_told(said.text, "tool memory_get", "calls 1", "errors 1")
    assert len(said.text) < 2500


async def test_a_session_that_opened_what_was_left_spares_a_cold_start(services: Services) -> None:
    alice = await grant(services, "alice", Role.WRITER)
    assert (await alice("session_save", summary="stood at the ferry", status="completed")).ok
    bob = await grant(services, "bob", Role.WRITER)
    assert (await bob("session_resume")).ok
    saved = (await bob("usage")).content["savings"]
    assert (saved["cold_starts_avoided"], saved["estimated"]) == (1, 7675)
    assert saved["net"] == 7675 - saved["overhead"] - saved["responses"]


async def test_schemas_are_counted_exactly_as_the_caller_is_shown_them(services: Services) -> None:
    registry = services.registry
    shown = [
        {"name": spec.name, "description": spec.description, "inputSchema": spec.input_schema_for(Role.READER, "agent")}
        for spec in registry.visible(Role.READER, "agent", "auto")
    ]
    exact = tokenizer.count_tokens(json.dumps(shown, ensure_ascii=False))
    reader = await grant(services, "rita", Role.READER)
    assert (await reader("usage")).content["tokens"]["schemas"] == exact
    assert exact < count_schema_tokens(registry, Role.WRITER, "agent", "auto")
    assert count_schema_tokens(registry, Role.WRITER, "agent", "off") < count_schema_tokens(
        registry, Role.WRITER, "agent", "auto"
    )


async def test_only_admins_are_told_who_called(services: Services) -> None:
    bob, ada = await grant(services, "bob", Role.WRITER), await grant(services, "ada", Role.ADMIN)
    assert (await bob("recall", query="x")).ok
    assert "callers" not in (await bob("usage")).content
    assert {each["who"]: each["calls"] for each in (await ada("usage")).content["callers"]} == {"bob": 2}


@pytest.mark.parametrize("since", ["yesterday", "30", "-7d", "99999999999d", "2026-13-01", "\x00"])
async def test_a_since_that_is_none_is_refused(ask: Asking, since: str) -> None:
    assert (await ask("usage", since=since)).code == "invalid_argument"


@pytest.mark.parametrize("since", ["90s", "1w", "999999999w", "2026-01-01", "2026-01-01T00:00:00+02:00"])
async def test_since_is_a_duration_or_a_time(ask: Asking, since: str) -> None:
    said = await ask("usage", since=since)
    assert said.code in (None, "invalid_argument")
    assert said.ok or since == "999999999w"


async def test_findings_are_archived_with_one_call_by_who_may_write(services: Services, ask: Asking) -> None:
    old = (await ask("remember", content="runs out", ttl_days=1)).content["id"]
    await run_out(services)
    assert (await ask("remember", content="stays")).ok
    assert (await ask("usage")).content["hygiene"]["expired"]["ids"] == [old]
    reader = await grant(services, "rita", Role.READER)
    assert (await reader("usage", action="archive", kind="expired")).code == "forbidden"
    assert (await ask("usage", action="archive")).code == "invalid_argument"
    said = await ask("usage", action="archive", kind="expired")
    assert (said.content["archived"], said.content["hygiene"]["expired"]["count"]) == ([old], 0)
    assert said.text.startswith("Archived 1 memory.")
    assert is_told(said.text, f"archived: {old}")
    (memory,) = (await ask("memory_get", ids=[old])).content["memories"]
    assert memory["archived_at"]


async def test_private_memories_of_others_are_neither_found_nor_archived(services: Services, ask: Asking) -> None:
    assert (await ask("remember", content="runs out", ttl_days=1, visibility="private")).ok
    await run_out(services)
    bob = await grant(services, "bob", Role.WRITER)
    found = (await bob("usage")).content
    assert (found["hygiene"]["expired"]["count"], found["growth"]) == (0, [])
    assert "archived" not in (await bob("usage", action="archive", kind="expired")).content


async def test_feedback_is_kept_with_who_said_it_and_in_which_session(services: Services) -> None:
    bob = await grant(services, "bob", Role.WRITER)
    said = await bob("feedback", type="friction", message="Too slow", tool="recall", call_id="7")
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        rows = await vault.db.read(
            lambda tx: tx.all(
                "SELECT f.id, f.owner, f.who, f.type, f.message, f.tool, f.call_id, s.who FROM feedback f JOIN"
                " sessions s ON s.seq = f.session"
            )
        )
    assert rows == [(said.content["id"], "local|bob", "bob", "friction", "Too slow", "recall", "7", "bob")]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"type": "right_tool"}, "tool"),
        ({"type": "wrong_tool", "message": "all of them"}, "tool"),
        ({"type": "right_tool", "tool": "made_up"}, "tool"),
        ({"type": "bug"}, "message"),
        ({"type": "bug", "message": "   "}, "message"),
        ({"type": "bug", "message": "x" * 2001}, "message"),
        ({"type": "praise", "message": "x"}, "type"),
    ],
)
async def test_feedback_that_does_not_say_enough_is_refused(ask: Asking, arguments: dict[str, str], field: str) -> None:
    said = await ask("feedback", **arguments)
    assert said.code == "invalid_argument"
    assert said.content["error"]["details"]["field"] == field


async def test_readers_and_strangers_leave_no_feedback(services: Services) -> None:
    reader = await grant(services, "rita", Role.READER)
    assert (await reader("feedback", type="bug", message="x")).code == "forbidden"
    stranger = asker(services, Caller(local("mallory"), "main", Role.ADMIN, "http"))
    assert (await stranger("feedback", type="bug", message="x")).code == "not_found"
    assert (await stranger("usage")).code == "not_found"


async def test_feedback_holds_no_secret(ask: Asking) -> None:
    said = await ask("feedback", type="bug", message="my token ghp_" + "a1B2" * 9 + " was refused")
    assert said.code == "invalid_argument"
    assert "a1B2" not in said.text


async def test_the_log_does_not_hold_what_was_said(services: Services, ask: Asking) -> None:
    assert (await ask("feedback", type="bug", message="the secret ferry")).ok
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await vault.activity_log.flush()
        rows = await vault.db.read(lambda tx: tx.all("SELECT * FROM events"))
    assert "ferry" not in str(rows)
    assert "gave feedback: bug" in str(rows)


async def test_where_writing_is_off_usage_still_reports(opening: Opening) -> None:
    async with opening() as services:
        await grant(services, "bob", Role.WRITER)
        bob = asker(services, Caller(local("bob"), "main", Role.WRITER, "http", write_mode="off"))
        assert (await bob("usage")).ok
        assert (await bob("usage", action="archive", kind="expired")).code == "read_only"
        assert (await bob("feedback", type="bug", message="x")).code == "read_only"
