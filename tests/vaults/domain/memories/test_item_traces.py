"""What was let go for a limit can be purged like what is there: its copy, its title and its bytes leave the file.

Covers vaults.domain.documents.storage, server.tools._documents.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from auth.roles import Role
from server.services import Services
from tests.conftest import Asking, Opening, asker
from tests.evicting import DAY, IDLE, OWNER, aged, limited, stored, value
from tests.people import person
from vaults import clock
from vaults.db.sql import Writer
from vaults.domain.actors import Actor
from vaults.domain.documents import storage
from vaults.domain.maintenance import eviction, eviction_candidates, eviction_copies, eviction_log, eviction_undo
from vaults.domain.maintenance.eviction_candidates import CandidateCursor
from vaults.domain.maintenance.eviction_plan import PlannedEviction
from vaults.domain.maintenance.eviction_undo import UndoReport
from vaults.domain.maintenance.verification import verify
from vaults.domain.memories import item_traces
from vaults.vault import Vault

CANARY = "xylocarpus"
GONE = 100
"""Days ago that what has to go was stored and last used."""


@asynccontextmanager
async def evicting(opening: Opening, **flags: Any) -> AsyncIterator[tuple[Vault, Services]]:
    """A vault that lets memories go, too; nothing goes before the test says so."""
    async with limited(opening, retention="90d", memories=True, **flags) as opened:
        yield opened


async def remembered(vault: Vault, ask: Asking, content: str, **more: Any) -> str:
    """The id of a memory that was stored and last used long ago."""
    now = await ask("remember", content=content, **more)
    assert now.ok, now.text
    return await made_old(vault, now.content["id"])


async def made_old(vault: Vault, memory_id: str) -> str:
    """The id a memory has as one that was stored and last used long ago."""
    row = {"was": memory_id, "id": aged(memory_id, GONE), "at": clock.ago(GONE * DAY)}

    def write(tx: Writer) -> None:
        tx.run("UPDATE memories SET id = :id, created_at = :at, updated_at = :at WHERE id = :was", row)
        tx.run("UPDATE import_records SET item = json_array(:id) WHERE item = json_array(:was)", row)
        tx.run("DELETE FROM memory_accesses")

    await vault.db.write(write)
    return str(row["id"])


async def copies(vault: Vault) -> list[bytes]:
    return [bytes(data) for (data,) in await vault.db.read(lambda tx: tx.all("SELECT data FROM evicted_copies"))]


async def rows_of(vault: Vault, item_id: str) -> list[tuple[Any, ...]]:
    """What the log still says of an item."""
    columns = "title, owner, size, used, reason, state, kind, at <> ''"
    return await vault.db.read(lambda tx: tx.all(f"SELECT {columns} FROM evictions WHERE id = :id", {"id": item_id}))


def in_files(folder: Path, *needles: bytes) -> list[str]:
    """Files that hold any of these bytes."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return [path.name for path in files if any(needle in path.read_bytes() for needle in needles)]


async def ann(services: Services) -> tuple[Asking, Actor]:
    return await person(services, "ann", Role.ADMIN), Actor("local|ann", "ann")


async def test_a_purge_of_an_evicted_memory_leaves_nothing_in_any_file(opening: Opening, tmp_path: Path) -> None:
    async with evicting(opening) as (vault, services):
        ask = asker(services)
        one = await remembered(vault, ask, f"The word is {CANARY} quokka", title=f"On {CANARY}")
        other = await remembered(vault, ask, "The harbour opens at six")
        await eviction.evict(vault)
        held = max(await copies(vault), key=len)
        await vault.db.checkpoint()
        assert in_files(tmp_path / "vaults", held[20:60]), "the copy is in the file before, compressed"
        purged = await ask("memory_forget", ids=[one], purge=True, reason="asked for")
        assert purged.content == {"forgotten": [one], "purged": True}
        assert len(await copies(vault)) == 1, "that of the other one stays"
        assert await rows_of(vault, one) == [("", None, 0, "", "retention", "gone", "memory", 1)]
        audit = "SELECT action, target, reason FROM audit"
        assert await vault.db.read(lambda tx: tx.all(audit)) == [("purge", one, "asked for")]
        words = (held[20:60], CANARY.encode(), b"quokka")
        assert not in_files(tmp_path / "vaults", *words), "at once, in the log of writes too"
        assert (await ask("memory_forget", ids=[one], purge=True)).code == "not_found", "once"
        assert (await eviction_undo.undo(vault)).restored == 1
        assert (await ask("memory_get", ids=[one, other])).content["missing"] == [one]
        assert (await verify(vault)).agrees
    assert not in_files(tmp_path / "vaults", *words)


