"""Corrections: who may say, see and settle them, and where they are told until they are resolved.

Covers vaults.domain.memories.corrections.
"""

from __future__ import annotations

import json

import pytest

from auth.roles import Role
from server.services import Services
from tests.conftest import Asking, Opening
from tests.noted import folder, indexed, put
from tests.people import person, rewrite, rows
from tests.server.rendering.answers import is_told
from vaults.domain.memories import corrections

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3


async def _recorded(ask: Asking, **more: str) -> str:
    done = await ask("corrections", action="record", **{"wrong": "We use MySQL", "right": "We use SQLite", **more})
    assert done.ok, done.text
    return str(done.content["corrections"][0]["id"])


async def _open(ask: Asking, **more: object) -> list[str]:
    return [each["id"] for each in (await ask("corrections", **more)).content["corrections"]]


async def test_a_correction_is_recorded_listed_resolved_and_taken_back(services: Services) -> None:
    ann, bob, rob = [await person(services, *who) for who in (("ann",), ("bob",), ("rob", Role.READER))]
    one = await _recorded(ann, subject="storage")
    assert await _recorded(ann, subject="storage") == one, "said twice is said once"
    listed = await rob("corrections")
    (each,) = listed.content["corrections"]
    assert (each["author"], each["kind"], each["subject"], each["status"]) == ("ann", "fact", "storage", "open")
    assert is_told(listed.text, one, "wrong We use MySQL, right We use SQLite", "subject storage", "author ann", "open")
    for action in ("record", "resolve", "undo"):
        assert (await rob("corrections", action=action, id=one, wrong="a", right="b")).code == "forbidden"
    done = await bob("corrections", action="resolve", id=one, resolution="mended the page")
    assert is_told(done.text, "status resolved", "resolution mended the page", "resolved_by bob")
    assert (await _open(rob), await _open(rob, status="resolved"), await _open(rob, status="all")) == ([], [one], [one])
    assert (await bob("corrections", action="resolve", id=one)).code == "conflict"
    (back,) = (await ann("corrections", action="undo", id=one)).content["corrections"]
    assert (back["status"], "resolved_by" in back, await _open(rob)) == ("open", False, [one])
    assert (await ann("corrections", action="undo", id=one)).content["corrections"][0]["status"] == "undone"
    assert (await _open(rob), await _open(rob, status="all")) == ([], [one])
    assert (await ann("corrections", action="undo", id=one)).code == "conflict"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"action": "record", "wrong": "a"}, "invalid_argument"),
        ({"action": "record", "right": "a"}, "invalid_argument"),
        ({"action": "record", "wrong": " ", "right": "b"}, "invalid_argument"),
        ({"action": "record", "wrong": "a", "right": "b", "kind": "memory"}, "invalid_argument"),
        ({"action": "record", "wrong": "a", "right": "b", "kind": "memory", "subject": "none"}, "not_found"),
        ({"action": "record", "wrong": "a", "right": "b", "kind": "note", "subject": "none.md"}, "not_found"),
        ({"action": "record", "wrong": "a", "right": "b", "kind": "note", "subject": "../x"}, "invalid_argument"),
        ({"action": "record", "wrong": TOKEN, "right": "b"}, "invalid_argument"),
        ({"action": "resolve"}, "invalid_argument"),
        ({"action": "resolve", "id": "none"}, "not_found"),
        ({"action": "undo", "id": "none"}, "not_found"),
        ({"action": "list", "cursor": "x"}, "invalid_argument"),
        ({"action": "list", "status": "odd"}, "invalid_argument"),
    ],
)
async def test_what_cannot_be_done_says_why(opening: Opening, arguments: dict[str, object], code: str) -> None:
    async with opening({"hygiene.secrets": "refuse"}) as services:
        refused = await (await person(services, "ann"))("corrections", **arguments)
        assert refused.code == code, refused.text
        assert TOKEN not in refused.text


async def test_secrets_are_taken_out(opening: Opening) -> None:
    async with opening({"hygiene.secrets": "redact"}) as services:
        ann = await person(services, "ann")
        made = await ann("corrections", action="record", wrong=f"the key is {TOKEN}", right="it is in the safe")
        one = made.content["corrections"][0]["id"]
        assert made.content["warnings"]
        settled = await ann("corrections", action="resolve", id=one, resolution=f"now {TOKEN}")
        assert TOKEN not in json.dumps(
            [made.content, settled.content, await rows(services, "SELECT * FROM corrections")]
        )


async def test_who_corrects_a_fact_learns_not_whether_it_names_a_private_memory(services: Services) -> None:
    ann, bob = await person(services, "ann"), await person(services, "bob")
    mine = (await ann("remember", content="The canary sings", visibility="private")).content["id"]
    recorded = [await _recorded(bob, subject=name) for name in (mine, "none")]
    assert await _open(bob) == recorded[::-1]
    assert await _open(ann) == recorded[::-1]
    for each in recorded:
        assert (await bob("corrections", action="undo", id=each)).ok


