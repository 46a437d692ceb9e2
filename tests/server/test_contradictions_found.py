"""What contradicts is found among all that a vault holds: through ``remember``, with the real model and without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, Opening, asker, local
from tests.importing import import_jsonl
from tests.people import give_role
from vaults.domain.actors import Actor
from vaults.embed.backend import Embedder
from vaults.embed.engines import load_embedder
from vaults.errors import EmbeddingUnavailable
from vaults.settings import EmbeddingSettings

PAIRS = Path(__file__).parents[1] / "vaults/domain/memories/contradictions/judged_pairs.jsonl"
EVERY = 3
"""Of the contradicting pairs every third is stored, for the time it takes; the vault holds the first of all."""


def _bundled() -> Embedder:
    return load_embedder(EmbeddingSettings())


def _absent() -> Embedder:
    raise EmbeddingUnavailable("no model here")


@pytest.mark.parametrize("load_model", [_bundled, _absent])
async def test_most_contradictions_are_named_among_other_memories(
    opening: Opening, tmp_path: Path, load_model: Any
) -> None:
    pairs = [json.loads(line) for line in PAIRS.read_text("utf-8").splitlines()]
    file = tmp_path / "olds.jsonl"
    file.write_text("".join(json.dumps({"content": pair["old"], "external_id": pair["old"]}) + "\n" for pair in pairs))
    async with opening(load_model=load_model) as services:
        ask = asker(services)
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            await import_jsonl(vault, Actor("owner", "owner"), file)
        against = [pair for pair in pairs if pair["label"] == "contradicting"][::EVERY]
        named = sum([pair["old"] in await _named(ask, pair["new"]) for pair in against])
    print(f"{named} of {len(against)} named among {len(pairs)} memories")
    assert named >= 0.7 * len(against)


async def _named(ask: Asking, content: str) -> list[str]:
    """What the stored text contradicts; it is taken away again."""
    stored = (await ask("remember", content=content, on_duplicate="store")).content
    await ask("memory_forget", ids=[stored["id"]])
    ids = [other["id"] for other in stored.get("contradicts", [])]
    if not ids:
        return []
    return [memory["external_id"] for memory in (await ask("memory_get", ids=ids)).content["memories"]]


OLD, NEW = "Package manager: pnpm", "Package manager: yarn"


async def _contradicted(ask: Asking, content: str = NEW, **more: Any) -> list[dict[str, Any]]:
    outcome = await ask("remember", content=content, **more)
    assert outcome.ok, outcome.text
    found: list[dict[str, Any]] = outcome.content.get("contradicts", [])
    return found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"workspace": "web"}, {"workspace": "shop"}),
        ({"applies_to": "file:web/package.json"}, {"applies_to": "file:shop/package.json"}),
        ({"entity": "web"}, {"entity": "shop"}),
    ],
)
async def test_another_project_file_or_thing_has_values_of_its_own(
    ask: Asking, old: dict[str, Any], new: dict[str, Any]
) -> None:
    await ask("remember", content=OLD, **old)
    assert await _contradicted(ask, **new) == []
    assert await _contradicted(ask, "Package manager: bun", **old)


async def test_the_answer_names_the_subject_and_both_values(ask: Asking) -> None:
    old = (await ask("remember", content=OLD)).content["id"]
    (found,) = await _contradicted(ask)
    assert (found["id"], found["subject"], found["old"], found["new"]) == (old, "Package manager", "pnpm", "yarn")


async def test_what_somebody_keeps_private_crowds_nothing_out(services: Services, ask: Asking) -> None:
    await give_role(services, "w")
    writer = asker(services, Caller(local("w"), "main", Role.WRITER, "http"))
    old = (await ask("remember", content=f"{OLD} since May")).content["id"]
    for number in range(30):
        await ask("remember", content=f"{NEW} {number}", visibility="private")
    assert [each["id"] for each in await _contradicted(writer)] == [old]


async def test_superseding_what_was_contradicted_leaves_one_of_the_two(ask: Asking) -> None:
    old = (await ask("remember", content=OLD)).content["id"]
    (found,) = await _contradicted(ask)
    await ask("memory_supersede", id=found["id"], content=NEW)
    memories = (await ask("memory_list")).content["memories"]
    assert [memory["content"] for memory in memories] == [NEW]
    assert memories[0]["supersedes"] == old
