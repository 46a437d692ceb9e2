"""What runs over a limit goes, the least recently used first, and nothing that is pinned; what went comes back.

Covers vaults.domain.maintenance.eviction_candidates, vaults.domain.maintenance.eviction_copies,
vaults.domain.maintenance.eviction_log, vaults.domain.maintenance.eviction_need,
vaults.domain.maintenance.eviction_run, vaults.domain.maintenance.eviction_undo.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Asking, Opening, asker
from tests.evicting import DAY, IDLE, OWNER, aged, limited, log, names, stored, value
from vaults import clock
from vaults.db.sql import Writer
from vaults.domain.collections import collection_rows
from vaults.domain.collections.collection_model import CollectionFields
from vaults.domain.documents import storage
from vaults.domain.documents.document_model import DocumentFields, DocumentPart
from vaults.domain.maintenance import eviction, eviction_log, eviction_need, eviction_undo
from vaults.domain.maintenance.verification import verify
from vaults.vault import Vault


async def test_eviction_by_retention_lets_go_what_was_not_used_for_so_long(opening: Opening) -> None:
    async with limited(opening, retention="90d") as (vault, _):
        for name, days in (("old", 100), ("older", 200), ("new", 10)):
            await stored(vault, name, days, ago=days)
        report = await eviction.evict(vault)
        assert await names(vault) == ["new"]
        assert await log(vault) == [("older", "retention", "gone"), ("old", "retention", "gone")]
        assert (report.went, report.problem, report.is_whole) == ({"transcript": 2}, None, True)
        assert (await verify(vault)).agrees


async def test_eviction_by_max_size_lets_the_oldest_go_first_until_it_fits(opening: Opening) -> None:
    async with limited(opening) as (vault, _):
        for number in range(12):
            await stored(vault, f"t{number:02}", 100 - number, words=900)
        await stored(vault, "book", 300, "document", words=900)
        size = await vault.db.read(lambda tx: tx.size())
    async with limited(opening, unasked=True, max_size=f"{size * 3 // 4}B") as (vault, _):
        report = await eviction.evict(vault)
        left = await names(vault)
        gone = [name for name, *_ in await log(vault)]
        assert gone == sorted(gone), "the oldest first"
        assert gone[0] == "t00"
        assert "book" in left, "transcripts give way before documents, however old"
        assert len(left) >= 6, "no more than is needed"
        assert report.problem is None
        assert await vault.db.read(lambda tx: tx.size()) <= size * 3 // 4
        assert (await verify(vault)).agrees


async def test_documents_go_once_no_transcript_is_left_and_memories_only_where_that_is_set(opening: Opening) -> None:
    async with limited(opening) as (vault, services):
        await stored(vault, "talk", 10)
        await stored(vault, "book", 300, "document")
        await asker(services)("remember", content="The harbour opens at six")
    async with limited(opening, unasked=True, max_size="1KB") as (vault, services):
        assert await names(vault) == []
        problem = await vault.db.read(lambda tx: eviction_need.find_problem(tx, vault.limits))
        assert problem is not None
        assert "storage.memories" in problem
        assert await value(vault, "SELECT COUNT(*) FROM memories") == 1
    async with limited(opening, unasked=True, max_size="1KB", memories=True) as (vault, services):
        assert await value(vault, "SELECT COUNT(*) FROM memories") == 0
        assert [kind for kind, _ in await vault.db.read(lambda tx: tx.all("SELECT kind, seq FROM evictions"))] == [
            "transcript",
            "document",
            "memory",
        ]


async def pin(vault: Vault, ask: Asking) -> list[str]:
    """A document for each way of pinning one."""
    kept = [
        await stored(vault, "tagged", 300, "document", metadata={"tags": ["Pinned", "law"]}),
        await stored(vault, "marked", 300, metadata={"pinned": True}),
        await stored(vault, "linked", 300, "document"),
        await stored(vault, "addressed", 300),
        await stored(vault, "handed", 300),
        await stored(vault, "claimed", 300, "document", uri="file:///srv/contract-2024.pdf"),
        await stored(vault, "of-files", 300, "document", collection="papers"),
    ]
    by_name = {each.fields.title.removeprefix("About "): each for each in kept}
    assert (await ask("note_write", path="index.md", content="See [[About linked]].")).ok
    address = f"transcript://{by_name['addressed'].id}"
    assert (await ask("note_write", path="two.md", content=f"See [the talk]({address}) of May.")).ok
    handoff = {"goal": "go on", "current_state": f"read {by_name['handed'].id}#2", "next_action": "write"}
    assert (await ask("handoff_create", **handoff)).ok
    claimed = await ask("claims", action="claim", resources=["file:///srv/contract-2024.pdf"])
    assert claimed.ok, claimed.text
    papers = CollectionFields(name="papers", kind="documents", root=Path("/srv"), watch=False)
    await vault.db.write(lambda tx: collection_rows.insert(tx, papers, "o"))
    return sorted(by_name)


async def test_a_limit_lower_than_what_is_pinned_is_said_and_nothing_pinned_is_lost(opening: Opening) -> None:
    async with limited(opening) as (vault, services):
        pinned = await pin(vault, asker(services))
        await stored(vault, "loose", 300)
    async with limited(opening, unasked=True, max_size="1KB", retention="30d") as (vault, services):
        report = await eviction.evict(vault)
        assert await names(vault) == pinned
        assert report.problem is not None
        assert "6 pinned ones stay" in report.problem
        assert not await vault.db.read(lambda tx: eviction.is_eviction_due(vault, tx)), "it is not tried all the time"
        assert (await verify(vault)).agrees


async def test_memories_that_are_hot_pinned_or_linked_stay(opening: Opening) -> None:
    async with limited(opening) as (vault, services):
        ask = asker(services)
        ids = {
            word: (await ask("remember", content=f"The {word} word is kept", **more)).content["id"]
            for word, more in {
                "hot": {"tier": "hot"},
                "tagged": {"tags": ["pinned"]},
                "linked": {},
                "loose": {"tags": ["x"]},
            }.items()
        }
        assert (await ask("note_write", path="one.md", content=f"From [it](memory://{ids['linked']}).")).ok
    async with limited(opening, unasked=True, memories=True, kinds={"memory": {"max_size": "40B"}}) as (
        vault,
        services,
    ):
        rows = await vault.db.read(lambda tx: tx.all("SELECT id FROM memories"))
        assert {row[0] for row in rows} == {ids["hot"], ids["tagged"], ids["linked"]}
        assert (await eviction_undo.undo(vault)).restored == 1
        found = await asker(services)("recall", query="loose word", mode="keyword")
        assert [hit["id"] for hit in found.content["hits"]][:1] == [ids["loose"]]
        assert (await verify(vault)).agrees


async def test_what_was_opened_or_had_back_is_not_the_first_to_go(opening: Opening) -> None:
    async with limited(opening, retention="90d") as (vault, services):
        read = await stored(vault, "read", 200, ago=200)
        await stored(vault, "unread", 200, ago=200)
        assert (await asker(services)("fetch", id=read.id)).ok
        await eviction.evict(vault)
        assert await names(vault) == ["read"]
        done = await eviction_undo.undo(vault)
        assert (done.restored, done.lost, done.taken) == (1, 0, 0)
        assert not await vault.db.read(lambda tx: eviction.is_eviction_due(vault, tx))
        await eviction.evict(vault)
        assert await names(vault) == ["read", "unread"]


async def test_a_history_that_was_brought_in_lately_is_kept_as_long_as_everything_else(opening: Opening) -> None:
    async with limited(opening, retention="90d") as (vault, _):
        await stored(vault, "imported", 1000)
        await stored(vault, "old", 950, ago=100)
        await eviction.evict(vault)
        assert await names(vault) == ["imported"]


async def test_an_undo_brings_back_text_parts_and_place_and_can_be_found(opening: Opening) -> None:
    async with limited(opening, retention="90d") as (vault, services):
        ask = asker(services)
        document = await stored(vault, "zyxomma", 100, ago=100, metadata={"tags": ["law"]}, workspace="global")
        before = (await ask("fetch", id=document.id)).content
        vault.opened_documents.clear()
        await eviction.evict(vault)
        assert (await ask("fetch", id=document.id)).code == "not_found"
        assert not (await ask("search", query="zyxomma", mode="keyword")).content["hits"]
        await eviction_undo.undo(vault)
        after = (await ask("fetch", id=document.id)).content
        assert after == before
        assert (await ask("search", query="zyxomma", mode="keyword")).content["hits"]
        assert await log(vault) == [("zyxomma", "retention", "restored")]
        assert (await eviction_undo.undo(vault)).restored == 0, "once"
        assert (await verify(vault)).agrees


async def test_copies_are_the_first_to_go_and_an_undo_says_what_is_lost(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaults.domain.maintenance.eviction_copies.MAX_COPIES", 1500)
    async with limited(opening, retention="90d") as (vault, _):
        for number in range(4):
            await stored(vault, f"t{number}", 200 - number, ago=150)
        await eviction.evict(vault)
        kept = [each.kept for each in await vault.db.read(lambda tx: eviction_log.list_log(tx, None, 9))]
        assert 0 < sum(kept) < 4
        assert kept == sorted(kept, reverse=True), "the oldest copy went first"
        done = await eviction_undo.undo(vault)
        assert (done.restored, done.restored + done.lost) == (sum(kept), 4)


async def test_copies_can_be_emptied_for_good(opening: Opening) -> None:
    async with limited(opening, retention="90d") as (vault, _):
        await stored(vault, "gone", 100, ago=100)
        await eviction.evict(vault)
        assert await eviction_undo.empty_copies(vault) == 1
        assert await eviction_undo.undo(vault) == eviction_undo.UndoReport(0, 0, 0)


async def test_orphan_cleanup_leaves_no_passage_vector_or_word(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eviction, "make_job", lambda _: IDLE)
    async with opening({"storage.retention": "90d"}) as services:
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            await vault.adopt_model()
            await stored(vault, "zyxomma", 100, ago=100)
            await stored(vault, "kept", 1)
            vault.start_background_work()
            await vault.background.wait()
            await eviction.evict(vault)
            for table in ("passages", "embeddings"):
                found = await value(
                    vault, f"SELECT COUNT(*) FROM {table} x WHERE NOT EXISTS"
                    f" (SELECT 1 FROM passages p JOIN document_parts q ON q.seq = p.item"
                    f" WHERE p.seq = x.{'seq' if table == 'passages' else 'passage'})"
                )  # fmt: skip
                assert found == 0, table
            assert await value(vault, "SELECT COUNT(*) FROM embeddings") == await value(
                vault, "SELECT COUNT(*) FROM passages"
            )
            assert not await value(vault, "SELECT 1 FROM documents_fts WHERE documents_fts MATCH 'zyxomma'")
            assert (await verify(vault)).agrees


async def test_the_room_is_given_back_to_the_disk(opening: Opening) -> None:
    async with limited(opening) as (vault, _):
        for number in range(10):
            await stored(vault, f"t{number}", 100 - number, words=900)
        await vault.db.checkpoint()
        before = vault.db.path.stat().st_size
    async with limited(opening, unasked=True, kinds={"transcript": {"max_size": "40KB"}}) as (vault, _):
        assert not await vault.db.read(lambda tx: eviction.is_eviction_due(vault, tx))
        assert len(await names(vault)) == 1
        assert await value(vault, "PRAGMA freelist_count") == 0
        await vault.db.checkpoint()
        assert vault.db.path.stat().st_size < before / 2


async def test_a_transcript_that_goes_on_after_it_went_begins_anew(opening: Opening) -> None:
    async with limited(opening, retention="90d") as (vault, _):
        await stored(vault, "talk", 100, ago=100)
        await eviction.evict(vault)
        await stored(vault, "talk", 0)
        done = await eviction_undo.undo(vault)
        assert (done.restored, done.taken) == (0, 1)
        assert await names(vault) == ["talk"]


async def begun(vault: Vault) -> int:
    """A transcript whose eviction was written down; returns its number."""
    document = await stored(vault, "half", 100, ago=100)
    await vault.db.write(
        lambda tx: tx.run(
            "INSERT INTO evictions (run, at, kind, item, id, title, size, used, reason, state)"
            " VALUES ('r', '', 'transcript', :seq, 'x', 'About half', 1, '', 'retention', 'begun')",
            {"seq": document.seq},
        )
    )
    return document.seq


async def test_what_is_half_gone_disagrees_with_nothing(opening: Opening) -> None:
    async with limited(opening) as (vault, _):
        await stored(vault, "whole", 10)
        going, steps = await begun(vault), 0
        while await vault.db.write(lambda tx: storage.remove_some(tx, "transcript", going, 1)):
            steps += 1
            assert (await verify(vault)).agrees, f"after {steps} steps"
        assert steps >= 3


async def test_an_interrupted_run_is_finished_by_the_next_whatever_the_limits_are_now(opening: Opening) -> None:
    async with limited(opening, unasked=True) as (vault, _):
        await begun(vault)
        vault.start_background_work()
        await vault.background.wait()
        assert await names(vault) == []
        assert (await verify(vault)).agrees


async def test_no_step_keeps_the_database_for_long(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vaults.domain.maintenance.eviction_run.SLICE_S", 0.0)
    async with limited(opening, retention="90d") as (vault, _):
        at = clock.ago(100 * DAY)
        parts = [DocumentPart(n, f"turn {n} " + "word " * 80, role=f"r{n % 2}", at=at) for n in range(100)]
        fields = DocumentFields("transcript", "transcript", "About long", at, at)
        prepared = storage.prepare(vault, fields, parts)
        document = await vault.db.write(lambda tx: storage.insert(vault, tx, OWNER, prepared))
        moved = {"id": aged(document.id, 100), "seq": document.seq}
        await vault.db.write(lambda tx: tx.run("UPDATE documents SET id = :id WHERE seq = :seq", moved))
        sizes: list[int] = []
        monkeypatch.setattr(vault.db, "write", _noting(vault, sizes))
        await eviction.evict(vault)
        assert await names(vault) == []
        assert len(sizes) > 6
        assert max(sizes) <= 32 * 12, "a slice of rows at a time"


def _noting(vault: Vault, sizes: list[int]) -> Any:
    """``write``, noting how many rows each transaction changed."""
    write = vault.db.write

    async def noted(work: Any) -> Any:
        def counted(tx: Writer) -> Any:
            before = int(tx.value("SELECT total_changes()"))
            done = work(tx)
            sizes.append(int(tx.value("SELECT total_changes()")) - before)
            return done

        return await write(counted)

    return noted


async def test_nothing_goes_while_no_limit_is_set(opening: Opening) -> None:
    async with limited(opening) as (vault, _):
        await stored(vault, "ancient", 5000, ago=4000)
        assert not await vault.db.read(lambda tx: eviction.is_eviction_due(vault, tx))
        assert not (await eviction.evict(vault)).went
        assert await names(vault) == ["ancient"]


async def test_each_reads_in_the_log_what_they_could_see(opening: Opening) -> None:
    async with limited(opening, retention="90d") as (vault, _):
        await stored(vault, "secret", 100, ago=100, visibility="private")
        await stored(vault, "open", 100, ago=100)
        await eviction.evict(vault)
        assert {name for name, *_ in await log(vault)} == {"open", "secret"}
        assert {name for name, *_ in await log(vault, OWNER.identity)} == {"open", "secret"}
        assert {name for name, *_ in await log(vault, "local|ann")} == {"open"}


@pytest.mark.parametrize("kind", ["memory", "document"])
@pytest.mark.parametrize("changed", [False, True])
async def test_what_an_import_brought_does_not_come_back_once_that_is_taken_back(
    opening: Opening, kind: str, changed: bool
) -> None:
    """What was changed here since stays, as it would have if it had not gone."""
    async with limited(opening, retention="90d", memories=True) as (vault, services):
        ask, old = asker(services), clock.ago(100 * DAY)
        line = {"kind": kind, "external_id": "one", "created_at": old}
        line |= (
            {"content": "Of old"} if kind == "memory" else {"title": "Of old", "parts": [{"text": "old", "at": old}]}
        )
        run = (await ask("imports", action="push", lines=[line])).content["run"]
        table, state = ("memories", "updated_at") if kind == "memory" else ("documents", "hash")
        was = await value(vault, f"SELECT id FROM {table}")
        row = {"was": was, "id": aged(was, 100), "old": old, "changed": changed}

        def make_old(tx: Writer) -> None:
            at = "updated_at" if kind == "memory" else "modified_at"
            tx.run(f"UPDATE {table} SET id = :id, {at} = :old WHERE id = :was", row)
            tx.run(
                "UPDATE import_records SET item = json_array(:id), state ="
                f" CASE WHEN :changed THEN 'another' ELSE (SELECT {state} FROM {table}) END",
                row,
            )

        await vault.db.write(make_old)
        await eviction.evict(vault)
        assert await value(vault, "SELECT COUNT(*) FROM evicted_copies") == 1
        undone = await ask("imports", action="undo", run=run)
        assert undone.ok, undone.text
        done = await eviction_undo.undo(vault)
        assert (done.restored, done.lost) == ((1, 0) if changed else (0, 1))
        assert await value(vault, "SELECT COUNT(*) FROM evicted_copies") == 0
        assert (await verify(vault)).agrees
