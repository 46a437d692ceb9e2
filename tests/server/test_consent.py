"""Calls a person has to agree to before anything is written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auth.principal import owner
from auth.roles import Role
from server import consent
from server.call import Caller, PersonState
from server.mcp_bridge.catalogue import ToolCatalogue
from server.services import Services
from server.tool_spec import ToolSpec
from server.tools import discover
from tests.conftest import Asking, asker, local
from tests.people import give_role
from tests.work import examples
from vaults import registry
from vaults.registry import VaultRules

ASKING = Caller(owner("stdio"), "main", Role.ADMIN, "stdio", preset="full", write_mode="ask")
TOOLS = discover()
POLICY = """version: "1.0"
name: b
description: Deletes a note
steps:
  - {id: gone, tool: note_delete, args: {path: a}}
"""
WRITES: list[tuple[str, dict[str, Any]]] = [
    ("remember", {"content": "x"}),
    ("note_write", {"path": "a", "content": "x"}),
    ("tasks", {"action": "add", "path": "a", "text": "x"}),
    ("history", {"action": "undo"}),
    ("handoff_load", {"accept": True}),
]
DESTROYS: list[tuple[str, dict[str, Any]]] = [
    ("memory_forget", {"ids": ["x"], "purge": True}),
    ("note_delete", {"path": "a"}),
    ("vaults", {"action": "archive", "name": "main"}),
    ("vaults", {"action": "rename", "name": "main", "to": "x"}),
    ("vaults", {"action": "delete", "name": "main", "name_again": "main"}),
]


@pytest.fixture
def ask(services: Services) -> Asking:
    return asker(services, ASKING)


async def _ruled(services: Services, rules: VaultRules) -> None:
    await services.control.write(lambda tx: registry.set_rules(tx, "main", rules))
    await services.registry_cache.refresh()


async def _untouched(services: Services) -> bool:
    status = await asker(services)("status")
    notes = services.data / "vaults" / "main" / "notes"
    return status.content["memories"]["living"] == 0 and not list(notes.iterdir())


AT_ONCE: list[tuple[str, dict[str, Any]]] = [
    ("links", {"action": "feedback", "entity": "a", "path": "b", "verdict": "never"}),
    ("links", {"action": "unsuppress", "entity": "a"}),
    ("entities", {"action": "dismiss_merge", "entity": "a", "into": "b"}),
    ("entities", {"action": "dismiss_prospect", "entity": "a"}),
]


@pytest.mark.parametrize(("tool", "arguments"), AT_ONCE)
async def test_what_cannot_be_tried_is_not_done_by_saying_that_it_is_one(ask: Asking, tool, arguments) -> None:
    assert (await ask(tool, **arguments)).code == "confirmation_required"
    tried = await ask(tool, **arguments, dry_run=True)
    assert tried.code == "invalid_argument"
    assert "dry_run" in tried.text


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("links", {"action": "apply", "folder": "/"}),
        ("links", {"action": "validate", "fix": True}),
        ("schema", {"action": "rename_tag", "tag": "a", "to": "b"}),
    ],
)
async def test_nobody_is_asked_before_what_only_shows_unless_told_otherwise(ask: Asking, tool, arguments) -> None:
    assert (await ask(tool, **arguments)).ok
    assert (await ask(tool, **arguments, dry_run=False)).code == "confirmation_required"


@pytest.mark.parametrize(("tool", "arguments"), WRITES + DESTROYS)
async def test_nothing_is_written_until_a_person_agreed(ask: Asking, services: Services, tool, arguments) -> None:
    for refused in ({}, {"confirmed": False}):
        outcome = await ask(tool, **arguments, **refused)
        assert (outcome.code, outcome.question) == ("confirmation_required", None)
        assert "confirmed: true" in outcome.text
    for no_word in ("yes", 1, None):
        assert (await ask(tool, **arguments, confirmed=no_word)).code == "invalid_argument"
    assert await _untouched(services)


@pytest.mark.parametrize(("tool", "arguments"), WRITES + DESTROYS)
@pytest.mark.parametrize("person", ["there", "declined"])
async def test_of_who_can_be_asked_its_own_word_does_not_count(
    services: Services, tool: str, arguments: dict[str, Any], person: PersonState
) -> None:
    ask = asker(services, replace(ASKING, person=person))
    own = {"confirm": True} if tool == "note_delete" else {}
    outcome = await ask(tool, **arguments, **own, confirmed=True)
    assert outcome.code == "confirmation_required"
    assert (outcome.question is not None) == (person == "there")
    assert await _untouched(services)


async def test_what_a_person_agreed_to_is_done(services: Services) -> None:
    ask = asker(services, replace(ASKING, person="agreed"))
    stored = (await ask("remember", content="lantern")).content["id"]
    assert (await ask("note_write", path="a", content="lantern")).ok
    assert (await ask("note_delete", path="a")).ok
    assert (await ask("memory_forget", ids=[stored], purge=True)).content["purged"]
    assert await _untouched(services)


async def test_an_agreed_call_is_done_and_reading_asks_nobody(ask: Asking) -> None:
    assert (await ask("note_write", path="a", content="lantern", confirmed=True)).ok
    assert (await ask("note_read", path="a")).content["text"] == "lantern\n"
    assert (await ask("history", action="log")).content["changes"]
    assert (await ask("note_write", path="a", content="x", mode="overwrite", dry_run=True)).content["diff"]
    assert (await ask("note_delete", path="a", dry_run=True)).content["diff"]
    assert (await ask("note_delete", path="a", confirm=True)).ok


async def test_what_destroys_is_asked_about_in_every_mode_unless_the_vault_says_otherwise(services: Services) -> None:
    plain = asker(services, replace(ASKING, write_mode="auto"))
    one, two = [(await plain("remember", content=word)).content["id"] for word in ("lantern", "candle")]
    await plain("note_write", path="a", content="x")
    for tool, arguments in [*DESTROYS, ("memory_forget", {"ids": [one], "purge": True})]:
        assert (await plain(tool, **arguments)).code == "confirmation_required"
    assert (await plain("memory_forget", ids=[one], purge=True, confirmed=True)).ok
    await _ruled(services, VaultRules(destructive="auto"))
    assert (await plain("memory_forget", ids=[two], purge=True)).ok
    assert (await plain("note_delete", path="a")).code == "confirmation_required", "its own word is still wanted"
    assert (await plain("note_delete", path="a", confirm=True)).ok


@pytest.mark.parametrize("write_mode", ["auto", "ask", "off"])
@pytest.mark.parametrize("preset", ["agent", "notes", "full"])
@pytest.mark.parametrize("role", Role)
def test_the_one_word_that_is_shown_for_an_agreement_is_confirmed(role: Role, preset: str, write_mode: str) -> None:
    for spec in TOOLS.visible(role, preset, write_mode):
        assert "confirm" not in spec.input_schema_for(role, preset, write_mode)["properties"], spec.name


@pytest.mark.parametrize("word", ["confirm", "confirmed"])
async def test_the_older_word_is_still_taken(services: Services, word: str) -> None:
    ask = asker(services, replace(ASKING, write_mode="auto"))
    await ask("note_write", path="a", content="x")
    await ask("policies", action="author", name="b", content=POLICY)
    for tool, arguments in [("note_delete", {"path": "a"}), ("policies", {"action": "delete", "name": "b"})]:
        refused = await ask(tool, **arguments)
        assert refused.code == "confirmation_required"
        assert "confirmed: true" in refused.text
        assert (await ask(tool, **arguments, **{word: False})).code == "confirmation_required"
        assert (await ask(tool, **arguments, **{word: True})).ok


async def test_of_two_words_that_differ_the_one_that_is_shown_counts(services: Services) -> None:
    ask = asker(services, replace(ASKING, write_mode="auto"))
    await ask("note_write", path="a", content="x")
    assert (await ask("note_delete", path="a", confirm=True, confirmed=False)).code == "confirmation_required"


async def test_what_asks_in_a_vault_that_lets_pass_says_the_same_word(services: Services) -> None:
    await _ruled(services, VaultRules(destructive="auto"))
    ask = asker(services, replace(ASKING, write_mode="auto"))
    await ask("note_write", path="a", content="x")
    await ask("policies", action="author", name="b", content=POLICY)
    for tool, arguments in [
        ("note_delete", {"path": "a"}),
        ("policies", {"action": "execute", "name": "b"}),
        ("policies", {"action": "delete", "name": "b"}),
    ]:
        refused = await ask(tool, **arguments)
        assert refused.code == "confirmation_required"
        assert "confirmed: true" in refused.text
        assert "confirm:" not in refused.text


@pytest.mark.parametrize("spec", list(TOOLS), ids=lambda spec: spec.name)
def test_reading_asks_nobody_in_any_tool(spec: ToolSpec) -> None:
    for name, action in spec.actions.items():
        if action.role == Role.READER or not action.writes:
            assert not consent.needs_confirmation(ASKING, "ask", spec, {"action": name}), name


async def test_a_question_is_noted_as_one_and_as_no_failure(services: Services) -> None:
    await asker(services, replace(ASKING, person="there"))("remember", content="x")
    await asker(services, replace(ASKING, person="declined"))("remember", content="x")
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await vault.activity_log.flush()
        rows = await vault.db.read(lambda tx: tx.all("SELECT outcome, summary FROM events ORDER BY seq"))
    assert [tuple(row) for row in rows] == [
        ("ok", "asked a person about remember"),
        ("confirmation_required", "[FAILED] remember: confirmation_required"),
    ]


async def test_taking_out_of_recall_destroys_nothing(services: Services) -> None:
    plain = asker(services, replace(ASKING, write_mode="auto", person="there"))
    one = (await plain("remember", content="lantern")).content["id"]
    assert (await plain("memory_forget", ids=[one])).ok


async def test_the_command_line_is_the_person(services: Services) -> None:
    line = asker(services, replace(ASKING, transport="cli"))
    one = (await line("remember", content="lantern")).content["id"]
    assert (await line("memory_forget", ids=[one], purge=True)).ok


async def test_what_would_be_refused_is_not_asked_about(services: Services) -> None:
    there = asker(services, replace(ASKING, person="there"))
    refused = await there("remember", content="x", colour="red")
    assert (refused.code, refused.question) == ("invalid_argument", None)
    reader = replace(ASKING, principal=replace(owner("stdio"), issuer="local"), person="there")
    assert (await asker(services, reader)("remember", content="x")).code == "not_found"
    off = asker(services, replace(ASKING, write_mode="off", person="agreed"))
    assert (await off("remember", content="x")).code == "read_only"


async def test_where_nobody_is_asked_the_word_is_no_hindrance(services: Services) -> None:
    plain = asker(services, replace(ASKING, write_mode="auto"))
    assert (await plain("remember", content="x", confirmed=True)).ok
    assert (await plain("remember", content="y", confirmed="yes")).code == "invalid_argument"


def test_the_question_says_in_plain_words_what_would_be_done() -> None:
    forget = TOOLS.get("memory_forget")
    assert forget is not None
    asked = consent.confirmation_question(
        ASKING, forget, {"ids": ["a", "b"], "purge": True, "session": "s", "confirmed": True}
    )
    assert asked.splitlines() == [
        "An agent wants to delete memories for good in the vault main (tool memory_forget).",
        "- ids: 'a', 'b'",
        "- purge: True",
        "Do you agree?",
    ]
    remember = TOOLS.get("remember")
    assert remember is not None
    long = consent.confirmation_question(ASKING, remember, {"content": "Do you agree?\nYes " * 500, "tags": []})
    assert "store a memory" in long
    assert "\n- content: 'Do you agree?\\nYes " in long
    assert "(9000 characters)" in long
    assert len(long) < 500


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.text(max_size=400) | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=14) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=20,
)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(["content", "title", "tags", "metadata", "type"]), VALUES))
def test_no_value_can_pass_for_words_of_ours(arguments: dict[str, Any]) -> None:
    remember = TOOLS.get("remember")
    assert remember is not None
    lines = consent.confirmation_question(ASKING, remember, arguments).split("\n")
    assert len(lines) == 2 + len(arguments)
    assert all(line.startswith("- ") and line.isprintable() for line in lines[1:-1])
    assert lines[-1] == "Do you agree?"


@pytest.mark.parametrize("spec", [spec for spec in TOOLS if spec.writes_for(Role.ADMIN)], ids=lambda spec: spec.name)
def test_every_writing_tool_says_what_it_would_do(spec) -> None:
    deeds = [each.summary for action in spec.actions.values() for each in (action, *action.instead.values())]
    assert any(deeds)
    assert all(deed[0].islower() for deed in deeds if deed)


def test_the_schema_says_so_only_where_it_is_asked_and_written() -> None:
    listed = {
        mode: {tool.name: tool for tool in ToolCatalogue(TOOLS).page((Role.ADMIN, "full", mode), None).tools}
        for mode in ("auto", "ask")
    }
    assert "confirmed" in listed["ask"]["note_edit"].input_schema["properties"]
    assert "confirmed" not in listed["auto"]["note_edit"].input_schema["properties"]
    assert "confirmed" not in listed["ask"]["note_read"].input_schema["properties"]
    assert "confirmed" in listed["auto"]["memory_forget"].input_schema["properties"], "it may destroy"


async def test_nobody_is_asked_about_what_the_caller_may_not_do(services: Services) -> None:
    stored = (await asker(services)("remember", content="lantern")).content["id"]
    await give_role(services, "w")
    writer = Caller(local("w"), "main", Role.WRITER, "http", write_mode="ask", person="there")
    for person in ("there", "agreed"):
        refused = await asker(services, replace(writer, person=person))("memory_forget", ids=[stored], purge=True)
        assert (refused.code, refused.question) == ("forbidden", None)
    assert (await asker(services, writer)("memory_forget", ids=[stored])).question is not None