async def test_the_vector_of_an_evicted_memory_leaves_every_file(
    opening: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eviction, "make_job", lambda _: IDLE)
    async with opening({"storage.retention": "90d", "storage.memories": True}) as services:
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            ask = asker(services)
            one = await remembered(vault, ask, f"The word is {CANARY}")
            assert (await ask("remember", content="The harbour opens at six")).ok
            assert (await ask("recall", query="harbour opens", limit=1)).content["hits"], "the index is loaded"
            vector = bytes(await value(vault, "SELECT vector FROM embeddings ORDER BY passage LIMIT 1"))
            await eviction.evict(vault)
            assert len(await copies(vault)) == 1
            assert (await ask("memory_forget", ids=[one], purge=True)).ok
            assert not in_files(vault.db.path.parent, vector, CANARY.encode())
    assert not in_files(tmp_path / "vaults", vector, CANARY.encode())


async def test_an_evicted_memory_of_somebody_else_is_as_absent_as_none(opening: Opening) -> None:
    async with evicting(opening) as (vault, services):
        own, who = await ann(services)
        bob = await person(services, "bob", Role.ADMIN)
        one = await remembered(vault, own, "My birthday is in May", visibility="private")
        await eviction.evict(vault)
        absent = aged(one, 1)
        refused = await bob("memory_forget", ids=[one], purge=True, confirmed=True)
        unknown = await bob("memory_forget", ids=[absent], purge=True, confirmed=True)
        assert refused.code == "not_found"
        assert refused.text.replace(one, absent) == unknown.text
        assert len(await copies(vault)) == 1
        assert (await own("memory_forget", ids=[one], purge=True, confirmed=True)).ok
        assert await copies(vault) == []
        assert [row[1] for row in await rows_of(vault, one)] == [who.identity], "whose it was alone stays theirs"


async def test_what_became_private_after_it_was_evicted_once_is_its_owners_alone(opening: Opening) -> None:
    async with evicting(opening) as (vault, services):
        own, _ = await ann(services)
        bob = await person(services, "bob", Role.ADMIN)
        one = await remembered(vault, own, "We meet in May")
        await eviction.evict(vault)
        await eviction_undo.undo(vault)
        assert (await own("memory_update", id=one, visibility="private")).ok
        assert (await bob("memory_forget", ids=[one], purge=True, confirmed=True)).code == "not_found"
        assert [row[0] for row in await rows_of(vault, one)] == ["We meet in May"]
        long_ago = {"at": clock.ago(GONE * DAY)}
        await vault.db.write(lambda tx: tx.run("UPDATE memories SET updated_at = :at", long_ago))
        await vault.db.write(lambda tx: tx.run("DELETE FROM memory_accesses"))
        await eviction.evict(vault)
        assert len(await copies(vault)) == 1
        assert (await bob("memory_forget", ids=[one], purge=True, confirmed=True)).code == "not_found"
        assert (await own("memory_forget", ids=[one], purge=True, confirmed=True)).ok
        assert {row[0] for row in await rows_of(vault, one)} == {""}


async def test_only_an_admin_purges_what_was_evicted(opening: Opening) -> None:
    async with evicting(opening) as (vault, services):
        one = await remembered(vault, asker(services), "Dear to all")
        await eviction.evict(vault)
        writer = await person(services, "w", Role.WRITER)
        assert (await writer("memory_forget", ids=[one], purge=True)).code == "forbidden"
        assert (await asker(services)("memory_forget", ids=[one])).code == "not_found", "there is nothing to archive"
        assert len(await copies(vault)) == 1


async def test_one_that_is_missing_keeps_all_from_being_purged(opening: Opening) -> None:
    async with evicting(opening) as (vault, services):
        ask = asker(services)
        one = await remembered(vault, ask, "Let go")
        await eviction.evict(vault)
        two = (await ask("remember", content="Still here")).content["id"]
        assert (await ask("memory_forget", ids=[one, two, "nope"], purge=True)).code == "not_found"
        assert len(await copies(vault)) == 1
        assert (await ask("memory_forget", ids=[one, two], purge=True)).content["forgotten"] == [one, two]
        assert await copies(vault) == []


async def test_a_memory_that_came_back_leaves_no_title_in_the_log_once_it_is_purged(opening: Opening) -> None:
    async with evicting(opening) as (vault, services):
        ask = asker(services)
        one = await remembered(vault, ask, f"The {CANARY} again")
        await eviction.evict(vault)
        assert (await eviction_undo.undo(vault)).restored == 1
        assert (await ask("memory_forget", ids=[one], purge=True)).ok
        assert await rows_of(vault, one) == [("", None, 0, "", "retention", "restored", "memory", 1)]
        assert not in_files(vault.db.path.parent, CANARY.encode())


