"""Does a vault agree with itself? Compares rows, passages, full text, vectors and their saved index with their sources.

Reads only, alongside whatever else uses the vault: a private copy of the database, in processes of low priority, so
that no call waits for it. A queued vector is no disagreement: the queue knows of it.
All that is found here is derived, so ``reindex`` repairs it, except damage to the file itself and sources that differ
from their hash.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vaults.context import run_in
from vaults.db.private_copy import copied_apart, read_apart
from vaults.db.sql import Reader
from vaults.domain.maintenance import model_change
from vaults.domain.maintenance.comparison import compare
from vaults.domain.maintenance.comparison_parts import ComparedDatabase
from vaults.domain.maintenance.disagreements import Disagreements
from vaults.domain.maintenance.vector_comparison import VectorOrigin
from vaults.domain.maintenance.verification_findings import DAMAGED, VerificationFinding, to_findings
from vaults.domain.notes.index.extraction import SkippedFile
from vaults.domain.notes.sync import readiness
from vaults.domain.notes.verify import disk_check, journal_check
from vaults.errors import VaultQuarantined
from vaults.vault import Vault

__all__ = ["OnVerified", "VerificationFinding", "VerificationReport", "verify", "verify_alone"]


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


OnVerified = Callable[[int, int], None]
"""Called now and then: memories, then notes, compared so far, of how many."""


def ignore_progress(done: int, total: int) -> None:
    """An ``OnVerified`` for callers that need no progress."""


async def verify(vault: Vault, progress: OnVerified = ignore_progress) -> VerificationReport:
    """Compare everything with its source. Takes about a second per 10,000 memories on two cores, and as long as
    indexing the notes."""
    with suppress(VaultQuarantined):  # what is damaged is told below
        await readiness.wait_until_synced(vault)
    try:
        async with copied_apart(vault.db.path, vault.shared.storage) as copy:
            found = await _compare(vault, copy or vault.db.path, is_shared=copy is None, progress=progress)
    except VaultQuarantined:
        found = _damage()
    return await _report(vault, found, progress)


async def verify_alone(vault: Vault, progress: OnVerified = ignore_progress) -> VerificationReport:
    """``verify`` for whoever has the vault to himself: nothing is copied."""
    try:
        found = await _compare(vault, vault.db.path, is_shared=False, progress=progress)
    except VaultQuarantined:
        found = _damage()
    return await _report(vault, found, progress)


def _damage() -> Disagreements:
    return Disagreements(Counter({DAMAGED: 1}))


async def _compare(vault: Vault, path: Path, *, is_shared: bool, progress: OnVerified) -> Disagreements:
    """What the database alone can tell."""
    known, storage = vault.embedder.identity, vault.shared.storage
    vectors = VectorOrigin(vault.entry.vault_id, vault.folder, known.key if known else "", known.width if known else 0)
    thread = ThreadPoolExecutor(1, thread_name_prefix="verify")
    try:
        return await compare(ComparedDatabase(path, storage, vault.shared.index, vectors, is_shared), thread, progress)
    finally:
        thread.shutdown(wait=False)  # whoever is cancelled does not wait, and the loop never does


_TABLES = ("memories", "notes", "documents", "passages", "embeddings")


def _sizes(tx: Reader) -> tuple[int, ...]:
    return tuple(int(tx.value(f"SELECT COUNT(*) FROM {table}")) for table in _TABLES)


async def _report(vault: Vault, found: Disagreements, progress: OnVerified) -> VerificationReport:
    """Compare what lies on the disk besides, and say all of it."""
    counts, skipped, sizes = Counter(found.counts), list[SkippedFile](), (0,) * len(_TABLES)
    away = None
    if not counts[DAMAGED]:
        proof = await disk_check.check_notes(vault, progress)
        counts.update(proof.counts)
        counts["changes_unfinished"] += await journal_check.count_unfinished(vault)
        skipped = proof.skipped
        away = await model_change.find_problem(vault, own) if (own := vault.engines.model_name) else None
        sizes = await run_in(vault.shared.pool, read_apart, vault.db.path, vault.shared.storage, _sizes)
    findings = to_findings(counts, found.changed, skipped, vault.name, away)
    memories, notes, documents, cut, vectors = sizes
    return VerificationReport(
        vault=vault.name,
        agrees=all(finding.severity != "error" for finding in findings),
        memories=memories,
        passages=cut,
        vectors=vectors,
        owed=counts["vectors_owed"],
        findings=findings,
        notes=notes,
        documents=documents,
    )
