"""``note_read``: which part of a note comes back, and what is said where more is left.

Covers vaults.domain.notes.read.dated_notes, vaults.domain.notes.read.note_lookup.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path

import pytest
import pytest_asyncio

from server.services import Services
from tests.conftest import Asking, asker, open_at
from tests.noted import folder, indexed, put
from vaults.domain.notes.read import dated_notes

pytestmark = pytest.mark.asyncio(loop_scope="module")

PLAN = (
    "---\ntitle: The plan\ntags: [work/now]\naliases: [roadmap]\nstatus: open\n---\n"
    "Words before.\n\n# Goals\nOne goal.\n\n## Later\nMuch later.\n\n# Log\n- did it\n\n## Later\nAgain.\n"
)
LONG = "# One\n" + "a line of words\n" * 300 + "## Two\n" + "other words here\n" * 300 + "# Three\nend\n"
NOTES: dict[str, str | bytes] = {
    "projects/plan.md": PLAN,
    "long.md": LONG,
    "plain.md": "no headings\n" * 400,
    "crlf.md": b"\xef\xbb\xbf# A\r\nx\r\n\r\n# B\r\ny\r\n",
    "what? #1 (50%).md": "odd name\n",
    "daily/2026-11-20.md": "yesterday's notes\n",
    "binary.md": b"\x00\x01",
    "MEMORY.md": "# Memory\n- likes tea\n",
}


@asynccontextmanager
async def noted(data: Path) -> AsyncIterator[Services]:
    put(folder(data), NOTES)
    async with open_at(data) as services:
        await indexed(services, len(NOTES) - 1)
        yield services


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def read(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Asking]:
    """For tests that change nothing."""
    async with noted(tmp_path_factory.mktemp("parts")) as services:
        yield reader(services)


@pytest_asyncio.fixture(loop_scope="module")
async def own_notes(tmp_path: Path) -> AsyncIterator[Services]:
    async with noted(tmp_path) as services:
        yield services


@pytest.fixture
def own_read(own_notes: Services) -> Asking:
    return reader(own_notes)


def reader(services: Services) -> Asking:
    ask = asker(services)

    async def note_read(path: str, /, **arguments: object) -> object:
        return await ask("note_read", path=path, **arguments)

    return note_read


async def test_a_short_note_comes_with_its_text_and_what_is_known_of_it(read: Asking) -> None:
    plan = (await read("projects/plan.md")).content
    assert plan["text"] == PLAN
    assert (plan["title"], plan["tags"], plan["aliases"]) == ("The plan", ["work/now"], ["roadmap"])
    assert plan["frontmatter"]["status"] == "open"
    assert [(entry["level"], entry["text"], entry["line"]) for entry in plan["outline"]] == [
        (1, "Goals", 9),
        (2, "Later", 12),
        (1, "Log", 15),
        (2, "Later", 18),
    ]
    assert (plan["lines"], plan["first_line"], "truncated" in plan) == (19, 1, False)
    assert len(plan["etag"]) == 16


async def test_a_note_is_found_by_its_name_its_address_and_an_odd_one(read: Asking) -> None:
    for said in ("projects/plan", "plan", "roadmap", "note://projects/plan.md", "Projects/PLAN.md"):
        assert (await read(said)).content["path"] == "projects/plan.md", said
    for said in ("what? #1 (50%).md", "note://what%3F%20%231%20%2850%25%29.md"):
        assert (await read(said)).content["text"] == "odd name\n"


async def test_a_long_note_comes_as_its_outline(read: Asking) -> None:
    long = (await read("long.md", max_tokens=500)).content
    assert "text" not in long
    assert [entry["text"] for entry in long["outline"]] == ["One", "Two", "Three"]
    assert long["truncated"]
    assert "sections" in long["warnings"][0]
    assert long["outline"][0]["tokens"] > long["outline"][1]["tokens"] > long["outline"][2]["tokens"]


async def test_outline_and_text_together_stay_within_the_budget(own_read: Asking, tmp_path: Path) -> None:
    put(folder(tmp_path), {"steep.md": "# A heading of some words\nx\n" * 60})
    both, alone = (
        (await own_read("steep.md", max_tokens=5000)).content,
        (await own_read("steep.md", max_tokens=700)).content,
    )
    assert both["text"] == alone["text"]
    assert len(both["outline"]) == 60
    assert "outline" not in alone
    assert "text" not in (await own_read("steep.md", max_tokens=300)).content


async def test_a_long_note_without_headings_comes_as_far_as_it_fits(read: Asking) -> None:
    plain = (await read("plain.md", max_tokens=300)).content
    assert plain["truncated"]
    assert plain["text"].endswith("\n")
    assert plain["next_line"] == plain["text"].count("\n") + 1


async def test_reading_on_at_next_line_gives_the_whole_note(read: Asking) -> None:
    text, line = "", 1
    while line is not None:
        part = (await read("long.md", part="lines", from_line=line, max_tokens=700)).content
        assert part["first_line"] == line
        text, line = text + part["text"], part.get("next_line")
    assert text == LONG


async def test_lines_are_those_asked_for(read: Asking) -> None:
    part = (await read("crlf.md", from_line=2, max_lines=2)).content
    assert (part["text"], part["next_line"], part["truncated"]) == ("x\r\n\r\n", 4, True)
    beyond = (await read("crlf.md", from_line=50)).content
    assert (beyond["text"], "truncated" in beyond, beyond["lines"]) == ("", False, 5)


async def test_a_section_comes_with_its_heading_and_the_sections_in_it(read: Asking) -> None:
    goals = (await read("projects/plan.md", heading="goals")).content
    assert goals["text"] == "# Goals\nOne goal.\n\n## Later\nMuch later.\n\n"
    assert goals["first_line"] == 9
    log = (await read("projects/plan.md", part="section", heading="Log > Later")).content
    assert (log["text"], log["first_line"], "warnings" in log) == ("## Later\nAgain.\n", 18, False)
    several = (await read("projects/plan.md", heading="Later")).content
    assert several["text"] == "## Later\nMuch later.\n\n"
    assert "lines 18" in several["warnings"][0]
    assert (await read("crlf.md", heading="A")).content["text"] == "# A\r\nx\r\n\r\n"


async def test_a_missing_section_names_the_closest(read: Asking) -> None:
    missing = await read("projects/plan.md", heading="Goal")
    assert missing.code == "not_found"
    assert missing.content["error"]["details"]["closest"] == ["Goals"]


async def test_sections_by_pattern_are_whole_and_come_once(read: Asking) -> None:
    found = (await read("projects/plan.md", pattern="^(goals|later)$")).content["sections"]
    assert [(each["heading"], each["level"], each["line"]) for each in found] == [("Goals", 1, 9), ("Later", 2, 18)]
    assert found[0]["text"] == "# Goals\nOne goal.\n\n## Later\nMuch later.\n\n"
    every = (await read("projects/plan.md", part="sections")).content["sections"]
    assert "".join(each["text"] for each in every) == PLAN[PLAN.index("Words") :]
    assert ("heading" in every[0], every[0]["level"], every[0]["line"]) == (False, 0, 7)
    assert (await read("projects/plan.md", pattern="nothing like it")).code == "not_found"


async def test_sections_go_on_at_next_line(read: Asking) -> None:
    first = (await read("long.md", part="sections", max_tokens=2000)).content
    assert [each["heading"] for each in first["sections"]] == ["One"]
    assert first["next_line"] == first["sections"][0]["text"].count("\n") + 1
    rest = (await read("long.md", part="sections", from_line=first["next_line"])).content
    assert [each["heading"] for each in rest["sections"]] == ["Two", "Three"]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"part": "section"}, "heading"),
        ({"part": "full", "heading": "x"}, "heading"),
        ({"part": "section", "heading": "x", "pattern": "y"}, "pattern"),
        ({"pattern": "(["}, "pattern"),
        ({"pattern": r"(a)\1"}, "pattern"),
        ({"from_line": 0}, "from_line"),
        ({"part": "half"}, "part"),
    ],
)
async def test_arguments_that_do_not_fit_are_named(read: Asking, arguments: dict[str, object], field: str) -> None:
    refused = await read("projects/plan.md", **arguments)
    assert (refused.code, refused.content["error"]["details"]["field"]) == ("invalid_argument", field)


@pytest.mark.parametrize(
    "path", ["../secret.md", "/etc/passwd", "a/../../b.md", "~/x.md", ".obsidian/x.md", "note://..%2Fx.md", "x\x00.md"]
)
async def test_paths_that_leave_the_vault_are_refused(read: Asking, path: str) -> None:
    assert (await read(path)).code == "invalid_argument"


async def test_links_folders_and_what_is_no_text_are_refused(own_read: Asking, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    (folder(tmp_path) / "link.md").symlink_to(tmp_path / "secret.md")
    (folder(tmp_path) / "out").symlink_to(tmp_path)
    for path in ("link.md", "out/secret.md", "projects", "binary.md"):
        refused = await own_read(path)
        assert refused.code in ("invalid_argument", "not_found"), path
        assert "secret" not in str(refused.content).replace("out/secret.md", "")


async def test_the_file_counts_where_the_index_is_behind(own_read: Asking, own_notes: Services, tmp_path: Path) -> None:
    before = (await own_read("projects/plan.md")).content
    async with own_notes.pool.lease(own_notes.registry_cache.entry("main")) as vault:
        await vault.db.write(lambda tx: tx.run("UPDATE notes SET hash = 'x', title = 'stale', tags = '[]'"))
    after = (await own_read("projects/plan.md")).content
    assert {**after, "modified_at": ""} == {**before, "modified_at": ""}


async def test_words_for_dated_notes_follow_the_habit_of_the_vault(
    own_read: Asking, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(dated_notes, "today", lambda: date(2026, 11, 21))
    assert (await own_read("@yesterday")).content["path"] == "daily/2026-11-20.md"
    assert (await own_read("@daily:2026-11-20")).content["path"] == "daily/2026-11-20.md"
    assert (await own_read("@memory")).content["path"] == "MEMORY.md"
    absent = (await own_read("@today")).content["error"]
    assert (absent["code"], absent["details"]["path"]) == ("not_found", "daily/2026-11-21.md")
    assert (await own_read("@weekly:nonsense")).code == "invalid_argument"
    settings = {".obsidian/daily-notes.json": '{"folder": "journal", "format": "YYYY/MM-DD"}'}
    put(folder(tmp_path), {**settings, "journal/2026/11-21.md": "today\n"})
    assert (await own_read("@daily")).content["text"] == "today\n"
    put(folder(tmp_path), {".obsidian/daily-notes.json": '{"folder": "../../out"}'})
    assert (await own_read("@daily")).code == "invalid_argument"


async def test_reading_a_note_of_megabytes_says_where_to_go_on(own_read: Asking, tmp_path: Path) -> None:
    put(folder(tmp_path), {"big.md": "word " * 420_000})
    big = (await own_read("big.md", part="full", max_tokens=200)).content
    assert big["truncated"]
    assert 0 < len(big["text"]) < 2000
    assert "cut within" in big["warnings"][-1]