async def test_an_evicted_document_is_removed_by_whoever_stored_it_alone(opening: Opening) -> None:
    async with evicting(opening) as (vault, services):
        own, who = await ann(services)
        bob = await person(services, "bob", Role.ADMIN)
        document = await stored(vault, CANARY, GONE, "document", ago=GONE, owner=who)
        other = await stored(vault, "other", GONE, "document", ago=GONE, owner=who)
        await eviction.evict(vault)
        held = max(await copies(vault), key=lambda data: CANARY in str(eviction_copies.decompress(data)))
        absent = aged(document.id, 1)
        refused = await bob("ingest", action="remove", ids=[document.id], confirmed=True)
        assert refused.code == "not_found"
        assert (
            refused.text.replace(document.id, absent)
            == (await bob("ingest", action="remove", ids=[absent], confirmed=True)).text
        )
        gone = await own("ingest", action="remove", ids=[document.id], reason="wrong file", confirmed=True)
        assert gone.content == {"removed": [document.id]}
        assert await rows_of(vault, document.id) == [("", None, 0, "", "retention", "gone", "document", 1)]
        assert not in_files(vault.db.path.parent, held[20:60], CANARY.encode())
        assert await value(vault, "SELECT target || reason FROM audit") == f"{document.id}wrong file"
        assert (await own("ingest", action="remove", ids=[document.id], confirmed=True)).code == "not_found", "once"
        assert (await eviction_undo.undo(vault)).restored == 1
        assert await value(vault, "SELECT id FROM documents") == other.id
        assert (await verify(vault)).agrees


async def test_a_removed_document_leaves_no_byte_in_any_file(opening: Opening) -> None:
    async with evicting(opening) as (vault, services):
        own, who = await ann(services)
        document = await stored(vault, CANARY, 1, "document", owner=who)
        await stored(vault, "other", 1, "document", owner=who)
        assert (await own("ingest", action="remove", ids=[document.id], confirmed=True)).ok
        assert not in_files(vault.db.path.parent, CANARY.encode())


async def test_what_is_half_gone_is_finished_by_a_removal(opening: Opening) -> None:
    async with evicting(opening) as (vault, _):
        document = await stored(vault, CANARY, GONE, ago=GONE)

        def begin(tx: Writer) -> None:
            ((candidate,), _) = eviction_candidates.read_page(tx, ["transcript"], CandidateCursor())
            seq = eviction_log.begin(tx, "run", PlannedEviction(candidate, "retention"))
            eviction_copies.keep(tx, seq, b"copy", 100)

        await vault.db.write(begin)
        assert await storage.remove(vault, OWNER, [document.id], None) == [document.id]
        assert await copies(vault) == []
        assert [row[5] for row in await rows_of(vault, document.id)] == ["gone"]
        assert not await vault.db.read(eviction_log.find_unfinished)


async def test_an_undo_under_way_does_not_bring_back_what_is_purged_meanwhile(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with evicting(opening) as (vault, services):
        one = await remembered(vault, asker(services), "Let go")
        await eviction.evict(vault)
        put_back = eviction_undo._put_back

        def purged_before(vault: Vault, seq: int, item: eviction_copies.ItemRows, tx: Writer) -> bool | None:
            item_traces.erase(tx, item_traces.MEMORY, one)
            return put_back(vault, seq, item, tx)

        monkeypatch.setattr(eviction_undo, "_put_back", purged_before)
        assert await eviction_undo.undo(vault) == UndoReport(0, 1, 0)
        assert await value(vault, "SELECT COUNT(*) FROM memories") == 0


async def test_a_purged_memory_is_in_no_copy_of_another(opening: Opening) -> None:
    """That one holds a link's relation and two numbers, and the link does not come back."""
    async with evicting(opening) as (vault, services):
        ask = asker(services)
        one = await remembered(vault, ask, "Let go")
        other = (await ask("remember", content=f"The {CANARY} stays", title=CANARY)).content["id"]
        assert (await ask("memory_link", from_id=one, relation="causes", to_id=other)).ok
        await vault.db.write(lambda tx: tx.run("DELETE FROM memory_accesses"))
        await eviction.evict(vault)
        (copy,) = await copies(vault)
        kept = str(eviction_copies.decompress(copy))
        assert "causes" in kept
        assert CANARY not in kept
        assert other not in kept
        assert (await ask("memory_forget", ids=[other], purge=True)).ok
        assert (await eviction_undo.undo(vault)).restored == 1
        found = (await ask("memory_get", ids=[one])).content
        assert (len(found["memories"]), found["links"]) == (1, [])


@pytest.mark.parametrize("evicted", [False, True])
async def test_what_an_import_replaced_goes_with_the_memory(opening: Opening, evicted: bool) -> None:
    async with evicting(opening) as (vault, services):
        ask = asker(services)
        old = clock.ago(GONE * DAY)
        for said in (f"It was {CANARY}", "It is something else"):
            line = {"kind": "memory", "external_id": "m1", "content": said, "created_at": old, "updated_at": old}
            pushed = await ask("imports", action="push", source="elsewhere", lines=[line])
            assert pushed.ok, pushed.text
        assert CANARY in await value(vault, "SELECT before FROM import_changes")
        one = await value(vault, "SELECT id FROM memories")
        if evicted:
            one = await made_old(vault, one)
            await eviction.evict(vault)
            assert len(await copies(vault)) == 1
        assert (await ask("memory_forget", ids=[one], purge=True)).ok
        assert await value(vault, "SELECT COUNT(*) FROM import_changes") == 0
        assert await value(vault, "SELECT COUNT(*) FROM import_records") == 1, "it is known, and not brought again"
        assert not in_files(vault.db.path.parent, CANARY.encode())
