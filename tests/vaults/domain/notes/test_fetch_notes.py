"""``fetch`` of notes: by path, address, name and pattern, beside memories, within a budget.

Covers server.tools.fetch.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from server.services import Services
from tests.conftest import Asking, Opening, asker
from tests.noted import folder, indexed, put
from vaults.domain.retrieval import full_texts

NOTES: dict[str, str | bytes] = {
    "plan.md": "---\ntags: [a]\nkind: mine\naliases: [p]\n---\n# Plan\nfirst\nsecond\n",
    "daily/2026-01-01.md": "one\r\ntwo\r\n",
    "daily/2026-01-02.md": "three\n",
    "daily/2025-12-31.md": "zero\n",
    "odd [x]*.md": "odd\n",
    "odd x?.md": "other\n",
    "ä ö#.md": "umlauts\n",
    "broken.md": b"\xff\xff",
}


@pytest.fixture
async def notes(opening: Opening, tmp_path: Path) -> AsyncIterator[Services]:
    put(folder(tmp_path), NOTES)
    async with opening() as services:
        await indexed(services, len(NOTES) - 1)
        yield services


@pytest.fixture
def ask(notes: Services) -> Asking:
    return asker(notes)


async def _paths(ask: Asking, *refs: str, **arguments: object) -> list[str]:
    fetched = await ask("fetch", refs=list(refs), **arguments)
    assert fetched.ok, fetched.text
    return [item["id"] for item in fetched.content["items"]]


async def test_one_note_answers_as_connectors_expect(ask: Asking) -> None:
    for said in ("plan.md", "note://plan.md", "plan", "p", "pl*.md"):
        one = (await ask("fetch", id=said)).content
        assert (one["id"], one["title"], one["text"]) == ("plan.md", "Plan", NOTES["plan.md"]), said
        assert one["url"] == "note://plan.md"
    metadata = one["metadata"]
    assert (metadata["kind"], metadata["tags"], metadata["aliases"]) == ("note", ["a"], ["p"])
    assert metadata["modified_at"]
    assert one["etag"] == (await ask("note_read", path="plan.md")).content["etag"]


async def test_memories_and_notes_come_in_the_order_asked_each_once(ask: Asking) -> None:
    memory = (await ask("remember", content="a memory")).content["id"]
    refs = ["daily/2026-*.md", memory, "plan.md", "note://plan.md", f"memory://{memory}", "daily/2026-01-01.md"]
    assert await _paths(ask, *refs) == ["daily/2026-01-01.md", "daily/2026-01-02.md", memory, "plan.md"]


async def test_addresses_round_trip_whatever_the_name(ask: Asking) -> None:
    for path, text in NOTES.items():
        if path == "broken.md":
            continue
        one = (await ask("fetch", id=path)).content
        again = (await ask("fetch", id=one["url"])).content
        assert (again["id"], again["text"]) == (path, text)
        assert one["url"].isascii()
        assert not set(one["url"].removeprefix("note://")) & set(" #?[]*")


async def test_patterns_expand_in_the_order_of_paths_up_to_a_number(
    ask: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = sorted(path for path in NOTES if path != "broken.md")
    assert await _paths(ask, "**/*.md") == every
    assert await _paths(ask, "odd ??.md") == ["odd x?.md"]
    assert await _paths(ask, "odd x?.md") == ["odd x?.md"]
    monkeypatch.setattr(full_texts, "MAX_MATCHES", 3)
    cut = (await ask("fetch", refs=["daily/*.md", "**/*.md"])).content
    assert [item["id"] for item in cut["items"]] == [path for path in every if path.startswith("daily")]
    assert "more than 3" in cut["warnings"][0]


async def test_what_is_missing_is_listed_and_why_where_it_is_there(ask: Asking) -> None:
    fetched = (await ask("fetch", refs=["nope", "no/such.md", "*.txt", "../x.md", "broken.md", "plan.md"])).content
    assert fetched["missing"] == ["*.txt", "nope", "no/such.md", "../x.md", "broken.md"]
    assert len(fetched["warnings"]) == 2
    assert "UTF-8" in fetched["warnings"][1]
    for said, code in (
        ("nope", "not_found"),
        ("nope.md", "not_found"),
        ("*.txt", "not_found"),
        ("../x.md", "invalid_argument"),
        ("../*.md", "invalid_argument"),
        ("[z-a].md", "invalid_argument"),
        ("broken.md", "invalid_argument"),
        ("note://%2e%2e/x.md", "invalid_argument"),
        ("01900000-0000-7000-8000-000000000000", "not_found"),
    ):
        assert (await ask("fetch", id=said)).code == code, said


async def test_lines_and_bytes_cut_and_say_where_to_go_on(ask: Asking) -> None:
    part = (await ask("fetch", id="daily/2026-01-01.md", from_line=2, max_lines=1)).content
    assert (part["text"], "truncated" in part) == ("two\r\n", False)
    first = (await ask("fetch", id="plan.md", max_lines=2)).content
    assert (first["truncated"], first["next_line"]) == (True, 3)


async def test_the_budget_ends_the_list_at_a_line(ask: Asking, tmp_path: Path, notes: Services) -> None:
    put(folder(tmp_path), {f"big/{number}.md": f"{number} words in a line\n" * 20 for number in range(4)})
    await indexed(notes, len(NOTES) - 1 + 4)
    fetched = (await ask("fetch", refs=["big/*.md"], max_bytes=600)).content
    assert [item["id"] for item in fetched["items"]] == ["big/0.md", "big/1.md"]
    assert fetched["items"][1]["text"].endswith("line\n")
    assert fetched["items"][1]["next_line"] == fetched["items"][1]["text"].count("\n") + 1
    assert fetched["remaining"] == ["big/2.md", "big/3.md"]
    assert sum(len(item["text"]) for item in fetched["items"]) <= 600
    put(folder(tmp_path), {"plan.md": "x" * 5000})
    cut = (await ask("fetch", id="plan.md", max_bytes=100)).content
    assert len(cut["text"]) == 100
    assert "cut within" in cut["warnings"][0]


async def test_a_pattern_that_matches_more_than_are_taken_is_truncated(
    ask: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(full_texts, "MAX_MATCHES", 2)
    for said in ({"id": "**/*.md"}, {"refs": ["**/*.md"]}):
        some = await ask("fetch", **said)
        assert (len(some.content["items"]), some.content["truncated"]) == (2, True)
        assert "more than 2 notes match" in some.text
        assert "Cut at max_bytes" not in some.text
    one = (await ask("fetch", refs=["plan.m?"])).content
    assert (len(one["items"]), "truncated" in one) == (1, False)


async def test_what_lies_outside_is_never_read(ask: Asking, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("the secret")
    (folder(tmp_path) / "link.md").symlink_to(tmp_path / "outside.md")
    refs = ["link.md", "../outside.md", "note://..%2Foutside.md", str(tmp_path / "outside.md")]
    fetched = (await ask("fetch", refs=refs)).content
    assert fetched["missing"] == refs
    assert "the secret" not in json.dumps(fetched)
