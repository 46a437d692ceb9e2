"""``search`` over notes: what a hit says, which filters narrow, how pages and groups go, what explain tells."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from server.services import Services
from tests.conftest import Asking, Opening, asker
from tests.noted import folder, indexed, put, until

FILLER = "Nothing of note here, line after line.\n" * 20
HERON = (
    f"---\ntags: [bird/wader]\nstatus: Seen\n---\n# Heron\n{FILLER}\n## Food\nHerons eat eels at dusk.\n{FILLER}\n"
    f"### At night\nThey sleep in reeds.\n{FILLER}"
)
NOTES = {
    "birds/heron.md": HERON,
    "birds/bittern.md": "# Bittern\nA shy cousin of herons. It booms. #bird\n",
    "eels.md": "---\naliases: [Anguilla]\nstatus: gone\n---\nEels wander far.\n",
    "Trips/odd #1?.md": "We saw a heron on the trip.\n",
    **{f"log/{number}.md": f"Day {number}: the ferry left at nine\n" for number in range(7)},
}


@pytest.fixture
async def notes(opening: Opening, tmp_path: Path) -> AsyncIterator[Services]:
    root = folder(tmp_path)
    put(root, NOTES)
    os.utime(root / "eels.md", (1_600_000_000, 1_600_000_000))
    async with opening() as services:
        await indexed(services, len(NOTES))
        # All vectors are there, so answers do not change while a test looks at them.
        await until(services, lambda tx: tx.value("SELECT COUNT(*) FROM embedding_queue") == 0)
        yield services


@pytest.fixture
def ask(notes: Services) -> Asking:
    return asker(notes)


async def _ids(ask: Asking, query: str, **arguments: object) -> list[str]:
    found = await ask("search", query=query, mode="keyword", **arguments)
    assert found.ok, found.text
    return [hit["id"] for hit in found.content["hits"]]


async def test_a_hit_names_the_note_and_the_section(ask: Asking) -> None:
    hit = (await ask("search", query="eat at dusk", mode="keyword", limit=1)).content["hits"][0]
    assert (hit["id"], hit["kind"], hit["title"], hit["section"]) == ("birds/heron.md", "note", "Heron", "Food")
    assert hit["url"] == "note://birds/heron.md"
    assert "eat eels" in hit["text"]
    assert {word.lower() for word in hit["highlights"]} >= {"eat", "dusk"}
    assert hit["tags"] == ["bird/wader"]
    assert hit["modified_at"]
    deeper = (await ask("search", query="sleep reeds", mode="keyword", limit=1)).content["hits"][0]
    assert deeper["section"] == "Food › At night"


async def test_what_the_frontmatter_says_and_what_the_file_is_called_is_found(ask: Asking) -> None:
    assert await _ids(ask, "gone") == ["eels.md"]
    assert (await _ids(ask, "bittern"))[0] == "birds/bittern.md"
    assert "Trips/odd #1?.md" in await _ids(ask, "odd")


async def test_the_address_of_a_hit_can_be_fetched(ask: Asking) -> None:
    hit = (await ask("search", query="trip", mode="keyword")).content["hits"][0]
    assert hit["url"] == "note://Trips/odd%20%231%3F.md"
    for ref in (hit["url"], hit["id"]):
        assert (await ask("fetch", id=ref)).content["text"] == NOTES["Trips/odd #1?.md"]


async def test_filters_narrow(ask: Asking) -> None:
    assert sorted(await _ids(ask, "heron")) == ["Trips/odd #1?.md", "birds/bittern.md", "birds/heron.md"]
    assert sorted(await _ids(ask, "heron", folder="birds")) == ["birds/bittern.md", "birds/heron.md"]
    assert await _ids(ask, "heron", folder="bird") == []
    assert sorted(await _ids(ask, "heron", tags=["bird"])) == ["birds/bittern.md", "birds/heron.md"]
    assert await _ids(ask, "heron", tags=["bird/wader"]) == ["birds/heron.md"]
    assert await _ids(ask, "eels", where={"status": "seen"}) == ["birds/heron.md"]
    assert await _ids(ask, "eels", modified_before="2021-01-01") == ["eels.md"]
    assert await _ids(ask, "eels", modified_after="2021-01-01") == ["birds/heron.md"]
    assert await _ids(ask, "heron", kinds=["memory"]) == []
    assert await _ids(ask, "anguilla") == ["eels.md"]


async def test_memories_and_notes_stand_in_one_list(ask: Asking) -> None:
    memory = (await ask("remember", content="A heron flew over")).content["id"]
    assert memory in await _ids(ask, "heron")
    assert memory not in await _ids(ask, "heron", kinds=["note"])


async def test_others_like_a_note_do_not_include_it(ask: Asking) -> None:
    for ref in ("birds/bittern.md", "note://birds/bittern.md"):
        like = await ask("search", similar_to=ref, kinds=["note"])
        assert like.ok, like.text
        found = [hit["id"] for hit in like.content["hits"]]
        assert found
        assert "birds/bittern.md" not in found
    assert (await ask("search", similar_to="absent.md")).code == "not_found"


async def test_grouping_leaves_notes_as_they_are(ask: Asking) -> None:
    assert sorted(await _ids(ask, "heron", group_by="parent")) == sorted(await _ids(ask, "heron"))


async def test_pages_show_every_note_once(ask: Asking) -> None:
    seen, cursor = [], {}
    for _ in range(10):
        page = (await ask("search", query="ferry", mode="keyword", limit=2, **cursor)).content
        seen += [hit["id"] for hit in page["hits"]]
        if "cursor" not in page:
            break
        cursor = {"cursor": page["cursor"]}
    assert sorted(seen) == [f"log/{number}.md" for number in range(7)]


async def test_explain_names_notes(ask: Asking) -> None:
    explained = (await ask("explain", query="eat at dusk", mode="keyword")).content
    assert explained["candidates"][0]["id"] == "birds/heron.md"


async def test_what_changes_on_disk_is_found_soon(ask: Asking, notes: Services, tmp_path: Path) -> None:
    put(folder(tmp_path), {"birds/heron.md": "# Heron\nNow about marmots.\n"})
    await until(notes, lambda tx: bool(tx.one("SELECT 1 FROM passages WHERE body LIKE '%marmots%'")))
    assert await _ids(ask, "marmots") == ["birds/heron.md"]
    assert "birds/heron.md" not in await _ids(ask, "eels")
    (folder(tmp_path) / "eels.md").unlink()
    await indexed(notes, len(NOTES) - 1)
    assert await _ids(ask, "anguilla") == []


async def test_notes_of_another_vault_are_neither_found_nor_read(opening: Opening, tmp_path: Path) -> None:
    put(folder(tmp_path, "theirs"), {"secret.md": "the canary sings\n"})
    async with opening(vaults=("main", "theirs")) as services:
        await indexed(services, 1, "theirs")
        ask = asker(services)
        assert await _ids(ask, "canary") == []
        for tool, arguments in (
            ("note_read", {"path": "secret.md"}),
            ("fetch", {"id": "secret.md"}),
            ("fetch", {"id": "../../theirs/notes/secret.md"}),
            ("search", {"similar_to": "secret.md"}),
        ):
            refused = await ask(tool, **arguments)
            assert refused.code in ("not_found", "invalid_argument")
            assert "canary" not in str(refused.content)
        assert (await ask("find_notes")).content["total"] == 0
