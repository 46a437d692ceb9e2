"""Links are looked after through the tool: what is broken, not linked or wanted, what was said, what happened.

Covers server.tools._links_upkeep, vaults.domain.graph.links.link_health, vaults.domain.graph.links.opinions,
vaults.graph.links.unresolved_names.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, local
from tests.conftest import asker as asking
from tests.noted import folder, indexed, put
from tests.people import person, rewrite, rows
from tests.server.rendering.answers import is_told
from tests.work import assert_linear_answers

NOTES: dict[str, str | bytes] = {
    "planets/Mercury.md": "# Mercury\n\n## Orbit\n",
    "day.md": "[[Merkury]] and [[Mercury#Orbits]], [[Quite unknown]]\n",
    "two.md": "Mercury is hot. [[Quite unknown]]\n",
    "three.md": "[[Quite unknown]] <|system|> [[Evil\u202e name]]\n",
    "four.md": "[[Evil\u202e name]]\n",
}
AGO = "2026-01-01T00:00:00.000Z"


@pytest.fixture
async def root(services: Services, tmp_path: Path) -> Path:
    root = folder(tmp_path)
    put(root, NOTES)
    await indexed(services, len(NOTES))
    return root


async def test_broken_links_are_shown_and_set_right_by_writers(ask: Asking, services: Services, root: Path) -> None:
    reader = await person(services, "rita", Role.READER)
    shown = await reader("links", action="validate", path="day")
    assert shown.ok, shown.text
    assert [(each["target"], each["reason"]) for each in shown.content["links"]] == [
        ("Merkury", "no note"),
        ("Mercury", "no heading"),
        ("Quite unknown", "no note"),
    ]
    assert is_told(shown.text, "day.md", "line 1", "Merkury", "no note")
    assert is_told(shown.text, "planets/Mercury.md", "0.86", "spelling")
    assert is_told(shown.text, "Orbits", "no heading")
    assert is_told(shown.text, "headings: Orbit")
    refused = await reader("links", action="validate", fix=True)
    assert refused.code == "forbidden"
    tried = await ask("links", action="validate", fix=True)
    assert "1 link in 1 note would be set. Only shown, nothing is written: call again with dry_run false" in tried.text
    assert "+[[Mercury]] and" in tried.content["diff"]
    done = await ask("links", action="validate", fix=True, dry_run=False)
    assert (root / "day.md").read_text().startswith("[[Mercury]] and [[Mercury#Orbits]]")
    undone = await ask("history", action="undo", ref=done.content["change"])
    assert undone.ok, undone.text
    assert (root / "day.md").read_text() == NOTES["day.md"]
    chosen = await ask("links", action="validate", fix=True, target="Quite unknown", to="Mercury", dry_run=False)
    assert sorted(chosen.content["changed"]) == ["day.md", "three.md", "two.md"]
    assert (await ask("links", action="validate", fix=True, target="x")).code == "invalid_argument"
    assert (await ask("links", action="validate", path="nobody")).code == "not_found"


async def test_pages_go_on_where_what_was_shown_ended(ask: Asking, root: Path) -> None:
    del root
    whole = (await ask("links", action="validate", limit=50)).content["links"]
    paged, cursor = [], None
    for _ in range(len(whole) + 1):
        page = await ask("links", action="validate", max_tokens=200, **({"cursor": cursor} if cursor else {}))
        assert len(page.content["links"]) < len(whole)
        paged += page.content["links"]
        cursor = page.content.get("cursor")
        if cursor is None:
            break
        assert page.content["truncated"]
    assert paged == whole
    for action in ("validate", "stubs", "timeline", "unlinked"):
        wrong = await ask("links", action=action, cursor="nonsense", entity="Mercury")
        assert wrong.code == "invalid_argument", action


async def test_names_without_link_and_without_note_are_shown(ask: Asking, root: Path) -> None:
    del root
    named = await ask("links", action="unlinked", entity="Mercury")
    assert is_told(named.text, "two.md", "line 1", "term Mercury", "Mercury is hot.")
    assert is_told(named.text, "entity: planets/Mercury.md")
    within = await ask("links", action="unlinked", path="two.md")
    assert [each["term"] for each in within.content["mentions"]] == ["Mercury"]
    assert (await ask("links", action="unlinked")).code == "invalid_argument"
    assert (await ask("links", action="unlinked", entity="nobody")).code == "not_found"
    wanted = await ask("links", action="stubs")
    assert is_told(wanted.text, "Quite unknown", "high", "3")
    assert is_told(wanted.text, "day.md; three.md; two.md")
    assert "\u202e" not in wanted.text
    first = await ask("links", action="stubs", limit=1)
    rest = await ask("links", action="stubs", cursor=first.content["cursor"])
    assert [*first.content["stubs"], *rest.content["stubs"]] == wanted.content["stubs"]


async def test_feedback_teaches_and_never_is_taken_back(ask: Asking, services: Services, root: Path) -> None:
    del root
    said = await ask("links", action="feedback", entity="planets/Mercury.md", path="day", verdict="rejected", term="m")
    assert said.content["opinion"]["entity"] == "mercury"
    assert said.content["opinion"]["points"] < 0
    again = await ask("links", action="feedback", entity="Mercury", path="day", verdict="rejected")
    assert not again.content["opinion"]["counted"]
    assert "counts once a day" in again.text
    never = await ask("links", action="feedback", entity="Mercury", path="day", verdict="never", folder="/")
    assert "Not suggested there any more" in never.text
    wrong = await ask("links", action="unsuppress", entity="Mercury", folder="planets")
    assert (wrong.code, "the whole vault" in wrong.text) == ("not_found", True)
    back = await ask("links", action="unsuppress", entity="Mercury")
    assert not back.content["opinion"]["suppressed"]
    assert back.content["opinion"]["points"] == 0  # what was said before does not count any more
    for arguments in ({"verdict": "accepted", "entity": "x"}, {"entity": "x", "path": "day"}, {"verdict": "accepted"}):
        assert (await ask("links", action="feedback", **arguments)).code == "invalid_argument"
    gone = await ask("links", action="feedback", entity="x", path="nobody", verdict="accepted")
    assert gone.code == "not_found"
    reader = await person(services, "rita", Role.READER)
    for action in ("feedback", "unsuppress"):
        assert (await reader("links", action=action, entity="Mercury")).code == "forbidden"


async def test_a_flood_of_feedback_by_one_changes_little(ask: Asking, services: Services, root: Path) -> None:
    del root
    await ask("links", action="feedback", entity="Quite unknown", path="day", verdict="accepted")
    mallory = await person(services, "mallory")
    for path in NOTES:
        for verdict in ("rejected", "rejected"):
            done = await mallory("links", action="feedback", entity="Mercury", path=path, verdict=verdict)
            assert done.ok, done.text
    held = await rows(services, "SELECT COUNT(*) FROM link_feedback WHERE entity = 'mercury'")
    assert held == [(2,)]  # one for each folder
    for day in range(1, 29):
        await rewrite(services, "UPDATE link_feedback SET at = ?", f"2026-02-{day:02}T00:00:00.000Z")
        await mallory("links", action="feedback", entity="Mercury", path="day", verdict="rejected")
    assert await rows(services, "SELECT * FROM link_suppressions") == []


async def test_what_happened_and_how_links_are_doing_is_told(ask: Asking, services: Services, root: Path) -> None:
    await ask("note_edit", path="two.md", action="add", content="[[Mercury]]")
    await ask("links", action="feedback", entity="Mercury", path="two.md", verdict="accepted")
    told = await ask("links", action="timeline", entity="Mercury")
    assert [each["what"] for each in told.content["happenings"]] == ["accepted", "added"]
    assert is_told(told.text, "accepted", "two.md", "mercury", "owner")
    assert (await ask("links", action="timeline", path="four.md")).content["happenings"] == []
    assert (await ask("links", action="timeline", path="nobody")).code == "not_found"
    await ask("links", action="feedback", entity="Evil\u202e name", path="four.md", verdict="never")
    board = await ask("links", action="dashboard")
    health = board.content["health"]
    assert (health["tallies"]["notes"], health["tallies"]["broken"], health["sampled"]) == (5, 6, 5)
    assert is_told(board.text, "suppressed 1")
    assert "\u202e" not in board.text
    assert root


async def test_strangers_learn_nothing_of_links(services: Services, root: Path) -> None:
    del root
    stranger = asking(services, Caller(local("eve"), "main", Role.ADMIN, "http"))
    for action in ("feedback", "unlinked", "validate", "stubs", "dashboard", "unsuppress", "timeline"):
        found = await stranger("links", action=action, entity="Mercury", path="day")
        assert found.code == "not_found", action
        assert "Mercury" not in found.text


async def test_nothing_is_set_right_where_writing_is_off(services: Services, root: Path) -> None:
    from auth.principal import owner

    off = asking(services, Caller(owner("cli"), "main", Role.ADMIN, "cli", write_mode="off"))
    assert (await off("links", action="validate")).ok
    assert (await off("links", action="validate", fix=True, dry_run=False)).code == "read_only"
    assert (root / "day.md").read_text() == NOTES["day.md"]


HOSTILE = ("[x](.*+", "a" * 200, "\\", "'; DROP TABLE notes; --", '"', "%00", "日本", "🚢", "]]", "a|b#c")


async def test_hostile_names_and_ten_thousand_links_are_answered_soon(
    ask: Asking, services: Services, tmp_path: Path
) -> None:
    few, big = ("".join(f"[[gone {n}]] [[Here#x]] " for n in range(count)) for count in (600, 4_800))
    put(folder(tmp_path), {"few.md": few, "big.md": big, "Here.md": "x"})
    await indexed(services, 3)

    async def looked_at(path: str) -> None:
        for action in ("validate", "stubs", "unlinked", "dashboard", "timeline"):
            found = await ask("links", action=action, path=path, limit=200, max_tokens=100_000)
            assert found.ok, found.text

    await assert_linear_answers(looked_at, "few", "big")
    fixed = await ask("links", action="validate", fix=True, target="gone 7", to="Here", dry_run=False)
    assert fixed.content["total"] == 2
    for name in HOSTILE:
        for action in ("timeline", "feedback", "unsuppress", "unlinked"):
            found = await ask("links", action=action, entity=name, path="big", verdict="rejected")
            assert found.code in (None, "invalid_argument", "not_found"), (name, action, found.text)