async def test_a_correction_about_a_private_memory_is_its_owners_alone(services: Services) -> None:
    ann, bob = await person(services, "ann"), await person(services, "bob", Role.ADMIN)
    mine = (await ann("remember", content="The canary sings", visibility="private")).content["id"]
    hidden = await bob("corrections", action="record", kind="memory", subject=mine, wrong="a", right="b")
    absent = await bob("corrections", action="record", kind="memory", subject="none", wrong="a", right="b")
    assert (hidden.code, hidden.text.replace(mine, "none")) == ("not_found", absent.text)
    kinds = ("memory", "fact")
    about = [await _recorded(ann, kind=kind, subject=mine, wrong="canary sings", right=kind) for kind in kinds]
    assert set(await _open(ann)) == set(about)
    calls = (
        ("corrections", {"status": "all"}), ("corrections", {"subject": mine}), ("context", {}),
        ("context", {"query": "sings"}), ("session_resume", {}), ("recall", {"query": "sings"}),
    )  # fmt: skip
    seen = [await bob(tool, **arguments) for tool, arguments in calls]
    assert all("canary" not in json.dumps(each.content) + each.text for each in seen)
    assert not any(mine in json.dumps(each.content) for each in seen)
    for action in ("resolve", "undo"):
        assert (await bob("corrections", action=action, id=about[0])).code == "not_found"
    (told,) = [each for each in (await ann("context")).content["brief"] if each["id"] == about[0]]
    assert "Wrong: canary sings" in told["text"]
    await rewrite(services, "UPDATE memories SET visibility = 'shared'")
    assert set(await _open(bob)) == set(about)
    assert (await bob("memory_forget", ids=[mine], purge=True, confirmed=True)).ok
    assert await rows(services, "SELECT 1 FROM corrections") == []


async def test_open_ones_are_told_in_briefs_and_beside_what_they_are_about_until_resolved(services: Services) -> None:
    put(folder(services.data), {"store.md": "# Store\n\nWe keep data in MySQL.\n"})
    await indexed(services, 1)
    ann, bob = await person(services, "ann"), await person(services, "bob")
    memory = (await bob("remember", content="The database is MySQL", type="fact")).content["id"]
    one = await _recorded(ann, kind="memory", subject=memory)
    two = await _recorded(ann, kind="note", subject="store", wrong="MySQL\n§ State", right="SQLite")

    async def told() -> list[bool]:
        brief, pack = await bob("context"), await bob("context", query="which database: MySQL", format="prompt")
        found, opened = await bob("recall", query="database MySQL"), await bob("memory_get", ids=[memory])
        searched = await bob("search", query="MySQL data", kinds=["note"])
        read = await bob("note_read", path=path)
        about_one = [one in each.text for each in (brief, pack, found, opened)]
        return about_one + [two in each.text for each in (brief, pack, searched, read)]

    path = "store"
    assert await told() == [True] * 8
    brief = (await bob("context")).content["brief"]
    (evidence,) = [each for each in brief if each["id"] == one]
    assert (evidence["author"], evidence["type"], "at" in evidence) == ("ann", "open correction, memory", True)
    assert "\n§ State" not in (await bob("context", format="prompt")).content["prompt"].replace("\n\\§", "")
    assert (await bob("note_move", path="store", to="kept/store.md")).ok
    assert (await bob("corrections", subject="kept/store")).content["corrections"][0]["id"] == two
    for each in (one, two):
        assert (await bob("corrections", action="resolve", id=each)).ok
    path = "kept/store"
    assert await told() == [False] * 8


async def test_a_workspace_hears_its_own_and_what_holds_everywhere(services: Services) -> None:
    home = await person(services, "ann", workspace="home")
    away, nowhere = await person(services, "bob", workspace="away"), await person(services, "cid")
    own, everywhere = await _recorded(home), await _recorded(nowhere)
    assert (await _open(away), set(await _open(home)), set(await _open(nowhere))) == (
        [everywhere], {own, everywhere}, {own, everywhere},
    )  # fmt: skip
    assert own not in (await away("context")).text


async def test_who_records_very_many_pushes_nobody_out_and_is_stopped(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corrections, "MAX_OPEN", 20)
    ann, mal, ben = [await person(services, who) for who in ("ann", "mal", "ben")]
    own = await _recorded(ann)
    for number in range(20):
        await _recorded(mal, wrong=f"lie {number}")
    assert (await mal("corrections", action="record", wrong="one more", right="x")).code == "quota_exceeded"
    brief = [each for each in (await ben("context")).content["brief"] if each["kind"] == "correction"]
    assert own in {each["id"] for each in brief[:2]}
    assert len(brief) <= 6
    pack = (await ben("context", budget_tokens=300)).content
    assert pack["budget"]["used"] <= 300


async def test_pages_follow_one_another_and_belong_to_one_question(services: Services) -> None:
    ann = await person(services, "ann")
    made = [await _recorded(ann, wrong=f"number {n}") for n in range(5)]
    first = (await ann("corrections", limit=3)).content
    assert (first["total"], first["truncated"]) == (5, True)
    rest = (await ann("corrections", limit=3, cursor=first["cursor"])).content
    assert [each["id"] for each in (*first["corrections"], *rest["corrections"])] == made[::-1]
    assert (await ann("corrections", status="all", cursor=first["cursor"])).code == "invalid_argument"
