"""What the best results point at is lifted: by links somebody made and by titles in texts, never by hubs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, asker, local
from tests.people import give_role
from vaults import clock
from vaults.search import passage_facts
from vaults.search.filters import SearchFilter
from vaults.search.graph_lifts import BACKWARD_WEIGHT, MAX_SEEDS, lift_linked
from vaults.vault import Vault

TITLES = {1: "Kestrel Bridge", 2: "Mary's Garden", 3: None, 4: None, 5: "Port", 6: "Old Mill"}
TEXTS = {
    1: "It spans the river beside Mary's Garden.",
    2: "Roses and a bench.",
    3: "Nothing of note.",
    4: "We walked over kestrel bridge at night.",
    5: "The port is east; a port needs ships.",
    6: "An old mill stood here.",
}


@pytest.fixture
async def vault(services: Services) -> AsyncIterator[Vault]:
    async with services.pool.lease(services.registry_cache.entry("main")) as held:
        yield held


@pytest.fixture
async def ids(ask: Asking) -> dict[int, str]:
    found = {}
    for number, content in TEXTS.items():
        more = {"title": TITLES[number]} if TITLES[number] else {}
        found[number] = str((await ask("remember", content=content, **more)).content["id"])
    return found


async def _lift(vault: Vault, order: list[tuple[int, float]], **more: Any) -> dict[int, float]:
    only = SearchFilter("nobody", clock.now())
    weight, hub, numbers = more.get("weight", 0.5), more.get("hub", 50), range(1, 50)
    return await vault.db.read(
        lambda tx: lift_linked(tx, passage_facts.read_facts(tx, numbers, only), order, weight, hub)
    )


async def test_a_title_in_a_text_links_both_ways(vault: Vault, ids: dict[int, str]) -> None:
    lifted = await _lift(vault, [(1, 0.8)])
    assert lifted == pytest.approx({2: 0.5 * 0.8, 4: 0.5 * 0.8 * BACKWARD_WEIGHT})
    assert await _lift(vault, [(2, 0.6)]) == pytest.approx({1: 0.5 * 0.6 * BACKWARD_WEIGHT})


async def test_a_common_word_names_nothing(vault: Vault, ids: dict[int, str], ask: Asking) -> None:
    await ask("remember", content="any port in a storm")
    assert await _lift(vault, [(5, 0.9)]) == {}


async def test_a_link_somebody_made_counts_both_ways(vault: Vault, ids: dict[int, str], ask: Asking) -> None:
    await ask("memory_link", from_id=ids[3], relation="about", to_id=ids[6])
    assert await _lift(vault, [(3, 0.8)]) == pytest.approx({6: 0.4})
    assert await _lift(vault, [(6, 0.8)]) == pytest.approx({3: 0.2})


async def test_the_best_seed_counts_and_only_the_first_items_are_seeds(
    vault: Vault, ids: dict[int, str], ask: Asking
) -> None:
    for source in (3, 5):
        await ask("memory_link", from_id=ids[source], relation="about", to_id=ids[6])
    for one, other in ((3, 5), (5, 3)):
        assert (await _lift(vault, [(one, 0.8), (other, 0.4)]))[6] == pytest.approx(0.4)
    others = [(2, 0.9), (6, 0.8), (5, 0.7), (4, 0.6)]
    assert len(others) == MAX_SEEDS
    assert 3 in await _lift(vault, others), "links to 6, which is a seed"
    assert 2 not in await _lift(vault, [(3, 0.9), (4, 0.8), (5, 0.7), (6, 0.6), (1, 0.5)]), "1 is the fifth"


async def test_hubs_lift_nothing_and_are_lifted_by_nothing(vault: Vault, ids: dict[int, str], ask: Asking) -> None:
    for source in (2, 3, 5):
        await ask("memory_link", from_id=ids[source], relation="see", to_id=ids[6])
    assert (await _lift(vault, [(3, 0.8)], hub=3))[6] == pytest.approx(0.4)
    assert 6 not in await _lift(vault, [(3, 0.8)], hub=2)
    assert not {2, 3, 5} & (await _lift(vault, [(6, 0.8)], hub=2)).keys()
    for n in range(3):
        await ask("remember", content=f"Kestrel Bridge, visit {n}")
    assert 4 in await _lift(vault, [(1, 0.8)], hub=4)
    assert await _lift(vault, [(1, 0.8)], hub=3) == pytest.approx({2: 0.4}), "four texts name the bridge"


async def test_a_weight_of_nothing_and_scores_below_it_lift_nothing(vault: Vault, ids: dict[int, str]) -> None:
    assert await _lift(vault, [(1, 0.8)], weight=0.0) == {}
    assert await _lift(vault, [(1, -0.2)]) == {}
    assert await _lift(vault, []) == {}


async def test_what_is_private_is_neither_lifted_nor_told_of(
    vault: Vault, ids: dict[int, str], ask: Asking, services: Services
) -> None:
    await give_role(services, "bob", Role.ADMIN)
    bob = asker(services, Caller(local("bob"), "main", Role.ADMIN, "http"))

    async def seen() -> list[Any]:
        asked = {"query": "bench with roses, river, mill", "mode": "semantic", "limit": 20, "max_tokens": 20_000}
        hits = (await bob("search", **asked)).content["hits"]
        return [(hit["id"], hit["signals"]) for hit in hits]

    before, order = await seen(), [(2, 0.8), (6, 0.7)]
    lifted = await _lift(vault, order)
    stored = await ask(
        "remember", content="Mary's Garden and the Old Mill are mine", title="Roses and", visibility="private"
    )
    for other in (ids[2], ids[6]):
        assert (await ask("memory_link", from_id=stored.content["id"], relation="owns", to_id=other)).ok
        assert (await ask("memory_link", from_id=other, relation="of", to_id=stored.content["id"])).ok
    assert await _lift(vault, order) == lifted
    assert await seen() == before
