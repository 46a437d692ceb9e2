"""Storing once, durably, searchably; what counts as the same; what happens without a model.

Covers server.tools._memories, vaults.domain.actors, vaults.domain.memories.memory_model, vaults.domain.text.fields,
vaults.domain.text.titles.
"""

from __future__ import annotations

import asyncio

from server.services import Services
from tests.conftest import Asking, Opening, asker
from tests.work import PATIENCE_S
from vaults.errors import EmbeddingUnavailable


async def _stored(ask: Asking, content: str, **more: object) -> dict[str, object]:
    outcome = await ask("remember", content=content, **more)
    assert outcome.ok, outcome.text
    return outcome.content


async def test_what_was_remembered_is_found_by_word_and_by_meaning(ask: Asking) -> None:
    stored = await _stored(ask, "The deploy key lives in the blue safe")
    for mode in ("keyword", "semantic", "hybrid"):
        found = await ask("recall", query="deploy key safe", mode=mode)
        assert found.content["hits"][0]["id"] == stored["id"], mode
        assert found.content["mode_used"] == mode
    assert stored["embedding"] == "ready"


async def test_the_same_content_again_is_returned_not_stored(ask: Asking) -> None:
    first = await _stored(ask, "Tea at four")
    again = await _stored(ask, "  tea   at FOUR ")
    assert again["id"] == first["id"] == again["duplicate_of"]
    assert (await ask("memory_list")).content["total"] == 1


async def test_a_repeated_turn_of_a_conversation_is_its_own_memory(ask: Asking) -> None:
    ids = {(await _stored(ask, "Thanks!", parent="conv-1"))["id"] for _ in range(3)}
    assert len(ids) == 3
    listed = (await ask("memory_list", order="oldest")).content["memories"]
    assert [memory["position"] for memory in listed] == [0, 1, 2]
    same_place = await _stored(ask, "Thanks!", parent="conv-2", position=5)
    assert (await _stored(ask, "Thanks!", parent="conv-2", position=5))["id"] == same_place["id"]


async def test_on_duplicate_store_and_supersede(ask: Asking) -> None:
    first = await _stored(ask, "Tea at four")
    second = await _stored(ask, "Tea at four", on_duplicate="store")
    assert second["id"] != first["id"]
    third = await _stored(ask, "Tea at four", on_duplicate="supersede")
    old = (await ask("memory_get", ids=[first["id"]])).content["memories"][0]
    assert old["superseded_by"] == third["id"]
    hits = (await ask("recall", query="tea")).content["hits"]
    assert first["id"] not in {hit["id"] for hit in hits}


async def test_an_idempotency_key_stores_once_even_when_raced(ask: Asking) -> None:
    outcomes = await asyncio.gather(*(ask("remember", content="Once", idempotency_key="k") for _ in range(10)))
    assert len({outcome.content["id"] for outcome in outcomes}) == 1
    assert (await ask("remember", content="Other", idempotency_key="k")).code == "conflict"


async def test_a_key_stands_for_its_text_even_when_that_was_known_already(ask: Asking) -> None:
    first = await _stored(ask, "Known")
    again = await _stored(ask, "Known", idempotency_key="k")
    assert again["id"] == first["id"]
    assert (await ask("remember", content="Other", idempotency_key="k")).code == "conflict"


async def test_near_duplicates_are_named(ask: Asking) -> None:
    first = await _stored(ask, "the billing service uses postgres fifteen on the big machine in room two")
    second = await _stored(ask, "the billing service uses postgres fifteen on the big machine in room three")
    assert [near["id"] for near in second["similar"]] == [first["id"]]  # type: ignore[attr-defined]


async def test_long_content_is_found_by_any_of_its_parts(ask: Asking) -> None:
    filler = "\n\n".join(f"Paragraph {n} speaks of nothing in particular and goes on for a while." for n in range(80))
    stored = await _stored(ask, f"{filler}\n\nThe zebra combination is 7781.\n\n{filler}"[:51_000])
    hit = (await ask("recall", query="zebra combination")).content["hits"][0]
    assert hit["id"] == stored["id"]
    assert "7781" in hit["snippet"]
    assert len(hit["snippet"]) <= 702


