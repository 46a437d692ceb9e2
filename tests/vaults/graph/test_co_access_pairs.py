"""Notes that come together are counted as pairs, fade, and follow their notes.

Covers vaults.graph.co_access.
"""

from __future__ import annotations

import asyncio
import math

import pytest

from tests import noted
from tests.conftest import Opening, asker
from vaults.db.sql import Reader, Writer
from vaults.graph import co_access_pairs
from vaults.graph.co_access import MAX_PENDING, CoAccessRecorder
from vaults.graph.links import link_history

NOW, WEEK_LATER = "2026-11-01T00:00:00.000Z", "2026-11-08T00:00:00.000Z"


def test_a_pair_among_few_says_more_than_one_among_many() -> None:
    assert co_access_pairs.pair_all("found", ["b.md", "a.md"]) == {("a.md", "b.md", "found"): 1 / math.log(2)}
    three = co_access_pairs.pair_all("found", ["a.md", "b.md", "c.md", "a.md"])
    assert set(three.values()) == {1 / math.log(3)}
    assert len(three) == 3


def test_only_the_first_ten_of_an_answer_count() -> None:
    met = co_access_pairs.pair_all("found", [f"{n:03}.md" for n in range(500)])
    assert len(met) == 45
    assert max(b for _, b, _ in met) == "009.md"


def test_what_is_opened_makes_pairs_with_what_was_open_and_not_with_itself() -> None:
    assert co_access_pairs.pair_with("read", "b.md", ["a.md", "b.md", "c.md"]) == {
        ("a.md", "b.md", "read"): 1 / math.log(3),
        ("b.md", "c.md", "read"): 1 / math.log(3),
    }
    assert co_access_pairs.pair_with("read", "a.md", ["a.md"]) == {}


async def test_pairs_add_up_are_halved_in_a_week_and_follow_a_moved_note(opening: Opening) -> None:
    async with opening() as services, services.pool.lease(services.registry_cache.entry("main")) as vault:

        def twice(tx: Writer) -> None:
            co_access_pairs.add_weights(tx, co_access_pairs.pair_all("found", ["a.md", "b.md"]), NOW)
            co_access_pairs.add_weights(tx, co_access_pairs.pair_all("read", ["b.md", "c.md"]), NOW)
            co_access_pairs.add_weights(tx, co_access_pairs.pair_all("found", ["a.md", "b.md"]), WEEK_LATER)

        await vault.db.write_uncounted(twice)
        each = 1 / math.log(2)
        found = await vault.db.read(lambda tx: co_access_pairs.read_weights(tx, "b.md", WEEK_LATER))
        assert found == pytest.approx({"a.md": 1.5 * each, "c.md": 0.5 * each})
        await vault.db.write(lambda tx: link_history.move_paths(tx, [("a.md", "z.md")]))
        moved = await vault.db.read(lambda tx: co_access_pairs.read_weights(tx, "b.md", WEEK_LATER))
        assert moved == pytest.approx({"z.md": 1.5 * each, "c.md": 0.5 * each})
        # A year later what did not meet again is gone, and its rows with it.
        await vault.db.write_uncounted(
            lambda tx: co_access_pairs.add_weights(
                tx, co_access_pairs.pair_all("found", ["x.md", "y.md"]), "2027-11-01T00:00:00.000Z"
            )
        )
        assert await vault.db.read(lambda tx: tx.all("SELECT a, b FROM note_pairs")) == [("x.md", "y.md")]


def test_what_is_left_of_a_weight_never_grows_when_the_clock_is_set_back() -> None:
    assert co_access_pairs.decay_weight(1.0, WEEK_LATER, NOW) == 1.0


async def test_searches_and_readings_are_counted_and_nothing_of_a_memory_is(opening: Opening) -> None:
    async with opening() as services:
        ask = asker(services)
        noted.put(noted.folder(services.data), {f"{name}.md": f"lighthouse {name}\n" for name in "abc"})
        await noted.indexed(services, 3)
        await ask("remember", content="a lighthouse that is nobody's business", visibility="private")
        await ask("search", query="lighthouse", mode="keyword")
        await ask("note_read", path="a.md")
        await ask("fetch", refs=["b.md", "c.md"])
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            await vault.graph_cache.co_access.write_out()
            rows = await vault.db.read(lambda tx: tx.all("SELECT a, b, how, weight FROM note_pairs ORDER BY 3, 1, 2"))
    two, three = 1 / math.log(2), 1 / math.log(3)
    assert [row[:3] for row in rows] == [
        ("a.md", "b.md", "found"), ("a.md", "c.md", "found"), ("b.md", "c.md", "found"),
        ("a.md", "b.md", "read"), ("a.md", "c.md", "read"), ("b.md", "c.md", "read"),
    ]  # fmt: skip
    assert [row[3] for row in rows] == pytest.approx([three, three, three, two, three, three])


async def test_what_waits_is_written_when_the_vault_closes(opening: Opening) -> None:
    async with opening() as services, services.pool.lease(services.registry_cache.entry("main")) as vault:
        vault.graph_cache.co_access.record_found(["a.md", "b.md"])

    def all_pairs(tx: Reader) -> list[tuple[str, str]]:
        return [(a, b) for a, b in tx.all("SELECT a, b FROM note_pairs")]

    async with opening() as services, services.pool.lease(services.registry_cache.entry("main")) as vault:
        assert await vault.db.read(all_pairs) == [("a.md", "b.md")]


class Broken:
    """A database that holds nothing up."""

    async def write_uncounted(self, _: object) -> None:
        await asyncio.Event().wait()


async def test_a_flood_of_meetings_takes_bounded_memory() -> None:
    together = CoAccessRecorder(Broken())  # type: ignore[arg-type]
    for number in range(30_000):
        together.record_opened(f"session {number}", [f"{number}.md", f"{number + 1}.md", f"{number + 2}.md"])
    assert len(together._met) < MAX_PENDING + 10
    assert len(together._open) <= 1_000
