"""What became of things, what nobody looked after, what was going on at a time.

Covers vaults.domain.insights.entity_evolution, vaults.domain.insights.note_facts,
vaults.domain.insights.stale_notes, vaults.domain.insights.vault_growth, vaults.graph.daily_counts.
"""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from auth.roles import Role
from server.services import Services
from tests.conftest import Asking, Opening
from tests.noted import folder, indexed, put, until
from tests.people import person, rewrite, rows
from vaults import clock
from vaults.db.sql import Writer
from vaults.graph import daily_counts, graph_clock

_PUMPS = "Turbo pumps of the large kind drive cold water through long pipes under high pressure."
NOTES = {
    "hub.md": f"---\naliases: [Centre]\n---\n# Hub\n\n{_PUMPS}\n\n- [ ] check 📅 2020-01-01\n- [x] done\n",
    **{f"n{number}.md": f"[[Hub]] number {number}\n" for number in range(4)},
    "alone.md": f"{_PUMPS}\n\n[[Nowhere]]\n",
    "daily/2026-03-02.md": "Met.\n",
}


def _today() -> date:
    return datetime.now(UTC).date()


async def _laid(services: Services) -> Path:
    root = folder(services.data)
    put(root, NOTES)
    await indexed(services, len(NOTES))
    return root


def _aged(root: Path, path: str, days: int) -> None:
    then = time.time() - days * 86_400
    os.utime(root / path, (then, then))


async def _insight(ask: Asking, action: str, **more: Any) -> dict[str, Any]:
    outcome = await ask("insights", action=action, **more)
    assert outcome.ok, outcome.text
    return outcome.content


async def test_an_evolution_tells_who_changed_a_note_and_who_began_to_link_to_it(services: Services) -> None:
    ann, bob = await person(services, "ann"), await person(services, "bob", Role.READER)
    await _laid(services)
    await ann("note_edit", path="alone.md", content="and [[Centre]] too")
    await ann("note_edit", path="hub.md", content="More.")
    await ann("note_edit", path="n0.md", action="replace", search="[[Hub]]", replacement="nothing")
    one = (await ann("remember", content="It was built in May", entity="centre")).content["id"]
    found = (await _insight(bob, "evolution", entity="Centre", by="day"))["evolution"]
    assert (found["name"], found["path"], found["edits"], found["linked_from"]) == ("Hub", "hub.md", 1, 4)
    assert found["by"] == {"ann": 1}
    assert {(each["what"], each["ref"]) for each in found["happenings"] if each["what"] != "changed"} == {
        ("linked", "alone.md"), ("unlinked", "n0.md"), ("remembered", one),
    }  # fmt: skip
    (span,) = found["spans"]
    assert (span["mentions"], span["linked"], span["unlinked"], span["changes"]) == (2, 1, 1, 1)
    assert (await bob("insights", action="evolution")).code == "invalid_argument"
    assert (await bob("insights", action="evolution", entity="Nobody at all")).code == "not_found"


async def test_the_evolution_of_a_note_follows_it_back_through_its_moves(services: Services) -> None:
    ann, bob = await person(services, "ann"), await person(services, "bob")
    await _laid(services)
    await ann("note_edit", path="alone.md", content="First.")
    await bob("note_move", path="alone.md", to="moved/else.md")
    await ann("note_write", path="alone.md", content="Another note")
    await bob("note_move", path="moved/else.md", to="moved/again.md")
    await ann("note_edit", path="moved/again.md", content="Last.")
    found = (await _insight(bob, "evolution", entity="moved/again.md"))["evolution"]
    assert found["by"] == {"ann": 2, "bob": 2}


async def test_a_name_without_a_note_has_an_evolution_of_what_the_caller_may_see(services: Services) -> None:
    ann, bob = await person(services, "ann"), await person(services, "bob", Role.ADMIN)
    await _laid(services)
    await ann("remember", content="Hush", entity="Secret Qzx", visibility="private")
    await ann("remember", content="Hush too", entity="Hub", visibility="private")
    assert (await _insight(ann, "evolution", entity="secret qzx"))["evolution"]["memories"] == 1
    assert (await _insight(bob, "evolution", entity="Nowhere"))["evolution"]["linked_from"] == 1
    hidden = await bob("insights", action="evolution", entity="Secret Qzx")
    absent = await bob("insights", action="evolution", entity="Absent Qzx")
    assert hidden.code == "not_found"
    assert hidden.text.replace("Secret", "") == absent.text.replace("Absent", "")
    theirs = await bob("insights", action="evolution", entity="Hub")
    assert theirs.content["evolution"].get("memories", 0) == 0
    assert "Hush" not in json.dumps(theirs.content) + theirs.text


