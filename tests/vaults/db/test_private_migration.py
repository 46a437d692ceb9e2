"""A vault with private and shared text in one index opens with each in its own, and loses nobody's ids.

Covers vaults.domain.memories.indexing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, Opening, asker, local
from tests.fakes import HashEmbedder
from tests.people import give_role
from vaults.db.connection import Database
from vaults.db.migration import load_migrations, migrate
from vaults.db.sql import Reader, Writer
from vaults.domain.maintenance.verification import verify
from vaults.domain.memories import indexing
from vaults.domain.text.titles import derive_title
from vaults.index import passages
from vaults.settings import StorageSettings

MOMENT = "2026-01-01T00:00:00.000Z"
OLD = (
    ("The harbour opens at nine", "shared", "local|ann", "one"),
    ("The harbour of ann, 港口", "private", "local|ann", "two"),
    ("The harbour of bob, 港口", "private", "local|bob", "three"),
    ("我们把港口迁移到东京", "shared", "local|bob", None),
)


def _insert(tx: Writer, number: int, content: str, visibility: str, stored_by: str, external: str | None) -> None:
    row = {
        "seq": number, "id": f"m{number}", "external_id": external, "type": "fact", "title": derive_title(content),
        "title_derived": 1, "content": content, "tags": "[]", "keywords": "[]", "metadata": "{}", "author": "x",
        "stored_by": stored_by, "workspace": "global", "applies_to": "global", "visibility": visibility,
        "content_hash": indexing.content_hash(derive_title(content), content, ["", "x"]),
        "tier": "warm", "version": 1, "created_at": MOMENT, "updated_at": MOMENT,
    }  # fmt: skip
    tx.run(f"INSERT INTO memories ({', '.join(row)}) VALUES ({', '.join(f':{name}' for name in row)})", row)
    (cut,) = passages.cut_passages("", content, ["x"], 200)
    held = cut.columns() | {
        "seq": number, "kind": "memory", "item": number, "ordinal": 0, "source_hash": row["content_hash"],
        "owner": stored_by if visibility == "private" else None, "type": "fact", "tier": "warm", "author": "x",
        "at": MOMENT, "modified_at": MOMENT,
    }  # fmt: skip
    tx.run(f"INSERT INTO passages ({', '.join(held)}) VALUES ({', '.join(f':{name}' for name in held)})", held)
    tx.run("INSERT INTO embedding_queue (passage) VALUES (?)", (number,))
    if cut.grams:
        tx.run("INSERT INTO passages_pairs (rowid, pairs) VALUES (?, ?)", (number, cut.grams))


@pytest.fixture
async def planted(opening: Opening) -> Path:
    """A data folder whose vault main is as the version before left it."""
    async with opening() as services:
        vault_id = services.registry_cache.entry("main").vault_id
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            path = vault.db.path
    for file in path.parent.glob("vault.*"):
        file.unlink()
    db = Database(path, StorageSettings())
    await migrate(db, "vault", load_migrations("vault")[:6])

    def plant(tx: Writer) -> None:
        info = [("vault_id", vault_id), ("model", HashEmbedder().identity.key)]
        tx.many("INSERT INTO vault_info (key, value) VALUES (?, ?)", info)
        for number, old in enumerate(OLD, 1):
            _insert(tx, number, *old)

    await db.write(plant)
    await db.close()
    return path


async def _person(services: Services, name: str) -> Asking:
    await give_role(services, name, Role.ADMIN)
    return asker(services, Caller(local(name), "main", Role.ADMIN, "http"))


async def test_private_text_moves_into_an_index_of_its_own(opening: Opening, planted: Path) -> None:
    def held(tx: Reader) -> dict[str, list[int]]:
        return {
            table: [row[0] for row in tx.all(f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY 1", (asked,))]
            for table, asked in (
                ("passages_fts", "harbour"), ("private_fts", "harbour"),
                ("passages_pairs", '"港口"'), ("private_pairs", '"港口"'),
            )
        }  # fmt: skip

    async with opening() as services, services.pool.lease(services.registry_cache.entry("main")) as vault:
        found = await vault.db.read(held)
        assert found == {
            "passages_fts": [1], "private_fts": [2, 3], "passages_pairs": [4], "private_pairs": [2, 3],
        }  # fmt: skip
        assert await vault.db.read(lambda tx: tx.value("SELECT COUNT(*) FROM passages_words WHERE term = 'bob'")) == 0
        report = await verify(vault)
        assert report.agrees, report.findings


async def test_everybody_goes_on_finding_their_own_by_word_and_by_id(opening: Opening, planted: Path) -> None:
    async with opening() as services:
        for name, own, external in (("ann", "m2", "two"), ("bob", "m3", "three")):
            ask = await _person(services, name)
            for query, shared in (("harbour", "m1"), ("港口", "m4")):
                hits = (await ask("recall", query=query, mode="keyword")).content["hits"]
                assert {hit["id"] for hit in hits} == {shared, own}
            again = await ask("remember", content="other words", external_id=external)
            assert again.content["duplicate_of"] == own
        assert (await ask("remember", content="other words", external_id="one")).content["duplicate_of"] == "m1"
        assert "duplicate_of" not in (await ask("remember", content="other words", external_id="two")).content
