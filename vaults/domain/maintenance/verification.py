"""Does a vault agree with itself? Compares rows, passages, full text, vectors and their projection with their sources.

Reads only, alongside whatever else uses the vault: rows and pages of a private copy, on a thread of its own that rests
after each few milliseconds, so that no call waits for it. A queued vector is no disagreement: the queue knows of it.
All that is found here is derived, so ``reindex`` repairs it, except damage to the file itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from vaults.context import run_in
from vaults.db.connection import open_raw
from vaults.db.failures import translate_sqlite_errors
from vaults.db.private_copy import private_copy, read_apart
from vaults.db.sql import Reader, Row, Writer
from vaults.domain.code import code_rows
from vaults.domain.documents import indexing as document_indexing
from vaults.domain.maintenance import memory_comparison
from vaults.domain.maintenance.memory_comparison import ComparisonJob
from vaults.domain.memories import indexing
from vaults.domain.notes.index.extraction import SkippedFile
from vaults.domain.notes.sync import readiness
from vaults.domain.notes.verify import disk_check, journal_check
from vaults.errors import VaultQuarantined
from vaults.index import embeddings, neighbours, text_index
from vaults.index.shelves import SHELVES, Shelf
from vaults.index.snapshot import SnapshotInvalid
from vaults.index.vector_index import SnapshotStamp, VectorIndex
from vaults.settings import IndexSettings, StorageSettings
from vaults.vault import Vault

T = TypeVar("T")

PAGE = 200
"""Documents read at a time."""

MOST = 2**63 - 1

REINDEX_COMMAND = "run: strongroom reindex --vault {vault}"


@dataclass(frozen=True, slots=True)
class VerificationFinding:
    """Something that disagrees (``error``) or is worth knowing (``notice``). ``todo`` says what helps."""

    code: str
    severity: Literal["error", "notice"]
    count: int
    message: str
    todo: str


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """What was compared and what was found. ``agrees``: no finding is an error."""

    vault: str
    agrees: bool
    memories: int
    passages: int
    vectors: int
    owed: int
    findings: list[VerificationFinding]
    notes: int = 0
    documents: int = 0


Counts = dict[str, int]
OnVerified = Callable[[int, int], None]
"""Called now and then: memories, then notes, compared so far, of how many."""

_MESSAGES = {
    "database_damaged": "the database file is damaged",
    "rows_dangling": "rows refer to rows that are gone",
    "source_changed": "memories or documents differ from the hash that was taken of them",
    "tags_differ": "memories or documents differ from the tags and fields that searches filter by",
    "notes_unavailable": "the notes folder cannot be read; no note was compared",
    "notes_unindexed": "files are not in the index",
    "notes_gone": "notes in the index have no file, or one that is left out",
    "notes_stale": "the index knows another text than the file holds",
    "notes_differ": "notes differ from what is read of their file",
    "links_differ": "links, tasks, tags or fields differ from what is read of their note",
    "skipped_differ": "files are listed as left out for what is no reason now",
    "notes_unfinished": "long notes wait for their links and tasks to be read",
    "changes_unfinished": "changes of notes were begun and not ended",
    "versions_damaged": "kept versions of notes cannot be read",
    "symbols_differ": "symbols of source code are not those of their file's text, or are missing",
    "passages_missing": "memories, notes or documents have no passages",
    "passages_stale": "passages were cut from an earlier text of their memory",
    "passages_differ": "passages are not what is cut from their memory, note or document",
    "neighbours_differ": "passages do not know the text around them",
    "passages_orphaned": "passages belong to memories, notes or documents that are gone",
    "tags_orphaned": "tags or fields belong to memories, notes or documents that are gone",
    "text_index_differs": "the full-text index does not match the passages",
    "vectors_missing": "passages have no vector, and none is queued",
    "vectors_stale": "vectors belong to an earlier text or another model, and no new one is queued",
    "vectors_misshapen": "vectors are not unit vectors of the model's width",
    "change_clock_behind": "vectors have change numbers from the future",
    "projection_differs": "the vector index replayed from the rows does not hold what the rows hold",
    "snapshot_differs": "the saved vector index does not hold what the rows hold",
    "vectors_owed": "passages wait for their vector; keyword search finds them",
    "vectors_given_up": "passages were refused by the model; keyword search finds them",
    "snapshot_unused": "the saved vector index is from another state and will be built anew",
    "notes_behind": "files were saved just now and are not in the index yet",
    "folders_unread": "folders of notes cannot be listed; what is known of them was not compared",
    "notes_skipped": "files are left out of the index",
    "versions_missing": "changes name versions of notes that are not kept; they cannot be taken back",
    "versions_unnamed": "versions of notes are kept that no change names",
}
_NOTICES = {
    "vectors_owed": "a running server pays them; or run: strongroom reindex --vault {vault}",
    "vectors_given_up": REINDEX_COMMAND,
    "snapshot_unused": "nothing",
    "notes_behind": "a running server reads them in a moment",
    "notes_unfinished": "a running server reads them in a moment",
    "folders_unread": "let the server read them",
    "notes_skipped": "run: strongroom doctor --verbose --vault {vault}",
    "versions_missing": "nothing",
    "versions_unnamed": "nothing; they are forgotten in time",
}
_TODO = {
    "database_damaged": "run: strongroom salvage --vault {vault}",
    "versions_damaged": "restore a backup",
    "notes_unavailable": "bring the folder back",
    "changes_unfinished": "run: strongroom doctor --repair --vault {vault}",
}
MAX_REASONS = 3
"""Max skipped files a finding names."""


async def verify(vault: Vault, progress: OnVerified = lambda *_: None) -> VerificationReport:
    """Compare everything with its source. Takes about a second per 20,000 memories, and as long as indexing the
    notes."""
    limit = vault.shared.index.passage_tokens
    skipped: list[SkippedFile] = []
    with suppress(VaultQuarantined):  # what is damaged is told below
        await readiness.wait_until_synced(vault)
    with ThreadPoolExecutor(1, thread_name_prefix="verify") as thread:
        counts = await run_in(thread, _check_database, vault.db.path, vault.shared.storage, limit, progress)
    if not counts["database_damaged"]:
        found = Counter[str]()
        if not counts["change_clock_behind"]:
            found.update(await _check_vectors(vault))
        proof = await disk_check.check_notes(vault, progress)
        found.update(proof.counts)
        found.update(await journal_check.check_journal(vault))
        skipped = proof.skipped
        counts = counts | found
    memories, notes, documents, cut, vectors = await vault.db.read(_sizes)
    findings = [_to_finding(code, counts[code], vault.name) for code in _MESSAGES if counts.get(code)]
    findings += [_skipped_finding(skipped, vault.name)] if skipped else []
    agrees = all(finding.severity != "error" for finding in findings)
    return VerificationReport(
        vault=vault.name,
        agrees=agrees,
        memories=memories,
        passages=cut,
        vectors=vectors,
        owed=counts.get("vectors_owed", 0),
        findings=findings,
        notes=notes,
        documents=documents,
    )


def _sizes(tx: Reader) -> tuple[int, ...]:
    tables = ("memories", "notes", "documents", "passages", "embeddings")
    return tuple(int(tx.value(f"SELECT COUNT(*) FROM {table}")) for table in tables)


def _to_finding(code: str, count: int, vault: str) -> VerificationFinding:
    severity: Literal["error", "notice"] = "notice" if code in _NOTICES else "error"
    todo = _NOTICES.get(code, _TODO.get(code, REINDEX_COMMAND))
    return VerificationFinding(code, severity, count, _MESSAGES[code], todo.format(vault=vault))


def _skipped_finding(skipped: list[SkippedFile], vault: str) -> VerificationFinding:
    finding = _to_finding("notes_skipped", len(skipped), vault)
    some = ", ".join(f"{each.path} ({each.reason})" for each in skipped[:MAX_REASONS])
    more = ", …" if len(skipped) > MAX_REASONS else ""
    return replace(finding, message=f"{finding.message}: {some}{more}")


def _check_database(path: Path, settings: StorageSettings, passage_tokens: int, progress: OnVerified) -> Counts:
    """Everything that one moment of the database can tell. Blocking."""
    try:
        with private_copy(path, settings) as copy:
            counts = _check_file(copy or path, settings, is_shared=copy is None)
            if not counts["database_damaged"]:
                with translate_sqlite_errors(), closing(open_raw(copy or path, settings, writer=False)) as raw:
                    raw.execute("BEGIN")
                    job = ComparisonJob(copy or path, settings, passage_tokens, -1, MOST)
                    counts |= _check_rows(Reader(raw), job, progress, is_copy=copy is not None)
            return counts
    except VaultQuarantined:
        return {"database_damaged": 1}


def _check_file(path: Path, settings: StorageSettings, *, is_shared: bool) -> Counts:
    """Run the checks of SQLite and FTS5. Blocking; on a connection of its own, because on an older one FTS5 compares
    its remembered state of the index with what others have written since, and calls that damage."""
    with translate_sqlite_errors(), closing(open_raw(path, settings, writer=True)) as raw:
        found = [str(line) for (line,) in raw.execute("PRAGMA quick_check(20)") if line != "ok"]
        text = [line for line in found if "fts5" in line.lower()]
        if is_shared:  # no room for a copy, or nothing may be written: whoever writes waits meanwhile
            raw.execute("BEGIN IMMEDIATE")
        differs = bool(text) or text_index.is_inconsistent(Writer(raw))
        if raw.in_transaction:
            raw.execute("ROLLBACK")
    return {"database_damaged": len(found) - len(text), "text_index_differs": int(differs)}


def _check_rows(tx: Reader, job: ComparisonJob, progress: OnVerified, *, is_copy: bool) -> Counts:
    """Everything one snapshot of the rows can tell."""
    counts: Counts = {"rows_dangling": 0, **dict.fromkeys(_COMPARE_CODES, 0)}
    counts["rows_dangling"] = len(tx.all("PRAGMA foreign_key_check"))
    for code, sql in _COUNT_CHECKS.items():
        counts[code] = int(tx.value(sql, {"given_up": embeddings.MAX_ATTEMPTS}))
    counts["neighbours_differ"] = neighbours.count_disagreeing(tx)
    total, done = int(tx.value("SELECT COUNT(*) FROM memories")), 0

    def on_compared(count: int) -> None:
        nonlocal done
        done += count
        progress(done, total)

    many = is_copy and total >= memory_comparison.MANY_MEMORIES
    compare = memory_comparison.compare_in_processes if many else memory_comparison.compare_memories
    counts.update(Counter(counts) + compare(tx, job, on_compared))
    after = -1
    while documents := document_indexing.read_page(tx, after, PAGE):
        for document in memory_comparison.paced(documents):
            for code in document_indexing.find_disagreeing(tx, document, job.passage_tokens):
                counts[code] += 1
        after = documents[-1].seq
    return counts


_HAS_OWN_VECTOR = (
    "EXISTS (SELECT 1 FROM embeddings e WHERE e.passage = p.seq AND e.text_hash = p.text_hash"
    " AND e.model = COALESCE((SELECT value FROM vault_info WHERE key = 'model'), e.model))"
)
_IS_QUEUED = "EXISTS (SELECT 1 FROM embedding_queue q WHERE q.passage = p.seq)"
_HAS_ANY_VECTOR = "EXISTS (SELECT 1 FROM embeddings e WHERE e.passage = p.seq)"

_COUNT_CHECKS = {
    "symbols_differ": f"SELECT COUNT(*) FROM ({code_rows.STALE})",
    "passages_orphaned": f"SELECT COUNT(*) FROM passages x WHERE {indexing.ORPHANED}",
    "tags_orphaned": " + ".join(
        f"(SELECT COUNT(*) FROM {table} x WHERE {indexing.ORPHANED})" for table in ("item_tags", "item_fields")
    ).join(("SELECT ", "")),
    "vectors_missing": f"SELECT COUNT(*) FROM passages p WHERE NOT {_HAS_ANY_VECTOR} AND NOT {_IS_QUEUED}",
    "vectors_stale": (
        f"SELECT COUNT(*) FROM passages p WHERE {_HAS_ANY_VECTOR} AND NOT {_HAS_OWN_VECTOR} AND NOT {_IS_QUEUED}"
    ),
    "vectors_owed": "SELECT COUNT(*) FROM embedding_queue",
    "vectors_given_up": "SELECT COUNT(*) FROM embedding_queue WHERE attempts >= :given_up",
    "change_clock_behind": (
        "SELECT (SELECT COUNT(*) = 0 FROM vector_clock)"
        " + (SELECT COUNT(*) FROM embeddings WHERE change > COALESCE((SELECT MAX(last) FROM vector_clock), -1))"
    ),
}


_COMPARE_CODES = ("source_changed", "tags_differ", "passages_missing", "passages_stale", "passages_differ")


async def _check_vectors(vault: Vault) -> Counts:
    """Replay the vectors as a search would, from nothing and from the saved index, and compare both with the rows."""
    model = await vault.db.read(lambda tx: tx.value("SELECT value FROM vault_info WHERE key = 'model'"))
    if model is None:
        return {}
    lengths = await _read_apart(vault, lambda tx: tx.all(_LENGTHS, {"model": model}))
    if not lengths:
        return {}
    known = vault.shared.embedder.identity
    commonest, _ = lengths[0]
    width = known.width if known is not None and known.key == model else int(commonest) // 4
    misshapen = sum(int(count) for length, count in lengths if int(length) != 4 * width)
    found = Counter[str]()
    for shelf in SHELVES:
        found.update(await _check_shelf(vault, shelf, SnapshotStamp(vault.entry.vault_id, model, width, 0)))
    damaged = found.pop("damaged", 0)
    return {**found, "vectors_misshapen": max(misshapen, damaged)}


async def _check_shelf(vault: Vault, shelf: Shelf, stamp: SnapshotStamp) -> Counts:
    # The first of a process loads a library, which takes half a second.
    fresh = await run_in(vault.shared.pool, VectorIndex, stamp.width, vault.shared.index)
    replayed = await _replay(vault, shelf, fresh, stamp)
    loaded = await run_in(vault.shared.pool, _load, vault.folder / shelf.snapshot, stamp, vault.shared.index)
    counts = {"damaged": replayed.damaged, "projection_differs": replayed.difference}
    if isinstance(loaded, VectorIndex):
        counts["snapshot_differs"] = (await _replay(vault, shelf, loaded, stamp)).difference
    elif loaded != "missing":
        counts["snapshot_unused"] = 1
    return counts


_LENGTHS = "SELECT LENGTH(vector), COUNT(*) FROM embeddings WHERE model = :model GROUP BY 1 ORDER BY 2 DESC"


async def _read_apart(vault: Vault, work: Callable[[Reader], T]) -> T:
    return await run_in(vault.shared.pool, read_apart, vault.db.path, vault.shared.storage, work)


def _load(path: Path, stamp: SnapshotStamp, settings: IndexSettings) -> VectorIndex | str:
    try:
        return VectorIndex.load(path, stamp, settings)
    except SnapshotInvalid as verdict:
        return verdict.reason


@dataclass(frozen=True, slots=True)
class _ReplayResult:
    damaged: int
    difference: int


@dataclass(frozen=True, slots=True)
class _ReplayStep:
    """Changes to vectors and, with the last of them, what the rows held in the same snapshot."""

    delta: embeddings.VectorDelta
    clock: int
    count: int
    sample: list[Row]


async def _replay(vault: Vault, shelf: Shelf, index: VectorIndex, stamp: SnapshotStamp) -> _ReplayResult:
    """Bring the index up to date and count how its vectors differ from the rows: extra, missing or other ones."""
    damaged: set[int] = set()
    while True:
        seen = index.seen
        step = await _read_apart(vault, partial(_read_step, shelf=shelf, seen=seen, model=stamp.model))
        if step.delta.anew:
            index = VectorIndex(stamp.width, vault.shared.index)
        damaged |= set(await run_in(vault.shared.pool, index.apply, step.delta.changes, step.delta.last))
        if step.delta.last >= step.clock:
            break
    sample = [(passage, vector) for passage, vector in step.sample if passage not in damaged]
    wrong = await run_in(vault.shared.pool, _mismatches, index, sample)
    return _ReplayResult(len(damaged), abs(len(index) + len(damaged) - step.count) + wrong)


SAMPLE_SIZE = 256
"""Vectors compared one by one; the others are only counted."""


def _read_step(tx: Reader, shelf: Shelf, seen: int, model: str) -> _ReplayStep:
    delta, clock = embeddings.changes_since(tx, seen, model, shelf), embeddings.last_change(tx)
    if delta.last < clock:  # counting reads all of them: once, at the end
        return _ReplayStep(delta, clock, 0, [])
    where, params = "shelf = :shelf AND model = :model", {"shelf": shelf.number, "model": model}
    count = int(tx.value(f"SELECT COUNT(*) FROM embeddings WHERE {where}", params))
    sample = tx.all(
        f"SELECT passage, vector FROM embeddings WHERE {where} AND passage % :step = 0 LIMIT :sample",
        {**params, "step": max(count // SAMPLE_SIZE, 1), "sample": SAMPLE_SIZE},
    )
    return _ReplayStep(delta, clock, count, sample)


def _mismatches(index: VectorIndex, sample: list[Row]) -> int:
    import numpy as np

    wrong = 0
    for passage, raw in sample:
        allow = np.array([passage], dtype=np.int64)
        vector: Any = np.frombuffer(raw, dtype="<f4")
        hits = index.search(vector, 1, allow)
        wrong += not hits or hits[0][1] < MIN_COSINE
    return wrong


MIN_COSINE = 0.95
"""Min cosine of a vector with itself, allowing for compression."""
