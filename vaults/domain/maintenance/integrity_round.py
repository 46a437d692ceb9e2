"""Once a week, without being asked: does the content of a vault still match the hashes that were taken of it?

The pages of the database are looked through by ``vaults.damage_inspection``. That misses a byte that changed inside a
text, and what happens to notes on disk behind everybody's back: a file whose bytes changed while its time and size did
not. The round goes on where it was after a restart, works a few milliseconds at a time and rests as long, and takes a
small part of the time a vault is open.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from vaults import clock
from vaults.context import run_in
from vaults.db.failures import translate_sqlite_errors
from vaults.db.sql import Reader, Writer
from vaults.domain.documents import indexing as document_indexing
from vaults.domain.documents.document_model import hash_document
from vaults.domain.memories import indexing
from vaults.domain.notes.commit import version_store
from vaults.domain.notes.index.extraction import compute_digest
from vaults.errors import StrongroomError, VaultQuarantined
from vaults.files.file_stamps import FileStamp
from vaults.vault import BackgroundJob, Vault

EVERY_S = 7 * 86_400.0
SPAN_S = 1.0
"""Seconds one run takes at most, rests included: other background work comes next."""

KEY = "integrity"
"""In ``vault_info``: how far the round is, and what the last one found."""

_MEMORIES, _NOTES = 50, 20


@dataclass(frozen=True, slots=True)
class IntegrityState:
    """``stage``: what is looked at, None between two rounds; ``after``: what was looked at last. ``found``: how much
    disagrees, by code, so far; ``ended`` and ``last``: when the last whole round ended, and what it found."""

    stage: str | None = None
    after: str = ""
    found: dict[str, int] = field(default_factory=dict)
    ended: str | None = None
    last: dict[str, int] = field(default_factory=dict)

    @property
    def problems(self) -> int:
        """How much disagrees, as far as is known now."""
        return sum((Counter(self.last) | Counter(self.found)).values())


def read_state(tx: Reader) -> IntegrityState:
    """How far the round of a vault is."""
    said = tx.value("SELECT value FROM vault_info WHERE key = :key", {"key": KEY})
    try:
        state = IntegrityState(**json.loads(said)) if said else IntegrityState()
    except (ValueError, TypeError):  # of another version: begin anew
        return IntegrityState()
    return state if state.stage in (None, *STAGES) else IntegrityState()


def age_s(tx: Reader) -> float:
    """Seconds since the last whole round or, before the first, since the vault was made."""
    since = read_state(tx).ended or tx.value("SELECT value FROM vault_info WHERE key = 'created_at'")
    return clock.age_s(str(since)) if since else EVERY_S


def is_due(tx: Reader) -> bool:
    """Whether a round is under way, or the last one was long ago."""
    return read_state(tx).stage is not None or age_s(tx) >= EVERY_S


@dataclass(frozen=True, slots=True)
class IntegrityFigures:
    """For the operator: how much disagrees, and the age of the last whole round in seconds."""

    problems: int = 0
    age_s: float = 0.0


def read_figures(tx: Reader) -> IntegrityFigures:
    """As of now."""
    return IntegrityFigures(read_state(tx).problems, age_s(tx))


async def go_on(vault: Vault) -> None:
    """Look at the next part of the vault, and remember where that ended."""
    state, until = await vault.db.read(read_state), time.monotonic() + SPAN_S
    if state.stage is None:
        state = replace(state, stage=STAGES[0], after="", found={})
    while state.stage is not None and time.monotonic() < until:
        began = time.monotonic()
        state = await _take_step(vault, state, state.stage)
        await asyncio.sleep(time.monotonic() - began)
    await vault.db.write_uncounted(lambda tx: _write_state(tx, state))
    if state.stage is not None:
        vault.background.start_later(SPAN_S)


@dataclass(frozen=True, slots=True)
class _Step:
    """How much was found, and the last thing looked at; None: that was all."""

    found: int
    after: str | None


async def _take_step(vault: Vault, state: IntegrityState, stage: str) -> IntegrityState:
    code, step = _STEPS[stage]
    taken = await step(vault, state.after)
    found = state.found | ({code: state.found.get(code, 0) + taken.found} if taken.found else {})
    if taken.after is not None:
        return replace(state, after=taken.after, found=found)
    following = STAGES.index(stage) + 1
    if following < len(STAGES):
        return replace(state, stage=STAGES[following], after="", found=found)
    return IntegrityState(ended=clock.now(), last=found)


def _write_state(tx: Writer, state: IntegrityState) -> None:
    tx.run(
        "INSERT INTO vault_info (key, value) VALUES (:key, :said)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        {"key": KEY, "said": json.dumps(asdict(state))},
    )


async def _check_memories(vault: Vault, after: str) -> _Step:
    return await vault.db.read(lambda tx: _look_past_damage(tx, "memories", after, _look_at_memories, _MEMORIES))


async def _check_documents(vault: Vault, after: str) -> _Step:
    # one may be long
    return await vault.db.read(lambda tx: _look_past_damage(tx, "documents", after, _look_at_documents, 1))


def _look_at_memories(tx: Reader, after: int, most: int) -> _Step:
    page = indexing.load_sources(tx, after, most)
    wrong = sum(indexing.expected_hash(each) != each.item.source_hash for each in page)
    return _Step(wrong, str(page[-1].item.number) if page else None)


def _look_at_documents(tx: Reader, after: int, most: int) -> _Step:
    page = document_indexing.read_page(tx, after, most)
    wrong = sum(hash_document(each.fields, document_indexing.read_parts(tx, each.seq)) != each.hash for each in page)
    return _Step(wrong, str(page[-1].seq) if page else None)


def _look_past_damage(
    tx: Reader, table: str, after: str, look: Callable[[Reader, int, int], _Step], most: int
) -> _Step:
    """Look at the next rows. One that cannot be read counts as wrong, and the round goes on behind it."""
    number = int(after or -1)
    for count in (most, 1):
        with suppress(VaultQuarantined), translate_sqlite_errors():
            return look(tx, number, count)
    unreadable = tx.value(f"SELECT MIN(seq) FROM {table} WHERE seq > :number", {"number": number})
    return _Step(1, str(unreadable))


async def _check_versions(vault: Vault, after: str) -> _Step:
    last, wrong = await vault.db.read(lambda tx: version_store.count_damaged_after(tx, after, _NOTES))
    return _Step(wrong, last)


async def _check_notes(vault: Vault, after: str) -> _Step:
    rows = await vault.db.read(
        lambda tx: tx.all(
            "SELECT path, hash, size, mtime_ns, inode, device FROM notes WHERE path > :after ORDER BY path LIMIT :most",
            {"after": after, "most": _NOTES},
        )
    )
    wrong = await run_in(vault.shared.pool, _count_rotten, vault, rows)
    return _Step(wrong, str(rows[-1][0]) if rows else None)


def _count_rotten(vault: Vault, rows: list[tuple[Any, ...]]) -> int:
    """Files whose bytes are others although nothing says that somebody wrote them. What was written or removed is the
    index's business. Blocking."""
    wrong = 0
    for path, digest, *stamp in rows:
        try:
            content = vault.notes.tree.read(path, vault.notes.settings.max_note)
        except StrongroomError:
            continue
        wrong += content.stamp.same(FileStamp(*stamp)) and compute_digest(content.data) != digest
    return wrong


_STEPS: dict[str, tuple[str, Callable[[Vault, str], Awaitable[_Step]]]] = {
    "memories": ("memories_changed", _check_memories),
    "documents": ("documents_changed", _check_documents),
    "versions": ("versions_damaged", _check_versions),
    "notes": ("notes_changed_unseen", _check_notes),
}
STAGES = tuple(_STEPS)

LOOK = BackgroundJob("look_at_integrity", is_due, go_on)
