"""Source code is stored as documents that are found by name, by words and by meaning, and what is derived of it can be
made again.

Covers vaults.domain.code.intake, vaults.domain.code.code_rows, vaults.domain.code.rebuilding.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from server.services import Services
from tests.code_bases import OWNER, SHOP, store_files
from tests.conftest import Asking
from vaults.code.outline import outline_source
from vaults.domain.code import code_rows
from vaults.domain.code.intake import store_code, to_code_document
from vaults.domain.code.rebuilding import rebuild_code
from vaults.domain.documents import indexing, storage
from vaults.domain.documents.intake import DocumentSource
from vaults.domain.maintenance.reindexing import reindex
from vaults.domain.maintenance.verification import verify
from vaults.vault import Vault


@pytest.fixture
async def vault(services: Services) -> AsyncIterator[Vault]:
    async with services.pool.lease(services.registry_cache.entry("main")) as held:
        await store_files(held, SHOP)
        yield held


async def count_rows(vault: Vault) -> dict[str, int]:
    return await vault.db.read(
        lambda tx: {table: int(tx.value(f"SELECT COUNT(*) FROM {table}")) for table in code_rows.TABLES}
    )


async def hits(ask: Asking, query: str, **more: Any) -> list[dict[str, Any]]:
    found = await ask("search", query=query, kinds=["code"], **more)
    assert found.ok, found.text
    return list(found.content["hits"])


def test_parts_hold_all_of_a_file_each_with_its_symbol_and_lines() -> None:
    text = SHOP["shop/till.py"]
    fields, parts = to_code_document(
        outline_source(text, "till.py"), DocumentSource(name="till.py", uri="shop/till.py", context="the shop")
    )
    assert "".join(part.text for part in parts) == text
    assert (fields.kind, fields.format, fields.title, fields.uri) == ("code", "python", "shop/till.py", "shop/till.py")
    assert fields.metadata == {"context": "the shop"}
    assert [part.position for part in parts] == list(range(len(parts)))
    assert [(part.heading, part.locator) for part in parts] == [
        ("Drawer", "lines 1–9"),
        ("Till", "lines 10–18"),
    ]


async def test_a_hit_names_file_symbol_and_lines_and_is_fetched_with_its_surroundings(
    vault: Vault, ask: Asking
) -> None:
    best = (await hits(ask, "what a thing costs", collection="shop"))[0]
    assert (best["kind"], best["title"], best["section"]) == ("code", "shop/prices.py", "TAX_RATE, find_price, reset")
    assert best["place"] == "prices.py, lines 1–12"
    whole = (await ask("fetch", id=best["parent"])).content
    assert whole["text"] == SHOP["shop/prices.py"]
    assert (await ask("fetch", id=best["id"])).content["metadata"]["parts"] == "lines 1–12"


@pytest.mark.parametrize("query", ["openDrawer", "opendrawer", "open drawer", "Till.openDrawer"])
async def test_an_identifier_with_humps_is_found_whole_and_in_parts(vault: Vault, ask: Asking, query: str) -> None:
    assert "def openDrawer" in (await hits(ask, query, mode="keyword"))[0]["text"]


@pytest.mark.parametrize("query", ["find_price", "find price", "prices.find_price"])
async def test_an_identifier_with_underscores_is_found_whole_and_in_parts(
    vault: Vault, ask: Asking, query: str
) -> None:
    assert "def find_price" in (await hits(ask, query, mode="keyword"))[0]["text"]


async def test_storing_again_changes_what_changed_and_nothing_else(vault: Vault) -> None:
    before = await count_rows(vault)
    again = await store_files(vault, SHOP)
    assert {each.status for each in again.values()} == {"unchanged"}
    changed = await store_files(vault, {"shop/other.py": "def ask():\n    return 1\n"})
    assert [each.status for each in changed.values()] == ["updated"]
    after = await count_rows(vault)
    assert after["code_symbols"] == before["code_symbols"] - 1
    assert after["code_files"] == before["code_files"]


async def test_what_is_known_of_a_file_goes_with_its_document(vault: Vault) -> None:
    ids = [each.id for each in (await store_files(vault, SHOP)).values()]
    await storage.remove_batch(vault, OWNER, ids, None)
    assert set((await count_rows(vault)).values()) == {0}


async def test_symbols_that_are_lost_are_noticed_and_made_again(vault: Vault, ask: Asking) -> None:
    before = (await ask("code", action="impact", path="shop/prices.py", depth=3, limit=100)).content
    rows = await count_rows(vault)
    for table in ("code_symbols", "code_imports", "code_files"):
        await vault.db.write(lambda tx, table=table: tx.run(f"DELETE FROM {table}"))  # type: ignore[misc]
        report = await verify(vault)
        assert [each.code for each in report.findings if each.severity == "error"] == ["symbols_differ"]
    await reindex(vault)
    assert (await verify(vault)).agrees
    assert await count_rows(vault) == rows
    assert (await ask("code", action="impact", path="shop/prices.py", depth=3, limit=100)).content == before


async def test_only_what_is_stale_is_read_again(vault: Vault) -> None:
    assert await rebuild_code(vault, all_of_it=False) == 0
    stored = await store_files(vault, {"new.py": "def f():\n    pass\n"})
    await vault.db.write(
        lambda tx: tx.run("DELETE FROM code_symbols WHERE document = :seq", {"seq": stored["new.py"].seq})
    )
    assert await rebuild_code(vault, all_of_it=False) == 1
    assert (await verify(vault)).agrees


async def test_secrets_stand_neither_in_text_nor_in_signatures(vault: Vault) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    text = f"TOKEN = '{secret}'\n\n\ndef use(token='{secret}'):\n    return token\n"
    await store_files(vault, {"secret.py": text})
    found = await vault.db.read(
        lambda tx: [
            *tx.all("SELECT signature FROM code_symbols"), *tx.all("SELECT text FROM document_parts"),
            *tx.all("SELECT body FROM passages"),
        ]
    )  # fmt: skip
    assert not any(secret in text for (text,) in found)
    assert await vault.db.read(lambda tx: code_rows.find_stale(tx, 0, 10)) == []


async def test_a_document_stored_by_somebody_else_takes_its_symbols_in_the_same_transaction(vault: Vault) -> None:
    text = "def later():\n    return 1\n"
    outline = outline_source(text, "later.py")
    fields, parts = to_code_document(outline, DocumentSource(name="later.py", uri="later.py"))
    prepared = storage.prepare(vault, fields, parts)

    def write(tx: Any) -> int:
        document = storage.insert(vault, tx, OWNER, prepared)
        store_code(vault, tx, document.seq, outline)
        return indexing.read_document(tx, document.seq).seq

    seq = await vault.db.write(write)
    rows = await vault.db.read(
        lambda tx: tx.all("SELECT name, line FROM code_symbols WHERE document = :seq", {"seq": seq})
    )
    assert rows == [("later", 1)]
    assert await vault.db.read(lambda tx: code_rows.find_stale(tx, 0, 10)) == []
