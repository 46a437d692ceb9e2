"""``find_notes``: filters, orders and pages over what is known of notes.

Covers vaults.files.notebook.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from server.services import Services
from tests.conftest import Asking, asker, open_at
from tests.noted import folder, indexed, put, settled
from vaults.domain.notes.read import note_listing
from vaults.files.notebook import IndexProgress

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOTES = {
    "plan.md": "---\ntitle: Überblick\ntags: [Work/Now, idea]\nstatus: Open\nrank: 3\n---\ntext\n",
    "projects/alpha.md": "---\naliases: [First Project]\nstatus: open\ncreated: 2024-05-01\n---\n# Alpha\n#work\n",
    "projects/deep/beta.md": "# beta\n" + "x" * 500 + "\n",
    "Projects/other.md": "other\n",
    "projects-old/gamma.md": "---\nstatus: [open, late]\nblob: " + "y" * 3000 + "\n---\n#idea\n",
}


@asynccontextmanager
async def noted(data: Path) -> AsyncIterator[Services]:
    root = folder(data)
    put(root, NOTES)
    for day, path in enumerate(NOTES, 1):
        os.utime(root / path, (1_700_000_000 + day * 86_400,) * 2)
    async with open_at(data) as services:
        await indexed(services, len(NOTES))
        yield services


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def notes(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Services]:
    """For tests that only read."""
    async with noted(tmp_path_factory.mktemp("listing")) as services:
        yield services


@pytest_asyncio.fixture(loop_scope="module")
async def own_notes(tmp_path: Path) -> AsyncIterator[Services]:
    async with noted(tmp_path) as services:
        yield services


@pytest.fixture
def find(notes: Services) -> Asking:
    ask = asker(notes)

    async def paths(**arguments: object) -> object:
        outcome = await ask("find_notes", **arguments)
        assert outcome.ok, outcome.text
        assert outcome.content["total"] >= len(outcome.content["notes"])
        return [note["path"] for note in outcome.content["notes"]]

    return paths


async def test_each_filter_narrows_and_all_together_too(find: Asking) -> None:
    assert await find() == sorted(NOTES)
    assert await find(folder="projects/") == ["projects/alpha.md", "projects/deep/beta.md"]
    assert await find(where={"status": "OPEN"}) == ["plan.md", "projects-old/gamma.md", "projects/alpha.md"]
    assert await find(where={"status": ["late", "gone"]}) == ["projects-old/gamma.md"]
    assert await find(where={"rank": 3.0}) == ["plan.md"]
    assert await find(where={"status": []}) == []
    assert await find(title_contains="ALPH") == ["projects/alpha.md"]
    assert await find(title_contains="überBLICK") == ["plan.md"]
    assert await find(title_contains="first proj") == ["projects/alpha.md"]
    assert await find(title_contains="%") == []
    assert await find(folder="projects", where={"status": "open"}, has_tag="work") == ["projects/alpha.md"]


async def test_tags_are_found_in_any_case_and_by_what_is_above_them(find: Asking) -> None:
    for tag in ("work", "#Work", "WORK/", "work"):
        assert await find(has_tag=tag) == ["plan.md", "projects/alpha.md"], tag
    assert await find(has_tag="work/now") == ["plan.md"]
    assert await find(has_all=["work", "idea"]) == ["plan.md"]
    assert await find(has_any=["idea", "nothing"]) == ["plan.md", "projects-old/gamma.md"]
    assert await find(has_tag="work", has_any=["idea"]) == ["plan.md"]


async def test_times_are_from_the_first_on_and_before_the_second(find: Asking) -> None:
    assert (
        await find(modified_after="2023-11-17", modified_before="2023-11-18T23:00:00Z")
        == [
            "projects/deep/beta.md",
            "Projects/other.md",
        ][::-1]
    )
    assert await find(created_before="2024-05-02", created_after="2024-05-01") == ["projects/alpha.md"]


async def test_orders(find: Asking) -> None:
    by_time = ["plan.md", "projects/alpha.md", "projects/deep/beta.md", "Projects/other.md", "projects-old/gamma.md"]
    assert await find(sort_by="modified") == by_time
    assert await find(sort_by="modified", order="desc", limit=2) == by_time[::-1][:2]
    assert await find(sort_by="title") == [
        "projects/alpha.md",
        "projects/deep/beta.md",
        "projects-old/gamma.md",
        "Projects/other.md",
        "plan.md",
    ]
    assert (await find(sort_by="size", order="desc"))[:2] == ["projects-old/gamma.md", "projects/deep/beta.md"]


@pytest.mark.parametrize("sort_by", ["path", "title", "modified", "created", "size"])
@pytest.mark.parametrize("order", ["asc", "desc"])
async def test_pages_show_every_note_once(notes: Services, sort_by: str, order: str) -> None:
    ask = asker(notes)
    whole = [note["path"] for note in (await ask("find_notes", sort_by=sort_by, order=order)).content["notes"]]
    seen, cursor = [], {}
    while True:
        page = (await ask("find_notes", sort_by=sort_by, order=order, limit=2, **cursor)).content
        assert page["total"] == len(NOTES)
        seen += [note["path"] for note in page["notes"]]
        if "cursor" not in page:
            break
        cursor = {"cursor": page["cursor"]}
    assert seen == whole


async def test_a_budget_cuts_the_page_and_long_frontmatter(notes: Services) -> None:
    ask = asker(notes)
    page = (await ask("find_notes", max_tokens=300)).content
    assert 0 < len(page["notes"]) < len(NOTES)
    assert page["truncated"]
    assert page["cursor"]
    gamma = (await ask("find_notes", folder="projects-old")).content["notes"][0]
    assert gamma["frontmatter"] == {"status": ["open", "late"]}


async def test_a_title_of_any_length_can_be_paged_over(own_notes: Services, tmp_path: Path) -> None:
    put(folder(tmp_path), {f"{name}.md": f"---\ntitle: {'Ä' * 20_000}{name}\n---\n" for name in "abc"})
    await indexed(own_notes, len(NOTES) + 3)
    ask, seen, cursor = asker(own_notes), [], {}
    while cursor is not None:
        page = (await ask("find_notes", sort_by="title", limit=1, **cursor)).content
        seen += [note["path"] for note in page["notes"]]
        assert len(page["notes"][0]["title"]) <= 300
        cursor = {"cursor": page["cursor"]} if "cursor" in page else None
    assert sorted(seen) == sorted([*NOTES, "a.md", "b.md", "c.md"])


async def test_what_is_no_folder_time_tag_or_cursor_is_refused_by_name(notes: Services) -> None:
    ask = asker(notes)
    other = (await ask("find_notes", limit=1)).content["cursor"]
    for arguments, name in (
        ({"folder": "../x"}, "folder"),
        ({"folder": ".obsidian"}, "folder"),
        ({"modified_after": "yesterday"}, "modified_after"),
        ({"has_tag": "#"}, "has_tag"),
        ({"cursor": "x"}, "cursor"),
        ({"cursor": other, "has_tag": "work"}, "cursor"),
        ({"sort_by": "luck"}, "sort_by"),
    ):
        refused = await ask("find_notes", **arguments)
        assert (refused.code, refused.content["error"]["details"]["field"]) == ("invalid_argument", name)


async def test_an_index_that_is_behind_says_so(own_notes: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(note_listing, "SYNC_WAIT_S", 0.01)
    await settled(own_notes)  # vectors that are still to come are warned of, too
    ask = asker(own_notes)
    async with own_notes.pool.lease(own_notes.registry_cache.entry("main")) as vault:
        vault.notes.report(IndexProgress("scanning", 3400, 10_000))
        for tool, arguments in (("find_notes", {}), ("search", {"query": "alpha"})):
            assert (await ask(tool, **arguments)).content["warnings"][0] == "notes: 3400 of 10000 read so far"
        assert "warnings" not in (await ask("search", query="alpha", kinds=["memory"])).content
        vault.notes.report(IndexProgress("unavailable", reason="the folder is gone"))
        assert "the folder is gone" in (await ask("find_notes")).content["warnings"][0]
        vault.notes.report(IndexProgress("ready"))
        assert "warnings" not in (await ask("find_notes")).content
