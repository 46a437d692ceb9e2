"""Reading, changing, forgetting, purging, superseding, linking.

Covers server.tools.memory_write.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, asker, local
from tests.people import give_role
from vaults.errors import StorageFull


async def _id(ask: Asking, content: str, **more: object) -> str:
    return str((await ask("remember", content=content, **more)).content["id"])


async def test_an_update_needs_the_version_it_was_based_on(ask: Asking) -> None:
    one = await _id(ask, "Draft of the plan", tags=["a"])
    changed = await ask("memory_update", id=one, title="The plan", add_tags=["b"], expected_version=1)
    assert changed.content["version"] == 2
    assert changed.content["tags"] == ["a", "b"]
    stale = await ask("memory_update", id=one, title="Mine", expected_version=1)
    assert stale.code == "conflict"
    assert stale.content["error"]["details"]["current_version"] == 2


async def test_how_often_a_memory_was_read_is_shown_before_and_after_it_is_written_down(
    ask: Asking, services: Services
) -> None:
    one = await _id(ask, "The heron is white")

    async def read() -> dict[str, object]:
        return dict((await ask("memory_get", ids=[one])).content["memories"][0])

    assert "access_count" not in await read()
    assert (await read())["access_count"] == 1
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await vault.settle()
    now = await read()
    assert (now["access_count"], str(now["accessed_at"])[:2]) == (2, "20")


async def test_changed_content_is_found_by_its_new_words_only(ask: Asking) -> None:
    one = await _id(ask, "The owl is grey")
    await ask("memory_update", id=one, content="The heron is white")
    assert not (await ask("recall", query="owl", mode="keyword")).content["hits"]
    hit = (await ask("recall", query="heron", mode="keyword")).content["hits"][0]
    assert (hit["id"], hit["content"], "title" in hit) == (one, "The heron is white", False)


async def test_labels_find_it_too(ask: Asking) -> None:
    one = await _id(ask, "It was moved", keywords=["archipelago"], entity="Ithaca", author="Homer")
    for word in ("archipelago", "ithaca", "homer"):
        assert [hit["id"] for hit in (await ask("recall", query=word, mode="keyword")).content["hits"]] == [one]


async def test_forgetting_archives_and_can_be_undone(ask: Asking) -> None:
    one = await _id(ask, "A passing thought")
    await ask("memory_forget", ids=[one], reason="noise")
    assert not (await ask("recall", query="passing thought")).content["hits"]
    assert (await ask("recall", query="passing thought", include_archived=True)).content["hits"]
    assert (await ask("memory_get", ids=[one])).content["memories"][0]["archived_reason"] == "noise"
    await ask("memory_update", id=one, tier="hot")
    restored = await ask("memory_update", id=one, tier="archived")
    assert restored.content["archived_at"]


async def test_forgetting_several_forgets_none_when_one_is_missing(ask: Asking) -> None:
    one = await _id(ask, "Stays")
    assert (await ask("memory_forget", ids=[one, "nope"])).code == "not_found"
    assert (await ask("recall", query="stays")).content["hits"]


async def test_a_purge_leaves_nothing_in_any_file(ask: Asking, services: Services, tmp_path: Path) -> None:
    canary = "xylocarpus quokka"
    one = await _id(ask, f"The word is {canary}", idempotency_key="key-of-quokka")
    await ask("recall", query=canary)
    assert (await ask("memory_forget", ids=[one], purge=True)).content["purged"]
    assert (await ask("memory_get", ids=[one])).content["missing"] == [one]
    await services.pool.close_vault("main")
    for path in (tmp_path / "vaults").rglob("*"):
        if path.is_file():
            assert b"quokka" not in path.read_bytes(), path.name
            assert b"xylocarpus" not in path.read_bytes(), path.name


async def test_purging_needs_an_admin(services: Services, ask: Asking) -> None:
    one = await _id(ask, "Dear to the writer")
    await give_role(services, "w")
    writer = asker(services, Caller(local("w"), "main", Role.WRITER, "http"))
    assert (await writer("memory_forget", ids=[one], purge=True)).code == "forbidden"
    assert (await writer("memory_forget", ids=[one])).ok


async def test_superseding_keeps_the_trail_and_happens_once(ask: Asking) -> None:
    old = await _id(ask, "We deploy on Fridays", tags=["ops"], type="decision")
    new = (await ask("memory_supersede", id=old, content="We deploy on Mondays", reason="outages")).content["id"]
    memories = (await ask("memory_get", ids=[old, new])).content["memories"]
    assert memories[0]["superseded_by"] == new
    assert (memories[1]["supersedes"], memories[1]["tags"], memories[1]["type"]) == (old, ["ops"], "decision")
    assert [hit["id"] for hit in (await ask("recall", query="deploy")).content["hits"]] == [new]
    again = await ask("memory_supersede", id=old, content="We deploy daily")
    assert again.code == "conflict"
    assert again.content["error"]["details"]["superseded_by"] == new


async def test_a_link_shows_on_both_and_only_once(ask: Asking) -> None:
    a, b = await _id(ask, "Cause"), await _id(ask, "Effect")
    for _ in range(2):
        assert (await ask("memory_link", from_id=a, relation="causes", to_id=b)).ok
    for one in (a, b):
        links = (await ask("memory_get", ids=[one])).content["links"]
        assert links == [{"from_id": a, "relation": "causes", "to_id": b}], "to a memory, where nothing else is said"
    assert (await ask("memory_link", from_id=a, relation="x", to_id="nope")).code == "not_found"
    assert (await ask("memory_link", from_id=a, relation="x", to_id=a)).code == "invalid_argument"


async def test_private_memories_exist_for_their_owner_alone(services: Services, ask: Asking) -> None:
    for name in ("ann", "bob"):
        await give_role(services, name, Role.ADMIN)
    ann = asker(services, Caller(local("ann"), "main", Role.ADMIN, "http"))
    bob = asker(services, Caller(local("bob"), "main", Role.ADMIN, "http"))
    one = await _id(ann, "My birthday is in May", visibility="private", external_id="bday")
    assert (await ann("recall", query="birthday")).content["hits"]
    for mode in ("hybrid", "keyword", "semantic"):
        assert not (await bob("recall", query="My birthday is in May", mode=mode)).content["hits"]
    assert (await bob("memory_get", ids=[one])).content == (await bob("memory_get", ids=[one])).content
    assert not (await bob("memory_get", ids=[one])).content["memories"]
    for tool, arguments in (
        ("fetch", {"id": one}),
        ("memory_update", {"id": one, "title": "t"}),
        ("memory_forget", {"ids": [one]}),
        ("memory_supersede", {"id": one, "content": "c"}),
    ):
        assert (await bob(tool, **arguments)).code == "not_found", tool
    other = await bob("remember", content="Another birthday", external_id="bday")
    assert other.ok, "that an id is taken would tell of what is private"
    shown = await ann("memory_update", id=one, visibility="shared")
    assert shown.code == "already_exists", "two shared ones cannot be called alike"


async def test_reading_counts_as_use(ask: Asking, services: Services) -> None:
    one = await _id(ask, "Often read")
    for _ in range(3):
        await ask("memory_get", ids=[one])
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await vault.settle()
        assert await vault.db.read(lambda tx: tx.value("SELECT times FROM memory_accesses")) == 3


async def test_fetch_reads_parts_and_says_when_it_cut(ask: Asking) -> None:
    one = await _id(ask, "one\ntwo\nthree\nfour")
    part = await ask("fetch", id=one, from_line=2, max_lines=2)
    assert part.content["text"] == "two\nthree\n"
    assert part.content["truncated"]
    assert part.content["etag"] == "v1"
    big = await _id(ask, "ä" * 1000)
    cut = await ask("fetch", refs=[one, big, "nope"], max_bytes=101)
    assert len(cut.content["items"][1]["text"].encode()) <= 101
    assert "nope" in [*cut.content.get("missing", ()), *cut.content.get("remaining", ())]
    assert (await ask("fetch")).code == "invalid_argument"


def _nested(levels: int) -> dict[str, object]:
    value: dict[str, object] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


async def test_metadata_deeper_than_it_can_be_read_back_is_refused(ask: Asking) -> None:
    one = await _id(ask, "Shallow", metadata=_nested(32))
    for levels in (33, 254, 300, 5000):
        for tool, arguments in (("remember", {"content": "deep"}), ("memory_update", {"id": one})):
            outcome = await ask(tool, metadata=_nested(levels), **arguments)
            assert outcome.code == "invalid_argument", (tool, levels)
            assert outcome.content["error"]["details"]["field"] == "metadata"
    assert (await ask("memory_list")).content["total"] == 1


async def test_purging_the_newer_one_brings_the_older_one_back(ask: Asking) -> None:
    old = await _id(ask, "The bridge is open")
    new = (await ask("memory_supersede", id=old, content="The bridge is closed")).content["id"]
    await ask("memory_forget", ids=[new], purge=True)
    assert [hit["id"] for hit in (await ask("recall", query="bridge")).content["hits"]] == [old]
    assert (await ask("memory_supersede", id=old, content="The bridge is gone")).ok


async def test_a_long_name_may_store_and_supersede(services: Services) -> None:
    name = "n" * 255
    await give_role(services, name)
    ask = asker(services, Caller(local(name), "main", Role.WRITER, "http"))
    one = await _id(ask, "Mine")
    assert (await ask("memory_supersede", id=one, content="Still mine")).ok


async def test_a_purge_says_what_it_did_when_the_disk_has_no_room_to_tidy_up(
    ask: Asking, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = await _id(ask, "To be gone")

    async def full() -> None:
        raise StorageFull("the disk is full; nothing was written")

    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        monkeypatch.setattr(vault.db, "checkpoint", full)
    assert (await ask("memory_forget", ids=[one], purge=True)).content["forgotten"] == [one]
    assert (await ask("memory_get", ids=[one])).content["missing"] == [one]
