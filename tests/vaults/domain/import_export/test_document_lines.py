"""Documents come as lines: whole, continued, changed, taken back, and out again byte for byte.

Covers vaults.domain.documents.storage.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from server.services import Services
from tests.conftest import Asking, Opening
from tests.importing import import_jsonl
from vaults.domain.actors import Actor
from vaults.domain.documents import reading
from vaults.domain.documents.document_model import DocumentPart
from vaults.domain.documents.indexing import read_parts
from vaults.domain.import_export import import_runs, run_undo
from vaults.domain.import_export.exports import export
from vaults.domain.import_export.source_import import ImportTally
from vaults.domain.maintenance.verification import verify
from vaults.vault import Vault

OWNER = Actor("local|owner", "owner")
DAY = "2026-11-20T09:00:00.000Z"
TALK: dict[str, Any] = {
    "kind": "document", "external_id": "talk:1", "format": "transcript", "title": "Paint for the harbour",
    "created_at": DAY, "metadata": {"project": "harbour"},
    "parts": [
        {"text": "Which colour shall the pier have?", "author": "ann", "role": "user", "at": DAY},
        {"text": "Salt eats red paint first.", "role": "assistant", "thinking": True},
        {"text": "Blue lasts longest in salt water.", "role": "assistant"},
    ],
}  # fmt: skip


@pytest.fixture
async def vault(services: Services) -> AsyncIterator[Vault]:
    async with services.pool.lease(services.registry_cache.entry("main")) as held:
        yield held


async def brought(vault: Vault, path: Path, *lines: dict[str, Any]) -> ImportTally:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return await import_jsonl(vault, OWNER, path)


async def exported(vault: Vault, folder: Path) -> dict[str, bytes]:
    await export(vault, folder, ["jsonl"])
    return {path.name: path.read_bytes() for path in folder.iterdir()}


async def parts_of(vault: Vault, ref: str = "talk:1") -> list[DocumentPart]:
    return await vault.db.read(lambda tx: read_parts(tx, reading.find_document(tx, OWNER, ref).seq))


async def vectors_of(vault: Vault) -> dict[str, bytes]:
    found = "SELECT p.body, e.passage || ':' || e.change FROM passages p JOIN embeddings e ON e.passage = p.seq"
    rows = await vault.db.read(lambda tx: tx.all(found))
    return dict(rows)


def more(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "document", "external_id": "talk:1", "append": True, "parts": list(parts)}


async def test_what_is_appended_leaves_earlier_vectors_as_they_are(vault: Vault, tmp_path: Path) -> None:
    assert (await brought(vault, tmp_path / "a.jsonl", TALK)).stored == 1
    before = await vectors_of(vault)
    assert len(before) == 3
    line = more({"text": "Then blue it is, order ten tins.", "position": 3, "author": "ann", "role": "user"})
    tally = await brought(vault, tmp_path / "b.jsonl", line)
    assert (tally.count("updated"), tally.rejected) == (1, 0)
    after = await vectors_of(vault)
    assert {body: after[body] for body in before} == before
    assert len(after) == 4
    again = await brought(vault, tmp_path / "b.jsonl", line)
    assert (again.known, again.count("updated")) == (1, 0)
    assert (await verify(vault)).findings == []


async def test_a_line_that_continues_must_say_where(vault: Vault, tmp_path: Path) -> None:
    assert (await brought(vault, tmp_path / "a.jsonl", TALK, more({"text": "Where?"}))).rejected == 1


async def test_a_document_that_begins_with_a_continuation_is_stored(vault: Vault, tmp_path: Path) -> None:
    line = {**more({"text": "Good morning, pier", "position": 7}), "format": "transcript"}
    assert (await brought(vault, tmp_path / "a.jsonl", line)).stored == 1
    assert [part.position for part in await parts_of(vault)] == [7]


async def test_a_changed_document_keeps_the_vectors_of_what_did_not_change(vault: Vault, tmp_path: Path) -> None:
    await brought(vault, tmp_path / "a.jsonl", TALK)
    before = await vectors_of(vault)
    changed = {**TALK, "parts": [TALK["parts"][0], {"text": "Green, as ever.", "role": "assistant"}]}
    assert (await brought(vault, tmp_path / "a.jsonl", changed)).count("updated") == 1
    after = await vectors_of(vault)
    question = TALK["parts"][0]["text"]
    assert after[question] == before[question]
    assert set(after) == {question, "Green, as ever."}
    assert (await verify(vault)).findings == []


async def test_long_documents_come_in_pieces_and_leave_in_several_lines(
    vault: Vault, tmp_path: Path, opening: Opening
) -> None:
    turns = [{"text": f"Turn {n}. " + "The pier is long. " * 2600, "role": "user"} for n in range(20)]
    tally = await brought(vault, tmp_path / "a.jsonl", {**TALK, "parts": turns})
    assert (tally.stored, tally.rejected) == (1, 0)
    assert [part.position for part in await parts_of(vault)] == list(range(20))
    out = await exported(vault, tmp_path / "out")
    assert out["documents.jsonl"].count(b"\n") > 1
    async with opening(data=tmp_path / "other") as services:
        async with services.pool.lease(services.registry_cache.entry("main")) as other:
            assert (await import_jsonl(other, OWNER, tmp_path / "out")).rejected == 0
            assert await exported(other, tmp_path / "back") == out
            again = await import_jsonl(other, OWNER, tmp_path / "out")
            assert (again.stored, again.count("updated")) == (0, 0)


async def undone(vault: Vault) -> None:
    newest = (await vault.db.read(lambda tx: import_runs.list_runs(tx, OWNER, 1)))[0]
    await run_undo.undo(vault, OWNER, newest)
    vault.start_background_work()
    await vault.background.wait()  # vectors: how many are owed is told


@pytest.mark.parametrize(
    "then",
    [
        more({"text": "Blue it is.", "position": 3}, {"text": "Ten tins.", "position": 4}),
        {**TALK, "title": "Other", "parts": [{"text": "Nothing of it"}]},
    ],
)
async def test_taking_back_a_later_run_brings_back_what_was_there(
    vault: Vault, tmp_path: Path, then: dict[str, Any]
) -> None:
    await brought(vault, tmp_path / "a.jsonl", TALK)
    before = await exported(vault, tmp_path / "before")
    await brought(vault, tmp_path / "b.jsonl", then)
    assert await exported(vault, tmp_path / "between") != before
    await undone(vault)
    assert await exported(vault, tmp_path / "after") == before
    assert (await verify(vault)).findings == []


async def test_taking_back_the_run_that_brought_it_leaves_nothing(vault: Vault, tmp_path: Path, ask: Asking) -> None:
    await brought(vault, tmp_path / "a.jsonl", TALK, more({"text": "Blue it is.", "position": 3}))
    await undone(vault)
    for table in ("documents", "document_parts", "passages", "embeddings", "item_fields"):
        assert await vault.db.read(lambda tx, table=table: tx.value(f"SELECT COUNT(*) FROM {table}")) == 0, table
    assert (await ask("search", query="colour of the pier")).content["hits"] == []
    assert (await brought(vault, tmp_path / "a.jsonl", TALK)).stored == 1


async def test_secrets_are_taken_out_of_transcripts(vault: Vault, tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    line = {**TALK, "parts": [{"text": f"use {token} for it", "role": "user"}]}
    assert (await brought(vault, tmp_path / "a.jsonl", line)).stored == 1
    assert "redacted" in (await parts_of(vault))[0].text
