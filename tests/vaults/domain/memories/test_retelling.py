"""The same text told again: one memory, which takes on what is new beside its text and unsays nothing.

Covers vaults.domain.memories.duplicate_merge.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, asker, local
from tests.importing import import_jsonl
from tests.people import give_role
from vaults.domain.actors import Actor
from vaults.domain.import_export.source_import import ImportTally

TEXT = "The release train leaves every second Tuesday"


async def _told(ask: Asking, content: str = TEXT, **more: Any) -> dict[str, Any]:
    outcome = await ask("remember", content=content, **more)
    assert outcome.ok, outcome.text
    return outcome.content


async def _held(ask: Asking, one: str) -> dict[str, Any]:
    return (await ask("memory_get", ids=[one])).content["memories"][0]  # type: ignore[no-any-return]


async def _count(ask: Asking) -> int:
    return int((await ask("memory_list")).content["total"])


async def _writer(services: Services, name: str = "w") -> Asking:
    await give_role(services, name)
    return asker(services, Caller(local(name), "main", Role.WRITER, "http"))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {"applies_to": "file:a.py"}),
        ({"applies_to": "file:a.py"}, {}),
        ({"applies_to": "file:a.py"}, {"applies_to": "area:ci"}),
        ({"thread": "one"}, {"thread": "two"}),
        ({"thread": "one", "applies_to": "area:ci"}, {"tags": ["x"]}),
    ],
)
async def test_the_same_text_is_known_wherever_it_is_said_to_apply(
    ask: Asking, first: dict[str, Any], second: dict[str, Any]
) -> None:
    one = await _told(ask, **first)
    again = await _told(ask, "  the RELEASE train\nleaves every second Tuesday ", **second)
    assert again["id"] == again["duplicate_of"] == one["id"]
    assert await _count(ask) == 1
    held = await _held(ask, one["id"])
    for name, value in first.items():
        assert held[name] == value


async def test_what_is_new_is_added_and_told(ask: Asking) -> None:
    one = await _told(ask, tags=["ci"], metadata={"a": 1})
    more = {
        "tags": ["release", "ci"], "keywords": ["train"], "thread": "ship", "type": "fact", "entity": "CI",
        "confidence": 0.9, "title": "Release train", "metadata": {"a": 1, "b": {"c": 2}}, "external_id": "x-1",
        "occurred_at": "2026-05-01T10:00:00Z",
    }  # fmt: skip
    again = await _told(ask, **more)
    new = {**more, "tags": ["release"], "metadata": {"b": {"c": 2}}, "occurred_at": again["added"]["occurred_at"]}
    assert again["added"] == new
    assert "kept" not in again
    held = await _held(ask, one["id"])
    assert held["tags"] == ["ci", "release"]
    assert held["metadata"] == {"a": 1, "b": {"c": 2}}
    for name in ("keywords", "thread", "type", "entity", "confidence", "title", "external_id"):
        assert held[name] == more[name]
    assert held["version"] == 2
    found = (await ask("recall", query="leaves", tags=["release"], thread="ship")).content["hits"]
    assert [hit["id"] for hit in found] == [one["id"]]
    third = await _told(ask, **{**more, "external_id": None, "idempotency_key": "k"})
    assert third["id"] == one["id"]
    assert "added" not in third
    assert (await _held(ask, one["id"]))["version"] == 2


async def test_another_value_overwrites_nothing_and_the_answer_says_what_stays(ask: Asking) -> None:
    first = {
        "thread": "one", "applies_to": "file:a.py", "type": "fact", "title": "Train", "confidence": 0.5,
        "metadata": {"a": 1}, "entity": "CI",
    }  # fmt: skip
    one = await _told(ask, **first)
    second = {
        "thread": "two", "applies_to": "file:b.py", "type": "plan", "title": "Another", "confidence": 0.9,
        "metadata": {"a": 2}, "entity": "Ops",
    }  # fmt: skip
    again = await _told(ask, **second)
    assert again["id"] == one["id"]
    assert "added" not in again
    assert again["kept"] == first
    held = await _held(ask, one["id"])
    assert {name: held[name] for name in first} == first
    assert held["version"] == 1


async def test_tags_beyond_the_bound_are_left_out_and_told(ask: Asking) -> None:
    one = await _told(ask, tags=[f"t{number}" for number in range(19)])
    again = await _told(ask, tags=["new", "newer"])
    assert again["added"] == {"tags": ["new"]}
    assert len(again["kept"]["tags"]) == 19
    assert len((await _held(ask, one["id"]))["tags"]) == 20


async def test_metadata_beyond_the_bound_is_left_out_and_told(ask: Asking) -> None:
    await _told(ask, metadata={"a": "x" * 6000})
    again = await _told(ask, metadata={"b": "y" * 6000, "c": 1})
    assert again["added"] == {"metadata": {"c": 1}}
    assert "b" in again["kept"]["metadata"]


async def test_what_is_told_without_an_end_does_not_run_out(ask: Asking) -> None:
    one = await _told(ask, ttl_days=1)
    again = await _told(ask)
    assert again["added"] == {"expires_at": "never"}
    assert (await _held(ask, one["id"])).get("expires_at") is None
    last = await _told(ask, ttl_days=1)
    assert last["kept"] == {"expires_at": "never"}


async def test_a_repeated_request_is_no_second_telling(ask: Asking) -> None:
    one = await _told(ask, tags=["ci"], idempotency_key="k")
    await ask("memory_update", id=one["id"], remove_tags=["ci"])
    again = await _told(ask, tags=["ci"], idempotency_key="k")
    assert again["id"] == one["id"]
    assert "tags" not in (await _held(ask, one["id"]))


async def test_anothers_memory_is_known_where_it_applies_to_the_same_and_takes_on_nothing(
    services: Services, ask: Asking
) -> None:
    one = await _told(ask)
    writer = await _writer(services)
    again = await _told(writer, tags=["ci"])
    assert again["id"] == one["id"]
    assert "added" not in again
    assert again["kept"]["tags"] == []
    assert (await _held(ask, one["id"]))["version"] == 1
    elsewhere = await _told(writer, applies_to="file:a.py")
    assert elsewhere["id"] != one["id"]


async def test_anothers_memory_that_runs_out_stands_in_for_nothing(services: Services, ask: Asking) -> None:
    one = await _told(ask, ttl_days=1)
    writer = await _writer(services)
    assert (await _told(writer, ttl_days=0.5))["id"] == one["id"]
    assert (await _told(writer))["id"] != one["id"]


async def test_another_authors_words_are_not_added_to(ask: Asking) -> None:
    one = await _told(ask, author="Ann", applies_to="area:ci")
    assert (await _told(ask, author="Bob", applies_to="area:web"))["id"] != one["id"]
    again = await _told(ask, author="Cid", applies_to="area:ci", tags=["x"])
    assert again["id"] == one["id"]
    assert again["kept"] == {"author": "Ann", "tags": []}


async def test_private_and_shared_are_never_one(services: Services, ask: Asking) -> None:
    writer = await _writer(services)
    hidden = await _told(ask, visibility="private", tags=["secret"])
    shared = await _told(ask, tags=["open"])
    assert shared["id"] != hidden["id"]
    assert "duplicate_of" not in shared
    theirs = await _told(writer, visibility="private")
    assert theirs["id"] not in (hidden["id"], shared["id"])
    assert "added" not in theirs
    assert "kept" not in theirs
    assert (await _held(ask, hidden["id"]))["tags"] == ["secret"]


async def test_what_was_read_in_private_is_stored_when_it_is_told_to_all(services: Services, ask: Asking) -> None:
    hidden = await _told(ask, visibility="private")
    await ask("recall", query="release train")
    shared = await _told(ask)
    assert shared["id"] != hidden["id"]
    writer = await _writer(services)
    assert [hit["id"] for hit in (await writer("recall", query="release train")).content["hits"]] == [shared["id"]]


async def test_a_changed_text_is_known_from_then_on(ask: Asking) -> None:
    one = await _told(ask, "The release train leaves on Mondays")
    await ask("memory_update", id=one["id"], content=TEXT)
    assert (await _told(ask))["id"] == one["id"]
    assert (await _told(ask, "The release train leaves on Mondays"))["id"] != one["id"]


async def test_a_change_that_makes_two_equal_is_told(services: Services, ask: Asking) -> None:
    one = await _told(ask)
    other = await _told(ask, "The release train leaves on Mondays")
    writer = await _writer(services)
    await _told(writer, "My own words", visibility="private")
    changed = await ask("memory_update", id=other["id"], content=TEXT)
    assert changed.content["warnings"] == [f"{one['id']} says the same"]
    clean = await ask("memory_update", id=other["id"], content="My own words")
    assert "warnings" not in clean.content


async def test_what_is_stored_already_takes_the_place_of_what_it_supersedes(ask: Asking) -> None:
    old = await _told(ask, "Package manager: npm", tags=["build"])
    new = await _told(ask, "Package manager: pnpm")
    done = await ask("memory_supersede", id=old["id"], content="Package manager: pnpm", reason="switched")
    assert done.content["id"] == done.content["duplicate_of"] == new["id"]
    assert done.content["added"] == {"tags": ["build"]}
    assert await _count(ask) == 1
    assert (await _held(ask, old["id"]))["superseded_by"] == new["id"]


async def test_superseding_twice_by_the_same_memory_survives_an_export(
    services: Services, ask: Asking, tmp_path: Path
) -> None:
    from vaults.domain.import_export import exports

    first, second = await _told(ask, "Package manager: npm"), await _told(ask, "Package manager: bower")
    for old in (first, second):
        await ask("memory_supersede", id=old["id"], content="Package manager: pnpm")
    folder = tmp_path / "out"
    folder.mkdir()
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await exports.export(vault, folder, ["jsonl"])
        for one in (await ask("memory_list", include_archived=True)).content["memories"]:
            await ask("memory_forget", ids=[one["id"]], purge=True)
        await import_jsonl(vault, Actor("owner", "owner"), folder / "memories.jsonl")
    alive = (await ask("memory_list")).content["memories"]
    assert [memory["content"] for memory in alive] == ["Package manager: pnpm"]


async def _imported(services: Services, path: Path, lines: list[dict[str, Any]]) -> ImportTally:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        return await import_jsonl(vault, Actor("owner", "owner"), path)


async def test_lines_of_an_import_that_say_the_same_are_one_memory(
    services: Services, ask: Asking, tmp_path: Path
) -> None:
    file = tmp_path / "more.jsonl"
    lines: list[dict[str, Any]] = [
        {"content": TEXT, "tags": ["a"]},
        {"content": TEXT, "tags": ["b"], "thread": "ship", "applies_to": "area:ci"},
        {"content": TEXT},
    ]
    tally = await _imported(services, file, lines)
    assert (tally.stored, tally.known, tally.count("merged")) == (1, 2, 1)
    memory = (await ask("memory_list")).content["memories"][0]
    assert (memory["tags"], memory["thread"], "applies_to" in memory) == (["a", "b"], "ship", False)
    again = await _imported(services, file, lines)
    assert (again.stored, again.known, again.count("merged")) == (0, 3, 0)


async def test_lines_with_ids_of_their_own_stay_memories_of_their_own(
    services: Services, ask: Asking, tmp_path: Path
) -> None:
    lines = [{"content": TEXT, "external_id": name, "applies_to": f"area:{name}"} for name in ("a", "b")]
    tally = await _imported(services, tmp_path / "own.jsonl", lines)
    assert (tally.stored, tally.count("merged")) == (2, 0)
    assert await _count(ask) == 2


async def test_an_import_revives_nothing(services: Services, ask: Asking, tmp_path: Path) -> None:
    one = await _told(ask, author="owner")
    await ask("memory_forget", ids=[one["id"]])
    tally = await _imported(services, tmp_path / "old.jsonl", [{"content": TEXT, "tags": ["b"], "author": "owner"}])
    assert (tally.stored, tally.known, tally.count("merged")) == (0, 1, 0)
    assert "tags" not in (await _held(ask, one["id"]))


async def test_a_memory_of_an_older_vault_is_known_by_its_former_key(services: Services, ask: Asking) -> None:
    from vaults.domain.memories import storage
    from vaults.domain.memories.memory_model import MemoryFields

    one = await _told(ask)
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        former = storage._former_duplicate_key(Actor("owner", "owner"), MemoryFields(content=TEXT), "global")
        await vault.db.write(lambda tx: tx.run("UPDATE memories SET duplicate_key = ?", (former,)))
    again = await _told(ask, tags=["x"])
    assert again["id"] == one["id"]
    assert again["added"] == {"tags": ["x"]}
