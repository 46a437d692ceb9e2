"""A vault of the first schema opens: filters hold at once, the rest is told in the background, no vector is lost."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Opening, asker, local
from tests.fakes import HashEmbedder
from tests.people import give_role
from vaults.db.connection import Database
from vaults.db.migration import load_migrations, migrate
from vaults.db.sql import Reader, Row, Writer
from vaults.domain.maintenance import reindexing
from vaults.domain.maintenance.verification import verify
from vaults.domain.memories import indexing
from vaults.domain.text.titles import derive_title
from vaults.index import passages
from vaults.settings import StorageSettings
from vaults.vault import Vault

LONG = "\n\n".join(f"Paragraph {n} about the harbour, its tides and the {n} ships." for n in range(40))
MOMENT = "2026-01-01T00:00:00.000Z"


@dataclass(frozen=True)
class Old:
    """A memory as the first version stored it."""

    content: str
    tags: tuple[str, ...] = ()
    author: str = "ann"
    parent: str | None = None
    position: int | None = None
    private_to: str | None = None
    archived: bool = False
    superseded: bool = False
    expired: bool = False
    embedded: bool = True


OLD = (
    Old("The harbour opens at nine", ("port",), "Melanie Klein", "talk", 0),
    Old("Who has the key?", (), "bob", "talk", 1),
    Old("Nobody knows", (), "bob", "talk", 2, embedded=False),
    Old("A harbour nobody may know of", ("port",), "ann", "talk", 1, private_to="local|ann"),
    Old("The harbour was closed", ("port",), parent="talk", position=1, archived=True),
    Old("The harbour is in the west", superseded=True),
    Old("The harbour was sold", expired=True),
    Old("我们把港口迁移到东京", ("port", "city")),
    Old(LONG, ("port",), "carl"),
)
PLANTED = len(OLD)


def _insert(tx: Writer, number: int, old: Old) -> None:
    tags = list(old.tags)
    labels = [*tags, "", old.author]
    row = {
        "seq": number, "id": f"m{number}", "type": "fact", "title": derive_title(old.content), "title_derived": 1,
        "content": old.content, "tags": json.dumps(tags), "keywords": "[]", "metadata": json.dumps({"floor": number}),
        "author": old.author, "stored_by": old.private_to or "owner", "workspace": "global", "applies_to": "global",
        "content_hash": indexing.content_hash(derive_title(old.content), old.content, labels),
        "parent": old.parent, "position": old.position, "visibility": "private" if old.private_to else "shared",
        "archived_at": MOMENT if old.archived else None, "superseded_by": "m1" if old.superseded else None,
        "expires_at": MOMENT if old.expired else None, "tier": "warm", "version": 1, "created_at": MOMENT,
        "updated_at": MOMENT,
    }  # fmt: skip
    tx.run(f"INSERT INTO memories ({', '.join(row)}) VALUES ({', '.join(f':{name}' for name in row)})", row)
    tx.many("INSERT INTO memory_tags (memory, tag) VALUES (?, ?)", [(number, tag) for tag in tags])
    for ordinal, cut in enumerate(passages.cut_passages("", old.content, labels, 200)):
        seq = tx.insert(
            "INSERT INTO passages (kind, item, ordinal, title, body, labels, text_hash, source_hash)"
            " VALUES ('memory', ?, ?, '', ?, ?, ?, ?)",
            (number, ordinal, cut.body, cut.labels, cut.text_hash, row["content_hash"]),
        )
        if old.embedded:
            _embed(tx, seq, cut.text_hash, cut.embedded)
        else:
            tx.run("INSERT INTO embedding_queue (passage, attempts) VALUES (?, 2)", (seq,))


def _embed(tx: Writer, seq: int, text_hash: str, text: str) -> None:
    model = HashEmbedder()
    tx.run("UPDATE vector_clock SET last = last + 1")
    change = tx.value("SELECT last FROM vector_clock")
    row = (seq, model.identity.key, text_hash, model.embed([text])[0].astype("<f4").tobytes(), change)
    tx.run("INSERT INTO embeddings VALUES (?, ?, ?, ?, ?)", row)


@pytest.fixture
async def planted(opening: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder whose vault main is as the first version left it; nothing is cut anew until chores come back."""
    async with opening() as services:
        vault_id = services.registry_cache.entry("main").vault_id
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            path = vault.db.path
    for file in path.parent.glob("vault.*"):
        file.unlink()
    db = Database(path, StorageSettings())
    await migrate(db, "vault", load_migrations("vault")[:1])

    def plant(tx: Writer) -> None:
        info = [("vault_id", vault_id), ("model", HashEmbedder().identity.key)]
        tx.many("INSERT INTO vault_info (key, value) VALUES (?, ?)", info)
        for number, old in enumerate(OLD, 1):
            _insert(tx, number, old)

    await db.write(plant)
    await db.close()
    monkeypatch.setattr("server.background_jobs.BACKGROUND_JOBS", ())
    return path


def _vectors(tx: Reader) -> list[Row]:
    return tx.all("SELECT passage, model, text_hash, vector, change FROM embeddings ORDER BY passage")


async def _kept(path: Path) -> list[Row]:
    db = Database(path, StorageSettings())
    try:
        return await db.read(_vectors)
    finally:
        await db.close()


async def _finished(vault: Vault) -> None:
    """Wait for the work in the background."""
    assert vault.background.due_work is not None
    await vault.background.due_work


