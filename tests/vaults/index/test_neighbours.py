"""Whatever happens to memories, each passage knows the text around it, and only what its reader may see.

Covers vaults.domain.memories.creation, vaults.index.items.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.services import Services
from tests.conftest import Asking, Opening
from tests.work import examples
from vaults.db.sql import Reader, Row
from vaults.domain.actors import Actor
from vaults.domain.maintenance.verification import verify
from vaults.domain.memories import creation, lifecycle
from vaults.domain.memories.lifecycle import MemoryChange, MemoryReplacement
from vaults.domain.memories.memory_model import MemoryFields
from vaults.index import neighbours
from vaults.index.items import SearchItem
from vaults.index.neighbours import MAX_SIDE, SequenceMember, surroundings_of
from vaults.index.text_index import WORD_TABLES
from vaults.vault import Vault

PEOPLE = {name: Actor(f"local|{name}", name) for name in ("ann", "bob")}
PLACES = st.none() | st.integers(0, 3)
PARENTS = st.sampled_from([None, "talk", "talk", "walk"])
SEEN = st.sampled_from(["shared", "shared", "private"])
LENGTHS = st.sampled_from([1, 1, 1, 3, 6])
STEP = st.one_of(
    st.tuples(st.just("remember"), st.sampled_from(sorted(PEOPLE)), PARENTS, PLACES, LENGTHS, SEEN),
    st.tuples(st.just("remember"), st.just("ann"), st.just("talk"), st.just(1), LENGTHS, SEEN),
    st.tuples(st.just("content"), st.integers(0, 9), LENGTHS),
    st.tuples(st.just("move"), st.integers(0, 9), PARENTS, PLACES),
    st.tuples(st.just("visibility"), st.integers(0, 9), SEEN),
    st.tuples(st.sampled_from(["forget", "restore", "purge"]), st.integers(0, 9)),
    st.tuples(st.just("supersede"), st.integers(0, 9), LENGTHS),
)


@dataclass
class World:
    """What was done: the owner and the words of each memory that was not purged, and every word there ever was."""

    vault: Vault
    owners: dict[str, Actor] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    count: int = 0

    def told(self, length: int) -> tuple[str, str]:
        """A word of its own, and a text of ``length`` passages that holds it in each."""
        self.count += 1
        word = f"w{self.count}w"
        return word, "\n\n".join(f"{word} part {n} says {'this and that ' * 7}" for n in range(length))

    async def play(self, action: str, *rest: Any) -> None:
        if action == "remember":
            await self._remember(*rest)
        elif self.owners:
            chosen = list(self.owners)[rest[0] % len(self.owners)]
            await getattr(self, f"_{action}")(chosen, self.owners[chosen], *rest[1:])

    async def _remember(self, who: str, parent: str | None, place: int | None, length: int, seen: Any) -> None:
        word, content = self.told(length)
        position = place if parent else None
        fields = MemoryFields(content=content, parent=parent, position=position, visibility=seen)
        stored = await creation.remember(self.vault, PEOPLE[who], fields)
        self.owners[stored.id], self.words[stored.id] = PEOPLE[who], word

    async def _update(self, chosen: str, actor: Actor, fields: dict[str, Any], archived: bool | None = None) -> None:
        given = {name: value for name, value in fields.items() if value is not None}
        await lifecycle.update(self.vault, actor, chosen, MemoryChange(given, archived=archived))

    async def _content(self, chosen: str, actor: Actor, length: int) -> None:
        self.words[chosen], content = self.told(length)
        await self._update(chosen, actor, {"content": content})

    async def _move(self, chosen: str, actor: Actor, parent: str | None, place: int | None) -> None:
        await self._update(chosen, actor, {"parent": parent, "position": place})

    async def _visibility(self, chosen: str, actor: Actor, seen: str) -> None:
        await self._update(chosen, actor, {"visibility": seen})

    async def _forget(self, chosen: str, actor: Actor) -> None:
        await lifecycle.forget(self.vault, actor, [chosen], None)

    async def _restore(self, chosen: str, actor: Actor) -> None:
        await self._update(chosen, actor, {"tier": "warm"}, archived=False)

    async def _purge(self, chosen: str, actor: Actor) -> None:
        await lifecycle.purge(self.vault, actor, [chosen], None)
        del self.owners[chosen], self.words[chosen]

    async def _supersede(self, chosen: str, actor: Actor, length: int) -> None:
        memory = (await lifecycle.get(self.vault, actor, [chosen])).memories[0]
        if memory.superseded_by is None:
            word, content = self.told(length)
            stored = await lifecycle.supersede(self.vault, actor, chosen, MemoryReplacement(content))
            self.owners[stored.id], self.words[stored.id] = actor, word


ROWS = (
    "SELECT m.id, m.seq, m.parent, m.position, CASE m.visibility WHEN 'private' THEN m.stored_by ELSE '' END,"
    " m.archived_at IS NOT NULL OR m.superseded_by IS NOT NULL, p.seq, p.ordinal, p.body, p.before, p.after, p.near"
    " FROM passages p JOIN memories m ON m.seq = p.item ORDER BY m.position, m.seq, p.ordinal"
)


def _expected(rows: list[Row]) -> dict[int, tuple[str, str, str | None]]:
    """What should stand around each passage, told from the memories alone."""
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        _, seq, parent, position, owner, hidden = row[:6]
        together = (parent, owner) if parent is not None and position is not None and not hidden else seq
        groups[together if not hidden else ("hidden", row[6])].append(row)
    found = {}
    for group in groups.values():
        for n, row in enumerate(group):
            before, after = group[max(0, n - 2) : n], group[n + 1 : n + 3]
            near = [0] * (2 - len(before)) + [each[6] for each in (*before, *after)] + [0] * (2 - len(after))
            texts = ["\n".join(each[8] for each in side) for side in (before, after)]
            numbers = " ".join(map(str, near))
            found[row[6]] = (texts[0][-MAX_SIDE:], texts[1][:MAX_SIDE], numbers if any(near) else None)
    return found


def _matching(tx: Reader, word: str) -> set[int]:
    return {passage for table in WORD_TABLES for passage in _within(tx, table, word)}


def _within(tx: Reader, table: str, word: str) -> set[int]:
    return {row[0] for row in tx.all(f"SELECT rowid FROM {table} WHERE {table} MATCH ?", (f'"{word}"',))}


def _check(tx: Reader, world: World) -> None:
    rows = tx.all(ROWS)
    assert {row[6]: row[9:12] for row in rows} == _expected(rows)
    assert neighbours.count_disagreeing(tx) == 0
    owner, hidden = {row[0]: row[4] for row in rows}, {row[0]: row[5] for row in rows}
    whose = {word: memory for memory, word in world.words.items()}
    for memory, *_, before, after, _ in rows:
        for word in re.findall(r"w\d+w", f"{before} {after}"):
            assert owner[whose[word]] == owner[memory], "told across the line between private and shared"
            assert not hidden[whose[word]], "told of what was archived"
    gone = {f"w{n}w" for n in range(1, world.count + 1)} - set(whose)
    assert not any(_matching(tx, word) for word in gone), "a word that is gone is found"
    for word, memory in whose.items():
        own = {row[6] for row in rows if row[0] == memory}
        assert own <= _within(tx, WORD_TABLES[bool(owner[memory])], word), "in the index of the other kind"


async def _played(services: Services, steps: list[tuple[Any, ...]]) -> None:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        world = World(vault)
        for step in steps:
            await world.play(*step)
            await vault.db.read(lambda tx: _check(tx, world))
        report = await verify(vault)
        assert report.agrees, report.findings


@settings(max_examples=examples(15), deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(STEP, min_size=10, max_size=40))
def test_every_passage_knows_what_stands_around_it(opening: Opening, steps: list[tuple[Any, ...]]) -> None:
    async def run(data: Path) -> None:
        async with opening({"index.passage_tokens": 32, "storage.synchronous": "normal"}, data=data) as services:
            await _played(services, steps)

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder)))


async def test_a_neighbour_is_found_by_its_words_but_never_shows_them(ask: Asking) -> None:
    await ask("remember", content="Shall we meet at the lighthouse?", parent="talk", position=0)
    await ask("remember", content="Yes, at nine.", parent="talk", position=1)
    hits = (await ask("recall", query="lighthouse", mode="keyword")).content["hits"]
    assert [hit["content"] for hit in hits] == ["Shall we meet at the lighthouse?", "Yes, at nine."]


def _sequence(owner: str | None, parent: str | None) -> str | None:
    position = None if parent is None else 0
    item = SearchItem("memory", 7, "", "", "", "global", owner=owner, parent=parent, position=position)
    return item.sequence(2)


def test_owners_and_parents_cannot_be_named_so_that_rows_run_together() -> None:
    assert _sequence("local|a", "x:in:talk") != _sequence("local|a:in:x", "talk")
    assert _sequence("x|a:in:y:7", None) != _sequence("x|a", "y:7:7")
    assert _sequence(None, "talk") != _sequence(":in:talk", None)


def test_a_side_is_the_nearest_text_and_no_longer_than_it_may_be() -> None:
    row = [SequenceMember(seq, letter * 700) for seq, letter in enumerate("abcd", 1)]
    told = surroundings_of(row, 2)
    assert told.near == "1 2 4 0"
    assert told.before == "a" * 99 + "\n" + "b" * 700
    assert surroundings_of(row, 0).after == "b" * 700 + "\n" + "c" * 99
    assert MAX_SIDE == 800