async def test_stale_is_what_others_rely_on_and_nobody_changed(services: Services) -> None:
    bob = await person(services, "bob", Role.READER)
    root = folder(services.data)
    put(root, NOTES)
    for path in NOTES:
        _aged(root, path, 10)
    _aged(root, "hub.md", 400)
    _aged(root, "alone.md", 900)
    await indexed(services, len(NOTES))
    found = await _insight(bob, "staleness")
    (stale,) = found["stale"]  # nothing relies on alone.md
    assert (stale["path"], stale["days"], found["total"]) == ("hub.md", 400, 1)
    assert "4 notes link to it" in stale["because"]
    assert "1 task in it is overdue" in stale["because"]
    assert "4 of 4 notes it is linked with changed in 30 days" in stale["because"]
    assert (await _insight(bob, "staleness", days=500))["stale"] == []
    assert (await _insight(bob, "staleness", folder="daily"))["stale"] == []
    assert (await bob("insights", action="staleness", days=-1)).code == "invalid_argument"


async def test_the_context_of_a_date_is_what_was_written_decided_and_left(services: Services) -> None:
    ann, bob = await person(services, "ann"), await person(services, "bob", Role.READER)
    await _laid(services)
    at = {"occurred_at": "2026-03-03T10:00:00Z"}
    mine = (await ann("remember", content="We take PostgreSQL", type="decision", **at)).content["id"]
    secret = (await ann("remember", content="I doubt it", visibility="private", **at)).content["id"]
    await ann("remember", content="Later", occurred_at="2026-03-20T10:00:00Z")
    context = (await _insight(bob, "context", date="2026-03-02", days=2))["context"]
    assert [(each["what"], each["ref"]) for each in context["items"]] == [
        ("daily", "daily/2026-03-02.md"),
        ("decision", mine),
    ]
    assert (context["first"], context["last"]) == ("2026-02-28", "2026-03-04")
    assert secret in json.dumps(await _insight(ann, "context", date="2026-03-02"))
    await ann("handoff_create", goal="go on", current_state="s", next_action="n")
    await ann("handoff_create", goal="only for Carol", current_state="s", next_action="n", to="carol")
    await ann("session_save", summary="Built the hub")
    now = await bob("insights", action="context", limit=200)
    assert {"created", "handoff", "session"} <= set(now.content["context"]["counts"])
    assert "Built the hub" in now.text
    assert "only for Carol" not in json.dumps(now.content) + now.text
    for bad in ("yesterday", "2026-13-01", "x" * 50):
        assert (await bob("insights", action="context", date=bad)).code == "invalid_argument"
    assert (await bob("insights", action="context", date="0001-01-01", days=3650)).ok
    assert (await bob("insights", action="context", date="9999-12-31", days=3650)).ok


async def test_of_a_note_all_is_told_with_what_to_do_for_it(services: Services) -> None:
    ann, bob = await person(services, "ann"), await person(services, "bob", Role.READER)
    await _laid(services)
    await ann("remember", content="Hub is slow", visibility="private")
    await ann("remember", content="Hub is fast")
    note = (await _insight(bob, "note_intelligence", entity="Centre"))["note"]
    assert (note["path"], note["links_in"], note["links_out"], note["sections"]) == ("hub.md", 4, 0, 1)
    assert (note["tasks_open"], note["tasks_overdue"], note["memories"]) == (1, 1, 1)
    assert (await _insight(ann, "note_intelligence", entity="Centre"))["note"]["memories"] == 2
    assert "it links to nothing" in note["advice"]
    alone = (await _insight(bob, "note_intelligence", entity="alone"))["note"]
    assert alone["broken"] == ["Nowhere"]
    assert alone["words"] == len(_PUMPS.split()) + 1
    assert (await bob("insights", action="note_intelligence", entity="Nobody")).code == "not_found"
    assert (await bob("insights", action="note_intelligence")).code == "invalid_argument"


