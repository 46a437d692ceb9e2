"""What is like a document, or a part of one, is found without it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from server.services import Services
from tests.conftest import Asking
from tests.people import person
from vaults.db.sql import Writer
from vaults.domain.actors import Actor
from vaults.domain.documents import storage
from vaults.domain.documents.document_model import Document, DocumentFields, DocumentKind, DocumentPart
from vaults.vault import Vault

AT = "2026-03-01T10:00:00.000Z"
TOPICS = {
    "paint": ("Blue paint lasts in salt water.", "Red paint fades on the pier.", "Paint dries slowly in fog."),
    "colour": ("Which blue paint lasts in salt water?", "Paint of the pier fades.", "The painters dry the brushes."),
    "ledger": ("The ledger closes in March.", "Invoices are booked by the clerk.", "Taxes are due in April."),
}


@pytest.fixture
async def vault(services: Services) -> AsyncIterator[Vault]:
    async with services.pool.lease(services.registry_cache.entry("main")) as held:
        yield held


async def stored(vault: Vault, kind: DocumentKind = "document", **more: Any) -> dict[str, Document]:
    """The topics, a document each, with their vectors."""
    found = {}
    await vault.adopt_model()
    for name, texts in TOPICS.items():
        parts = tuple(DocumentPart(at, text, f"Part {at}", f"page {at + 1}") for at, text in enumerate(texts))
        prepared = storage.prepare(vault, DocumentFields(kind, kind, name, AT, AT, **more), parts)

        def write(tx: Writer, prepared: storage.PreparedDocument = prepared) -> Document:
            return storage.insert(vault, tx, Actor("local|owner", "owner"), prepared)

        found[name] = await vault.db.write(write)
    vault.start_background_work()
    await vault.background.wait()
    return found


@pytest.mark.parametrize("kind", ["document", "code"])
async def test_like_a_document_are_other_documents(vault: Vault, ask: Asking, kind: DocumentKind) -> None:
    known = await stored(vault, kind)
    for ref in (known["paint"].id, f"{kind}://{known['paint'].id}"):
        found = (await ask("search", similar_to=ref, kinds=[kind], group_by="parent")).content
        assert [hit["parent"] for hit in found["hits"]] == [known["colour"].id, known["ledger"].id]
        assert found["mode_used"] == "hybrid"


async def test_no_part_of_the_document_itself_is_found(vault: Vault, ask: Asking) -> None:
    known = await stored(vault)
    found = (await ask("search", similar_to=known["paint"].id, kinds=["document"])).content["hits"]
    assert found
    assert known["paint"].id not in {hit["parent"] for hit in found}


async def test_like_a_part_are_parts_its_own_document_s_included(vault: Vault, ask: Asking) -> None:
    known = await stored(vault)
    ref = f"{known['paint'].id}#0"
    found = (await ask("search", similar_to=ref, kinds=["document"])).content["hits"]
    assert ref not in [hit["id"] for hit in found]
    assert known["paint"].id in {hit["parent"] for hit in found}
    assert found[0]["id"] == f"{known['colour'].id}#0"
    rolled = (await ask("search", similar_to=ref, kinds=["document"], group_by="parent")).content["hits"]
    assert known["paint"].id not in {hit["parent"] for hit in rolled}


async def test_like_a_document_without_vectors_is_what_has_its_words(vault: Vault, ask: Asking) -> None:
    known = await stored(vault)
    await vault.db.write(lambda tx: tx.run("DELETE FROM embeddings"))
    found = (await ask("search", similar_to=known["paint"].id, kinds=["document"])).content
    assert found["mode_used"] == "keyword"
    assert found["hits"][0]["parent"] == known["colour"].id


async def test_a_private_document_of_somebody_else_is_not_there(services: Services, vault: Vault) -> None:
    known = await stored(vault, visibility="private")
    bob = await person(services, "bob")
    for ref in (known["paint"].id, f"{known['paint'].id}#1"):
        assert (await bob("search", similar_to=ref)).code == "not_found"