async def _seen(services: Services, who: str, query: str, **more: Any) -> set[int]:
    await give_role(services, who, Role.ADMIN)
    ask = asker(services, Caller(local(who), "main", Role.ADMIN, "http"))
    found = set()
    for mode in ("keyword", "semantic"):
        hits = (await ask("recall", query=query, mode=mode, limit=50, max_tokens=50_000, **more)).content["hits"]
        found |= {int(hit["id"][1:]) for hit in hits}
    return found


async def test_filters_hold_before_anything_is_cut_anew(opening: Opening, planted: Path) -> None:
    async with opening() as services:
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            vault.start_background_work()  # vectors are paid, nothing is cut
            await _finished(vault)
            assert await vault.db.read(reindexing.is_rechunk_pending)
        everything = {n for n, old in enumerate(OLD, 1) if not (old.archived or old.superseded or old.expired)}
        assert await _seen(services, "bob", "harbour") == everything - {4}
        assert await _seen(services, "ann", "harbour") == everything
        assert await _seen(services, "bob", "harbour", include_archived=True) == everything - {4} | {5, 6}
        assert await _seen(services, "bob", "harbour", tags=["port", "city"]) == {8}
        assert await _seen(services, "ann", "harbour", tags=["port"]) == {1, 4, 8, 9}
        assert await _seen(services, "bob", "harbour", since="2026-02-01") == set()


async def test_what_the_background_tells_is_all_there_and_no_vector_moves(
    opening: Opening, planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = await _kept(planted)
    monkeypatch.setattr("server.background_jobs.BACKGROUND_JOBS", (reindexing.RECHUNK,))
    async with opening() as services, services.pool.lease(services.registry_cache.entry("main")) as vault:
        await _finished(vault)
        assert not await vault.db.read(reindexing.is_rechunk_pending)
        report = await verify(vault)
        assert report.agrees, report.findings
        assert report.owed == 0
        now = await vault.db.read(_vectors)
        assert [row for row in now if row[0] != 3] == vectors, "only the vector that was owed may be new"
        rows = await vault.db.read(lambda tx: tx.all("SELECT item, author, before, after, traits FROM passages"))
        first = {row[0]: row[1:] for row in reversed(rows)}
        assert first[1] == ("melanie klein", "", "Who has the key?\nNobody knows", 0)
        assert first[2] == ("bob", "The harbour opens at nine", "Nobody knows", passages.QUESTION)
        assert first[4][1:3] == first[5][1:3] == ("", "")
        assert {row[2] != "" or row[3] != "" for row in rows if row[0] == 9} == {True}
        assert await _seen(services, "bob", "东京") >= {8}
        ask = asker(services)
        hits = (await ask("recall", query="东京", mode="keyword")).content["hits"]
        assert [hit["id"] for hit in hits] == ["m8"]
        fields = await vault.db.read(lambda tx: tx.all("SELECT item, field, value FROM item_fields ORDER BY item"))
        assert fields == [(n, "floor", str(n)) for n in range(1, PLANTED + 1)]


async def test_a_vault_without_its_model_is_cut_anew_and_owes_nothing_more(
    opening: Opening, planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = await _kept(planted)
    monkeypatch.setattr("server.background_jobs.BACKGROUND_JOBS", (reindexing.RECHUNK,))
    async with opening({"embedding.engine": "off"}) as services:
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            await _finished(vault)
            assert await vault.db.read(_vectors) == vectors
            owed = await vault.db.read(lambda tx: tx.all("SELECT passage FROM embedding_queue"))
            assert owed == [(3,)]
            assert (await verify(vault)).agrees


async def test_cutting_anew_that_was_cut_off_goes_on_at_the_next_opening(
    opening: Opening, planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = await _kept(planted)
    monkeypatch.setattr(reindexing, "PAGE", 2)
    rebuild, pages = reindexing._rebuild_page, iter(range(3))

    def dying(vault: Vault, tx: Writer, after: int) -> tuple[int, int] | None:
        if next(pages, None) is None:
            raise KeyError("killed")
        return rebuild(vault, tx, after)

    async with opening() as services, services.pool.lease(services.registry_cache.entry("main")) as vault:
        with monkeypatch.context() as patched:
            patched.setattr(reindexing, "_rebuild_page", dying)
            with pytest.raises(KeyError):
                await reindexing.rechunk(vault)
        assert await vault.db.read(reindexing.is_rechunk_pending)
        told = await vault.db.read(lambda tx: tx.value("SELECT COUNT(*) FROM passages WHERE author IS NOT NULL"))
        assert told == 6, "three pages of two"
        assert 4 not in await _seen(services, "bob", "harbour")
        await asker(services)("remember", content="Stored in between", parent="talk", position=1)
        await asker(services)("memory_forget", ids=["m2"])
    monkeypatch.setattr("server.background_jobs.BACKGROUND_JOBS", (reindexing.RECHUNK,))
    async with opening() as services, services.pool.lease(services.registry_cache.entry("main")) as vault:
        await _finished(vault)
        assert not await vault.db.read(reindexing.is_rechunk_pending)
        report = await verify(vault)
        assert report.agrees, report.findings
        assert set(vectors) <= set(await vault.db.read(_vectors))


async def test_a_vault_that_holds_nothing_owes_nothing(tmp_path: Path) -> None:
    db = Database(tmp_path / "empty.db", StorageSettings())
    try:
        await migrate(db, "vault", load_migrations("vault")[:1])
        await migrate(db, "vault")
        assert not await db.read(reindexing.is_rechunk_pending)
    finally:
        await db.close()
