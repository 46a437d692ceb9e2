"""Private text is weighed as if shared text and the caller's own were all there is, and weighs in nobody else's.

Covers vaults.index.text_index, vaults.search.private_text.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import closing

import pytest

from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, asker, local
from tests.people import give_role
from vaults import clock
from vaults.db.engine import sqlite
from vaults.index.text_index import in_own_text
from vaults.search import candidates
from vaults.search.filters import SearchFilter
from vaults.search.query import parse_query
from vaults.settings import SearchSettings
from vaults.vault import Vault

WORDS = ("harbour", "tide", "pilot", "crane", "quay", "anchor", "storm", "light", "rope", "ships")


@pytest.fixture
async def vault(services: Services) -> AsyncIterator[Vault]:
    async with services.pool.lease(services.registry_cache.entry("main")) as held:
        yield held


async def _person(services: Services, name: str) -> Asking:
    await give_role(services, name, Role.ADMIN)
    return asker(services, Caller(local(name), "main", Role.ADMIN, "http"))


def _text(order: random.Random, number: int) -> str:
    return " ".join(["lamp", f"n{number}", *(order.choice(WORDS) for _ in range(order.randint(1, 40)))])


async def _by_word(vault: Vault, viewer: str, query: str) -> dict[str, float]:
    """Text to keyword score, as the viewer is told."""
    only, read = SearchFilter(viewer, clock.now()), parse_query(query)

    def look(tx: object) -> dict[str, float]:
        found = candidates.find_by_word(tx, read, 1000, only, SearchSettings())  # type: ignore[arg-type]
        rows = tx.all("SELECT seq, body FROM passages")  # type: ignore[attr-defined]
        return {body: found.scores[seq] for seq, body in rows if seq in found.scores}

    return await vault.db.read(look)


def _expected(texts: list[tuple[str, str]], query: str) -> dict[str, float]:
    """The same by SQLite's own bm25 over a table that holds nothing but ``texts``, each with its author."""
    read = parse_query(query)
    match = f"({in_own_text(read.must)}) AND ({read.match})" if read.must else str(read.match)
    with closing(sqlite.connect(":memory:")) as raw:
        columns = "title, body, labels, before, after"
        raw.execute(f'CREATE VIRTUAL TABLE f USING fts5 ({columns}, tokenize = "porter unicode61 remove_diacritics 2")')
        raw.executemany(f"INSERT INTO f ({columns}) VALUES ('', ?, ?, '', '')", texts)
        return dict(raw.execute("SELECT body, -bm25(f, 2.0, 1.0, 0.5) FROM f WHERE f MATCH ?", (match,)))


QUERIES = ("lamp harbour tide", 'lamp "pilot crane"', "lamp harb* storm", "lamp AND rope", "lamp NOT ship")


@pytest.mark.parametrize("query", QUERIES)
async def test_own_passages_score_as_among_shared_and_own_text_alone(
    services: Services, vault: Vault, query: str
) -> None:
    order = random.Random(query)
    ann, bob = await _person(services, "ann"), await _person(services, "bob")
    shared, own = ([_text(order, n) for n in range(first, first + 12)] for first in (0, 100))
    for text in shared:
        await ann("remember", content=text)
    for text in own:
        await ann("remember", content=text, visibility="private")
    for n in range(30):
        await bob("remember", content=f"{_text(order, n)} harbour pilot crane of bob {n}", visibility="private")
    told = await _by_word(vault, "local|ann", query)
    expected = _expected([(text, "ann") for text in shared + own], query)
    mine = {text: score for text, score in told.items() if text in own}
    # The mean length of the own passages is taken from those that match.
    assert mine == pytest.approx({text: score for text, score in expected.items() if text in own}, rel=0.15)
    assert told.keys() == expected.keys()
    # Shared ones are weighed by shared text and then put on the same scale.
    assert {text: told[text] for text in shared if text in told} == pytest.approx(
        {text: expected[text] for text in shared if text in expected}, rel=0.3
    )


@pytest.mark.parametrize("query", QUERIES)
async def test_shared_passages_score_as_if_others_private_text_were_not_there(
    services: Services, vault: Vault, query: str
) -> None:
    order = random.Random(query)
    ann, bob = await _person(services, "ann"), await _person(services, "bob")
    shared = [_text(order, n) for n in range(12)]
    for text in shared:
        await ann("remember", content=text)
    for n in range(12):
        await bob("remember", content=f"{_text(order, n)} of bob", visibility="private")
    assert await _by_word(vault, "local|ann", query) == pytest.approx(
        _expected([(text, "ann") for text in shared], query)
    )


async def test_whoever_keeps_everything_private_finds_it_ranked(services: Services, vault: Vault) -> None:
    ann = await _person(services, "ann")
    texts = ["the harbour opens", "the harbour closes at night", "a crane by the quay", "ropes and lamps", "tea"]
    for text in texts:
        await ann("remember", content=text, visibility="private")
    told = await _by_word(vault, "local|ann", "crane of the harbour")
    assert sorted(told, key=lambda text: -told[text])[0] == "a crane by the quay", "the rarer word weighs more"


async def test_a_memory_that_becomes_private_leaves_the_scores_of_others(services: Services, vault: Vault) -> None:
    ann, bob = await _person(services, "ann"), await _person(services, "bob")
    await ann("remember", content="the harbour opens at nine")
    await ann("remember", content="tea at four")
    before = await _by_word(vault, "local|ann", "harbour tea 港口")
    hidden = (await bob("remember", content="the harbour of bob 港口")).content["id"]
    among = await _by_word(vault, "local|ann", "harbour tea 港口")
    await bob("memory_update", id=hidden, visibility="private")
    assert await _by_word(vault, "local|ann", "harbour tea 港口") == before != among
    assert "the harbour of bob 港口" in await _by_word(vault, "local|bob", "港口")
    await bob("memory_update", id=hidden, visibility="shared")
    assert await _by_word(vault, "local|ann", "harbour tea 港口") == pytest.approx(among)