async def test_notes_near_in_meaning_that_are_not_linked_are_told(services: Services) -> None:
    bob = await person(services, "bob", Role.READER)
    root = await _laid(services)
    put(root, {"other.md": f"{_PUMPS}\n", "linked.md": f"{_PUMPS} [[alone]]\n"})
    await indexed(services, len(NOTES) + 2)
    asked = {"entity": "alone", "mode": "semantic_links"}
    await bob("search", query="turbo")  # the model is loaded on first need
    await until(services, lambda tx: int(tx.value("SELECT COUNT(*) FROM entity_vectors")) == len(NOTES) + 2)
    near = await _insight(bob, "note_intelligence", **asked)
    assert (near["path"], [each["path"] for each in near["near"]]) == ("alone.md", ["other.md"])
    similar = (await _insight(bob, "note_intelligence", entity="alone"))["note"]["similar"]
    assert {each["path"]: each["linked"] for each in similar} == {"other.md": False, "linked.md": True}


async def test_without_a_model_it_is_said_that_meaning_is_not_known(opening: Opening) -> None:
    async with opening({"embedding.engine": "off"}) as services:
        bob = await person(services, "bob", Role.READER)
        await _laid(services)
        near = await _insight(bob, "note_intelligence", entity="alone", mode="semantic_links")
        assert near["near"] == []
        assert "meaning is not known yet" in near["warnings"][0]


async def test_growth_counts_what_came_and_no_memory_of_others(services: Services) -> None:
    ann, bob = await person(services, "ann"), await person(services, "bob", Role.ADMIN)
    await _laid(services)
    await ann("remember", content="ours")
    await ann("remember", content="mine", visibility="private")
    await ann("note_edit", path="alone.md", content="and [[Centre]] too")
    theirs, mine = await _insight(bob, "growth", by="day", periods=3), await _insight(ann, "growth", by="week")
    last = theirs["growth"][-1]
    assert [each["period"] for each in theirs["growth"]] == [
        (_today() - timedelta(days=back)).isoformat() for back in (2, 1, 0)
    ]
    assert (last["notes"], last["memories"], last["edits"], last["links_added"]) == (len(NOTES), 1, 1, 1)
    assert mine["change"]["memories"] == 2
    assert (await bob("insights", action="growth", by="year")).code == "invalid_argument"


async def test_each_day_is_written_down_once_and_anew_when_the_graph_changed(services: Services) -> None:
    bob = await person(services, "bob", Role.READER)
    await _laid(services)
    await until(services, lambda tx: not daily_counts.is_due(tx))
    ((day, counts),) = await rows(services, "SELECT day, counts FROM graph_days")
    assert day == _today().isoformat()
    assert set(json.loads(counts)) == {"notes", "links", "broken", "linked", "tasks"}
    yesterday = (_today() - timedelta(days=1)).isoformat()
    await rewrite(services, "UPDATE graph_days SET day = ?, counts = ?", yesterday, '{"notes": 3, "links": 2}')
    found = await _insight(bob, "growth", by="day", periods=2)
    assert found["growth"][0]["totals"]["notes"] == 3


async def test_a_day_is_owed_anew_an_hour_after_it_was_written_if_the_graph_changed(services: Services) -> None:
    await _laid(services)
    now = clock.now()
    midnight = f"{now[:10]}T00:00:00.000Z"
    an_hour_ago = midnight <= clock.ago(daily_counts.REWRITE_AFTER_S)

    def owed(tx: Writer, said: str) -> bool:
        tx.run("DELETE FROM vault_info WHERE key = 'day'")
        tx.run("INSERT INTO vault_info (key, value) VALUES ('day', ?)", (said,))
        return daily_counts.is_due(tx)

    def owes(tx: Writer) -> list[bool]:
        said = ("2020-01-01T00:00:00.000Z 1", f"{now} 1", f"{midnight} 1", f"{midnight} {graph_clock.read_latest(tx)}")
        return [owed(tx, each) for each in said]

    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        assert await vault.db.write(owes) == [True, False, an_hour_ago, False]


async def test_answers_keep_to_their_bounds(services: Services) -> None:
    bob = await person(services, "bob", Role.READER)
    await _laid(services)
    for action in ("evolution", "staleness", "context", "note_intelligence", "growth"):
        found = await bob("insights", action=action, entity="Hub", limit=1, max_tokens=50)
        assert found.ok
        assert len(found.text) < 2_000
