"""Files become documents once, however often they come, and no secret of theirs is stored."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from server.services import Services
from tests.conftest import Asking, Opening
from vaults.domain.actors import Actor
from vaults.domain.documents import intake
from vaults.domain.documents.intake import DocumentSource, StoredDocument, find_stored, store_document, to_document
from vaults.domain.import_export import document_lines, import_runs
from vaults.domain.import_export.line_import import NumberedLine, import_lines
from vaults.domain.maintenance.verification import verify
from vaults.errors import QuotaExceeded
from vaults.formats.parsed_document import ParsedDocument, ParsedPart
from vaults.vault import Vault

AT = "2026-03-01T10:00:00.000Z"
OWNER = Actor("local|owner", "owner")
BOB = Actor("local|bob", "bob")
PAGES = (
    ParsedPart("Salt water eats paint within three winters.", "Corrosion", "page 1"),
    ParsedPart("The lighthouse keeper is paid by the harbour board.", "Staff", "page 12"),
)


@pytest.fixture
async def vault(services: Services) -> AsyncIterator[Vault]:
    async with services.pool.lease(services.registry_cache.entry("main")) as held:
        yield held


def parsed(*parts: ParsedPart, **more: Any) -> ParsedDocument:
    return ParsedDocument("pdf", "application/pdf", parts or PAGES, **more)


def source(**more: Any) -> DocumentSource:
    given: dict[str, Any] = {"name": "papers/contract.pdf", "uri": "file:///papers/contract.pdf", "source_hash": "a1"}
    return DocumentSource(**given | more)


async def store(vault: Vault, of: ParsedDocument, origin: DocumentSource, actor: Actor = OWNER) -> StoredDocument:
    return await store_document(vault, actor, *to_document(of, origin))


def test_a_file_without_a_title_has_its_name_and_blank_parts_are_left_out() -> None:
    fields, parts = to_document(parsed(ParsedPart(" \n"), *PAGES), source(modified_at=AT, metadata={"etag": "1"}))
    assert (fields.title, fields.format, fields.mime) == ("contract.pdf", "pdf", "application/pdf")
    assert (fields.created_at, fields.modified_at, fields.metadata) == (AT, AT, {"etag": "1"})
    assert [(part.position, part.locator) for part in parts] == [(0, "page 1"), (1, "page 12")]
    assert to_document(parsed(title="Lease"), source())[0].title == "Lease"
    assert to_document(parsed(title="Lease"), source(title="Harbour lease"))[0].title == "Harbour lease"


def test_what_cannot_be_stored_of_a_text_is_left_out() -> None:
    _, (part,) = to_document(parsed(ParsedPart("a\x00b\ud800c", "x\x00y")), source())
    assert (part.text, part.heading) == ("ab?c", "xy")


def test_what_a_file_says_of_itself_fits_into_a_line_of_an_export(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "MAX_PART", 10)
    long = ParsedPart("a" * 25, "h" * 900, "p" * 300, author="b" * 300)
    fields, parts = to_document(
        parsed(
            long,
            author="c" * 300,
            title="t" * 900,
            metadata={"big": "x" * 20_000, "small": 1, "odd": ["\ud800", float("nan")]},
        ),
        source(uri="https://example.org/" + "u" * 900),
    )
    assert [len(part.text) for part in parts] == [10, 10, 5]
    sizes = [len(each or "") for each in (parts[0].heading, parts[0].locator, parts[0].author, fields.author)]
    kept = {"file": "contract.pdf", "small": 1, "odd": ["?", None]}
    assert (sizes, len(fields.title), fields.metadata) == ([500, 200, 200, 200], 500, kept)
    assert len(fields.external_id or "") < 200


async def test_an_export_keeps_what_a_file_is_known_by(opening: Opening) -> None:
    async with opening(vaults=("main", "other")) as services:
        fetched = []
        for name in ("main", "other"):
            async with services.pool.lease(services.registry_cache.entry(name)) as vault:
                if name == "main":
                    await store(vault, parsed(), source(context="leases"))
                    lines = (await vault.db.read(lambda tx: document_lines.read_page(tx, 0)) or (0, []))[1]
                else:
                    run = await vault.db.write(lambda tx: import_runs.begin(tx, OWNER, "jsonl", ""))
                    await import_lines(vault, OWNER, run, [NumberedLine(1, lines[0])])
                fetched.append(await find_stored(vault, OWNER, source(context="leases")))
        assert [each.status if each else None for each in fetched] == ["unchanged", "unchanged"]


async def test_a_file_that_comes_again_is_unchanged_and_a_changed_one_is_updated(vault: Vault, ask: Asking) -> None:
    first = await store(vault, parsed(), source(modified_at=AT))
    assert (first.status, first.parts, first.passages) == ("new", 2, 2)
    again = await store(vault, parsed(), source(modified_at=AT))
    assert (again.status, again.id) == ("unchanged", first.id)
    longer = parsed(ParsedPart("The tender closes in May.", "Tender", "page 1"), *PAGES)
    changed = await store(vault, longer, source(source_hash="b2"))
    assert (changed.status, changed.id, changed.parts) == ("updated", first.id, 3)
    best = (await ask("search", query="who pays the lighthouse keeper", mode="keyword")).content["hits"][0]
    assert (best["title"], best["place"]) == ("contract.pdf", "page 12")
    assert {each.code for each in (await verify(vault)).findings} <= {"vectors_owed"}


async def test_an_inserted_page_leaves_the_vectors_of_the_others(vault: Vault) -> None:
    await store(vault, parsed(), source())
    vault.start_background_work()
    await vault.background.wait()
    vault.embedder.loads_for_backfill = False  # from here on, what is missing is counted and not made
    longer = parsed(ParsedPart("The tender closes in May.", "Tender", "page 1"), *PAGES)
    prepared = await store(vault, longer, source(source_hash="b2"))
    missing = await vault.db.read(lambda tx: tx.value("SELECT COUNT(*) FROM embedding_queue"))
    assert (prepared.passages, missing) == (3, 1)


async def test_the_same_bytes_are_stored_once_in_a_workspace_and_collection(vault: Vault) -> None:
    first = await store(vault, parsed(), source())
    elsewhere = source(uri="file:///copy/contract.pdf")
    again = await store(vault, parsed(), elsewhere, BOB)
    assert replace(again, pending=True) == replace(
        first, status="duplicate", pending=True
    )  # embedded meanwhile, or not
    others = [
        replace(elsewhere, workspace="harbour"),
        replace(elsewhere, uri="file:///c", collection="papers"),
        replace(elsewhere, uri="file:///p", visibility="private"),
    ]
    assert [(await store(vault, parsed(), each, BOB)).status for each in others] == ["new", "new", "new"]
    hidden = replace(elsewhere, uri="file:///q", visibility="private")
    assert (await store(vault, parsed(), hidden)).status == "new"  # Bob's private twin tells nobody else anything


async def test_a_known_file_need_not_be_parsed_again_unless_something_else_is_said_of_it(vault: Vault) -> None:
    assert await find_stored(vault, OWNER, source()) is None
    stored = await store(vault, parsed(), source())
    await vault.background.wait()
    first = replace(stored, pending=False)
    found = await find_stored(vault, OWNER, source())
    assert found == replace(first, status="unchanged")
    twin = await find_stored(vault, OWNER, source(uri="file:///copy.pdf"))
    assert twin == replace(first, status="duplicate")
    changes: list[dict[str, Any]] = [
        {"source_hash": "b2"},
        {"title": "Lease"},
        {"thread": "rent"},
        {"workspace": "harbour"},
        {"context": "leases of the harbour"},
    ]
    assert [await find_stored(vault, OWNER, source(**each)) for each in changes] == [None] * 5
    assert (await store(vault, parsed(), source(thread="rent"))).status == "updated"


async def test_secrets_are_taken_out_and_said(vault: Vault, ask: Asking) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    page = ParsedPart(f"The harbour's token is {secret}, keep it.", "Access")
    of = f"https://example.org/page?token={secret}"
    stored = await store(vault, parsed(page), source(uri=of))
    assert any("GitHub" in each for each in stored.warnings), stored.warnings
    shown = await ask("fetch", id=stored.id)
    rows = await vault.db.read(lambda tx: tx.all("SELECT uri, external_id, title FROM documents"))
    assert secret not in shown.text
    assert secret not in str(rows)
    assert (await store(vault, parsed(page), source(uri=of))).status == "unchanged"


async def test_a_line_on_what_it_is_finds_each_passage(vault: Vault, ask: Asking) -> None:
    await store(vault, parsed(), source(context="leases of the berths at Tarbert"))
    found = (await ask("search", query="Tarbert berths", mode="keyword")).content["hits"]
    assert {hit["place"] for hit in found} == {"page 1", "page 12"}
    assert {each.code for each in (await verify(vault)).findings} <= {"vectors_owed"}
    assert (await store(vault, parsed(), source(context="leases of Ayr"))).status == "updated"
    assert (await ask("search", query="Tarbert", mode="keyword")).content["hits"] == []


async def test_a_document_beyond_the_bound_is_stored_up_to_it(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "MAX_CHARACTERS", 60)
    stored = await store(vault, parsed(), source())
    assert stored.parts == 2
    assert "only the first 60 characters were stored (page 12)" in stored.warnings[0]


async def test_a_vault_that_is_full_takes_no_document(vault: Vault) -> None:
    class Full:
        async def take(self, stores: int) -> Any:
            raise AssertionError(stores)

        def room(self, tx: object, more: int) -> int:
            raise QuotaExceeded("the vault is full")

    with pytest.raises(QuotaExceeded):
        await store_document(vault, OWNER, *to_document(parsed(), source()), quota=Full())