async def test_the_text_survives_a_model_that_is_down_and_gets_its_vector_later(opening: Opening) -> None:
    def absent() -> object:
        raise EmbeddingUnavailable("no model here")

    async with opening(load_model=absent) as services:
        ask = asker(services)
        stored = await _stored(ask, "Kept without a vector")
        assert stored["embedding"] == "pending"
        found = await ask("recall", query="vector kept")
        assert found.content["hits"][0]["id"] == stored["id"]
        assert found.content["mode_used"] == "keyword"
        assert found.content["warnings"]
        assert (await ask("status")).content["embedding"]["pending"] == 1
    async with opening() as services:
        ask = asker(services)
        await _settled(services)
        assert (await ask("status")).content["embedding"]["pending"] == 0
        semantic = await ask("recall", query="Kept without a vector", mode="semantic")
        assert semantic.content["hits"][0]["id"] == stored["id"]


async def _settled(services: Services) -> None:
    """Wait for the background work of vault main, which the sweep after a start began."""
    async with asyncio.timeout(PATIENCE_S), services.pool.lease(services.registry_cache.entry("main")) as vault:
        vault.start_background_work()
        while vault.background.is_busy:
            await asyncio.wait({vault.background.due_work})  # type: ignore[arg-type]


async def test_a_changed_model_is_noticed_and_everything_embedded_anew(opening: Opening) -> None:
    from tests.fakes import HashEmbedder

    async with opening() as services:
        await _stored(asker(services), "Written with the first model")
    async with opening(load_model=lambda: HashEmbedder(48, revision="2")) as services:
        ask = asker(services)
        keyword = await ask("recall", query="first model")
        assert keyword.content["hits"], "keyword search serves meanwhile"
        await _settled(services)
        semantic = await ask("recall", query="Written with the first model", mode="semantic")
        assert semantic.content["hits"]
        assert (await ask("status")).content["embedding"]["width"] == 48


BAD: tuple[tuple[dict[str, object], str], ...] = (
    ({}, "content"),
    ({"content": ""}, "content"),
    ({"content": " \n "}, "content"),
    ({"content": "x" * 51_201}, "content"),
    ({"content": 7}, "content"),
    ({"content": "a\x00b"}, "content"),
    ({"content": "a\ud800b"}, "content"),
    ({"content": "x", "title": "t" * 501}, "title"),
    ({"content": "x", "type": "poem"}, "type"),
    ({"content": "x", "tags": ["t"] * 21}, "tags"),
    ({"content": "x", "tags": ["t" * 101]}, "tags.0"),
    ({"content": "x", "metadata": {"k": "v" * 10_241}}, "metadata"),
    ({"content": "x", "metadata": {"k": float("nan")}}, "metadata"),
    ({"content": "x", "applies_to": "everything"}, "applies_to"),
    ({"content": "x", "confidence": 1.1}, "confidence"),
    ({"content": "x", "confidence": float("nan")}, "confidence"),
    ({"content": "x", "position": -1}, "position"),
    ({"content": "x", "position": "1"}, "position"),
    ({"content": "x", "position": True}, "position"),
    ({"content": "x", "confidence": "0.5"}, "confidence"),
    ({"content": "x", "ttl_days": 0}, "ttl_days"),
    ({"content": "x", "occurred_at": "yesterday"}, "occurred_at"),
    ({"content": "x", "visibility": "secret"}, "visibility"),
    ({"content": "x", "on_duplicate": "ignore"}, "on_duplicate"),
    ({"content": "x", "colour": "red"}, "colour"),
)


async def test_bad_input_names_the_field_and_writes_nothing(ask: Asking) -> None:
    for arguments, field in BAD:
        outcome = await ask("remember", **arguments)
        assert outcome.code == "invalid_argument", arguments
        assert outcome.content["error"]["details"]["field"] == field
        assert outcome.content["error"]["message"].startswith(f"Validation error: {field} ")
    assert (await ask("memory_list")).content["total"] == 0


async def test_hostile_text_is_only_text(ask: Asking) -> None:
    hostile = ["'); DROP TABLE memories;--", 'a" OR "b', "NEAR(a b)", "title:x", "*", "\u202eevil", "a" * 50_000]
    for text in hostile:
        await _stored(ask, text)
    assert (await ask("memory_list")).content["total"] == len(hostile)
    for text in hostile:
        assert (await ask("recall", query=text[:9_000])).ok
    got = (await ask("memory_list", order="oldest", max_tokens=100_000)).content["memories"]
    assert [memory["content"] for memory in got] == hostile


async def test_a_full_disk_refuses_writes_and_serves_reads(opening: Opening) -> None:
    async with opening() as services:
        await _stored(asker(services), "Before the disk was full")
    async with opening({"storage.reserve_mb": 10**9}) as services:
        ask = asker(services)
        assert (await ask("remember", content="x")).code == "storage_full"
        assert (await ask("recall", query="disk")).content["hits"]
