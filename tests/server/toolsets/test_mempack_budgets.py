"""mempack's own scenarios for the budget of a pack, over its tools: 2,500 tokens, of which 600 for the state, 10
memories of 80 and 4 chunks of 320. Parts are shares here: what one leaves goes to the others, and nothing is wasted."""

from __future__ import annotations

import json
from collections import Counter
from itertools import count, islice

import pytest

from server.services import Services
from tests.conftest import Asking
from tests.server.toolsets.test_mempack_artifacts import Mem, ingest, mem_of
from vaults.domain.packs.budget_fit import SHARES, SHARES_TOTAL, fit_to_budget
from vaults.domain.packs.pack import PackCandidate, PackItem, PackPart


@pytest.fixture
def mem(services: Services) -> Mem:
    return mem_of(services)


PIERS = ("north", "south", "east", "west", "old", "new", "long", "short", "red", "blue", "high", "low", "fish", "coal")


async def fill(ask: Asking, mem: Mem) -> None:
    """A state, memories and chunks, none like another, and more than fits."""
    for number, name in enumerate(PIERS):
        said = " ".join(f"{name}{word} pier{number}x{word}" for word in range(8))
        await mem("mem_add_memory", title=f"The {name} pier", summary=f"Walrus at the {name} pier: {said}")
    for name in PIERS[:2]:
        told = " ".join(f"{name}berth{word} is free." for word in range(90))
        await ingest(ask, f"# Walrus of {name}\n\nThe walrus at the {name} pier. {told}", f"file:///srv/{name}.md")
    state = {f"entry {number}": f"walrus state {number} " * 12 for number in range(30)}
    await mem("mem_checkpoint", reason="so far", state_json=json.dumps(state))


def test_a_full_pack_has_state_600_memories_10_of_80_and_chunks_of_320() -> None:
    """Theirs is 2,680 in all. Here 2,500 holds: there is no room for a fourth chunk, and a memory has what is left."""
    parts: dict[PackPart, tuple[int, int]] = {"state": (1, 600), "memories": (20, 80), "passages": (20, 320)}
    ranks = count()
    costs, candidates = dict[int, int](), list[PackCandidate]()
    for part, (many, tokens) in parts.items():
        for rank in islice(ranks, many):
            costs[rank] = tokens
            candidates.append(PackCandidate(part, rank, PackItem(str(rank), "memory", text="")))
    kept, _ = fit_to_budget(candidates, 2500, lambda candidate: costs[candidate.rank])
    assert Counter(each.part for each in kept) == {"state": 1, "memories": 10 + 1, "passages": 3}
    assert SHARES_TOTAL == 2500
    assert (SHARES["state"], SHARES["memories"], SHARES["passages"]) == (600, 10 * 80, 4 * 320)


async def test_the_budget_is_2500_where_none_is_said_and_is_kept(ask: Asking, mem: Mem) -> None:
    await fill(ask, mem)
    pack = await mem("mem_get_context", query="walrus pier")
    assert pack["budget"]["target_total"] == 2500
    assert 2000 < pack["budget"]["used_total"] <= 2500
    assert all(pack[part] for part in ("state", "top_memories", "top_chunks"))


async def test_tokens_that_shortening_saved_are_told(mem: Mem) -> None:
    await mem("mem_add_memory", title="Walrus", summary=" ".join(f"walrus{number} swims" for number in range(900)))
    budget = (await mem("mem_get_context", query="walrus", budget=500))["budget"]
    assert budget["used_total"] <= 500 < budget["candidate_total"]
    assert budget["candidate_total"] == budget["used_total"] + budget["saved_total"]


@pytest.mark.parametrize("budget", [200, 600])
async def test_the_hard_cap_drops_what_ranks_lowest(ask: Asking, mem: Mem, budget: int) -> None:
    for number, name in enumerate(PIERS):
        await mem("mem_add_memory", title=f"The {name} pier", summary=f"Walrus {number} " + f"at the {name} pier " * 12)
    told = await mem("mem_get_context", query="walrus pier", budget=budget)
    assert told["budget"]["used_total"] <= budget
    report = await mem("mem_explain", query="walrus pier")
    ranked = [each["id"] for each in sorted(report["memories"], key=lambda one: -one["final_score"])]
    shown = {each["id"] for each in told["top_memories"]}
    assert 0 < len(shown) < len(PIERS)
    assert shown == set(ranked[: len(shown)])


async def test_an_empty_state_costs_nothing(mem: Mem) -> None:
    empty = (await mem("mem_get_context", query="walrus"))["budget"]["used_total"]
    await mem("mem_checkpoint", reason="nothing yet", state_json="{}")
    pack = await mem("mem_get_context", query="anything else")
    assert pack["state"] == {}
    assert pack["budget"]["used_total"] <= empty + 80, "but for the memory a checkpoint leaves"
