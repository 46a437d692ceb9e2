"""A vault of the step before gains a shelf for documents and goes on finding what it holds."""

from __future__ import annotations

from pathlib import Path

from tests.fakes import HashEmbedder
from vaults.db.connection import Database
from vaults.db.migration import load_migrations, migrate
from vaults.db.sql import Reader, Writer
from vaults.index import embeddings, text_index
from vaults.index.shelves import DOCUMENTS, MAIN
from vaults.settings import StorageSettings

MODEL = HashEmbedder().identity.key


def _plant(tx: Writer) -> None:
    for number, owner in ((1, None), (2, "ann")):
        row = {
            "seq": number, "kind": "memory", "item": number, "ordinal": 0, "title": "", "labels": "", "owner": owner,
            "body": f"The harbour of {owner}, 港口", "text_hash": f"hash{number}", "source_hash": "",
        }  # fmt: skip
        tx.run(f"INSERT INTO passages ({', '.join(row)}) VALUES ({', '.join(f':{name}' for name in row)})", row)
    tx.run(
        "INSERT INTO embeddings (passage, model, text_hash, vector, change) VALUES (1, ?, 'hash1', x'00', 1)", (MODEL,)
    )
    tx.run("UPDATE vector_clock SET last = 1")
    tx.run("INSERT INTO embedding_queue (passage) VALUES (2)")


def _held(tx: Reader) -> dict[str, list[int]]:
    found = {}
    for table in (*MAIN.words, *DOCUMENTS.words):
        found[table] = [row[0] for row in tx.all(f"SELECT rowid FROM {table} WHERE {table} MATCH 'harbour' ORDER BY 1")]
    return found


async def test_an_old_vault_gains_the_shelf_and_loses_nothing(tmp_path: Path) -> None:
    chain = load_migrations("vault")
    (step,) = (each for each in chain if each.name.endswith("_documents.sql"))
    db = Database(tmp_path / "vault.db", StorageSettings())
    try:
        await migrate(db, "vault", chain[: step.number - 1])
        await db.write(_plant)
        assert await migrate(db, "vault") == len(chain) - step.number + 1
        nothing: dict[str, list[int]] = {table: [] for table in DOCUMENTS.words}
        assert await db.read(_held) == {"passages_fts": [1], "private_fts": [2], **nothing}
        assert not await db.write(text_index.is_inconsistent)
        changes = await db.read(lambda tx: embeddings.changes_since(tx, 0, MODEL, MAIN).changes)
        assert [change.passage for change in changes] == [1]
        assert await db.read(lambda tx: embeddings.changes_since(tx, 0, MODEL, DOCUMENTS).changes) == []
        assert await db.read(lambda tx: embeddings.has_missing(tx, "ann"))
        assert not await db.read(lambda tx: embeddings.has_missing(tx, "ann", (DOCUMENTS,)))

        def move(tx: Writer) -> None:
            tx.run("UPDATE passages SET owner = 'bob' WHERE seq = 1")
            tx.run("UPDATE passages SET owner = NULL WHERE seq = 2")

        await db.write(move)
        assert await db.read(_held) == {"passages_fts": [2], "private_fts": [1], **nothing}
        assert await migrate(db, "vault") == 0
    finally:
        await db.close()
