"""What must hold of a vault of notes after whatever happened to the process that changed it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.conftest import asker
from tests.crash.notes_work import opened
from tests.work import PATIENCE_S
from vaults.db.sql import Reader
from vaults.domain.maintenance.verification import verify
from vaults.domain.notes.commit import journal
from vaults.domain.notes.index import extraction
from vaults.domain.notes.index.extraction import compute_digest
from vaults.files.tree import FileContent
from vaults.graph.links import link_index
from vaults.graph.names.note_names import LinkResolver
from vaults.graph.note_graph import Graph, catch_up
from vaults.markdown.link import Link
from vaults.vault import Vault

WORD = re.compile(r"\b[a-z]+word\d*\b")
"""Words that tell notes and edits apart."""

Files = Mapping[str, bytes]


def files_of(root: Path) -> dict[str, bytes]:
    """Every file of a folder, hidden ones too, by path inside it."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def notes_of(data: Path) -> Path:
    return data / "vaults" / "main" / "notes"


async def check(data: Path, states: Sequence[Files], acknowledged: Sequence[str] = (), **flags: Any) -> int:
    """Open the vault anew and hold it against the states it may be in: the one after the last acknowledged change, or
    the one after the next, wholly. ``acknowledged``: ids of changes. Returns which state it is in."""
    async with opened(data, flags) as services, services.pool.lease(services.registry_cache.entry("main")) as vault:
        assert await vault.notes.wait_for_index(PATIENCE_S)
        assert vault.notes.progress.reason is None, vault.notes.progress
        found = files_of(notes_of(data))
        possible = range(len(acknowledged), min(len(acknowledged) + 2, len(states)))
        now = next((number for number in possible if found == states[number]), None)
        assert now is not None, _difference(found, states[len(acknowledged)])
        await agrees(vault, found)
        for identity in acknowledged:
            record = await vault.db.read(lambda tx, identity=identity: journal.find_change(tx, identity))
            assert record is not None, "an acknowledged change is not in the journal"
            assert record.state == "done", record
        ask = asker(services)
        for path, data_ in found.items():
            for word in set(WORD.findall(data_.decode())):
                hits = (await ask("search", query=word, mode="keyword", limit=10)).content["hits"]
                assert path in {hit["id"] for hit in hits}, (path, word)
        gone = {word for state in states for data_ in state.values() for word in WORD.findall(data_.decode())}
        for word in gone - {word for data_ in found.values() for word in WORD.findall(data_.decode())}:
            assert not (await ask("search", query=word, mode="keyword", limit=10)).content["hits"], word
        return now


def _difference(found: Files, state: Files) -> str:
    names = sorted(set(found) ^ set(state))
    return f"names: {names}; other bytes: {sorted(n for n in set(found) & set(state) if found[n] != state[n])}"


async def agrees(vault: Vault, files: Files) -> None:
    """Database sound, nothing begun and not ended, and rows, names, links and tasks as read from these very bytes."""
    await _paid(vault)
    sound = await vault.db.run_on_writer(lambda raw: raw.execute("PRAGMA integrity_check").fetchall())
    assert sound == [("ok",)]
    assert not await vault.db.run_on_writer(lambda raw: raw.execute("PRAGMA foreign_key_check").fetchall())
    assert not await vault.db.read(journal.list_unfinished)
    assert not await vault.db.read(lambda tx: journal.list_uncommitted(tx, 1)), vault.history.status
    report = await verify(vault)
    assert report.agrees, report.findings
    rows = await vault.db.read(_rows)
    notes = {path: data for path, data in files.items() if path.lower().endswith((".md", ".markdown"))}
    assert {path: row[0] for path, row in rows.items()} == {path: compute_digest(data) for path, data in notes.items()}
    for path, data in notes.items():
        stamp = vault.notes.tree.stamp(path)
        assert stamp is not None
        fresh = extraction.extract_note(path, FileContent(data, stamp), 0)
        links = [(link.line, link.target) for link in fresh.links or ()]
        assert rows[path][1:] == (fresh.title, links, [task.text for task in fresh.tasks or ()]), path
    await vault.db.read(lambda tx: linked_well(vault, tx))


def linked_well(vault: Vault, tx: Reader) -> None:
    """What links mean is what they mean when all is worked out anew, the graph in memory is that of the rows, and the
    history of links ends with those there are."""
    assert not link_index.is_due(tx)
    meanings = LinkResolver(tx)
    links = tx.all("SELECT l.note, n.path, l.kind, l.target, l.meant FROM note_links l JOIN notes n ON n.seq = l.note")
    for note, path, kind, target, meant in links:
        assert meant == meanings.of(Link(kind, target), path, note), (
            path,
            target,
        )
    known, fresh = vault.graph_cache.at(tx), catch_up(tx, Graph())
    assert (known.nodes, known.out, known.into) == (fresh.nodes, fresh.out, fresh.into)
    there = set(tx.all("SELECT DISTINCT n.path, l.target_key FROM note_links l JOIN notes n ON n.seq = l.note"))
    told: dict[tuple[str, str], bool] = {}
    for path, target, added in tx.all("SELECT path, target, added FROM link_history ORDER BY seq"):
        assert told.get((path, target)) is not bool(added), f"{target} came or went twice in {path}"
        told[path, target] = bool(added)
    notes = {row[0] for row in tx.all("SELECT path FROM notes")}
    for (path, target), last in told.items():
        assert path not in notes or last is ((path, target) in there), (path, target)


async def _paid(vault: Vault) -> None:
    """Until what is owed behind the answers is done."""
    async with asyncio.timeout(PATIENCE_S):
        vault.start_background_work()
        while vault.background.is_busy:
            await asyncio.wait({vault.background.due_work})  # type: ignore[arg-type]


def _rows(tx: Reader) -> dict[str, tuple[str, str, list[tuple[int, str]], list[str]]]:
    return {
        path: (
            hash_,
            title,
            [
                (int(line), target)
                for line, target in tx.all(
                    "SELECT line, target FROM note_links WHERE note = ? ORDER BY ordinal", (seq,)
                )
            ],
            [row[0] for row in tx.all("SELECT text FROM note_tasks WHERE note = ? ORDER BY ordinal", (seq,))],
        )
        for seq, path, hash_, title in tx.all("SELECT seq, path, hash, title FROM notes")
    }
