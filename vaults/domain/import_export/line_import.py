"""Stores a batch of lines, of whatever kind, and says what became of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeGuard

from vaults.context import run_in
from vaults.domain.actors import Actor
from vaults.domain.import_export import document_lines, file_lines, import_runs, memory_lines
from vaults.domain.import_export.file_lines import FileOutcome, ReadyFile
from vaults.domain.import_export.import_runs import ImportRun
from vaults.domain.import_export.line_rights import WRITER_RIGHTS, LineRights
from vaults.domain.import_export.lines import (
    DocumentLine,
    LineRejected,
    MemoryLine,
    NoteLine,
    PolicyLine,
    hash_line,
    to_line,
)
from vaults.domain.import_export.record_tables import RECORD_TABLES
from vaults.domain.import_export.row_writer import (
    STORED_MEMORY,
    LineOutcome,
    ReadyLine,
    ReadyRecord,
    RowWriter,
    count_outcomes,
    has_changes,
)
from vaults.domain.memories.quotas import UNLIMITED, Quota
from vaults.domain.secrets import redaction
from vaults.errors import QuotaExceeded, StrongroomError
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class NumberedLine:
    """A line as it came. ``number`` counts from 1 within its source; ``ready``: what was made of it already."""

    number: int
    fields: dict[str, Any]
    ready: ReadyLine | LineOutcome | None = None


async def prepare_lines(
    vault: Vault, actor: Actor, batch: Sequence[NumberedLine], rights: LineRights = WRITER_RIGHTS
) -> list[NumberedLine]:
    """Check lines and cut their passages, which takes nothing of the database, for ``import_lines`` with the same
    rights."""
    ready = await run_in(vault.shared.pool, _prepare, vault, actor, batch, rights)
    return [replace(each, ready=made) for each, made in zip(batch, ready, strict=True)]


async def import_lines(
    vault: Vault,
    actor: Actor,
    run: ImportRun,
    batch: Sequence[NumberedLine],
    quota: Quota = UNLIMITED,
    rights: LineRights = WRITER_RIGHTS,
) -> list[LineOutcome]:
    """Store what is new or changed of a batch; what became of its lines, in their order: of all of them, or of those
    before the first memory that ``quota`` does not admit. What was returned is durable. Vectors are queued. Raises
    ``StorageFull``, and ``QuotaExceeded`` when not even the first line is admitted."""
    vault.disk.check_writable_in_bulk()
    await vault.adopt_model()
    ready = await run_in(vault.shared.pool, _prepare, vault, actor, batch, rights)
    rows = [each for each in ready if _is_row(each)]
    writer = partial(RowWriter, vault, actor=actor, run=run, sees_private=rights.sees_private)
    stored = await _store_rows(vault, writer, rows, quota) if rows else []
    admitted = list(_admit(ready, len(stored)))
    files = [each.content for each in admitted if isinstance(each, ReadyLine) and isinstance(each.content, ReadyFile)]
    if files:
        await vault.db.read(lambda tx: quota.room(tx, 0))
    placed = await file_lines.store_files(vault, actor, run.seq, files)
    outcomes = list(_in_order(admitted, iter(stored), iter(placed)))
    others = [each for each in admitted if not _is_row(each)]
    if rest := list(_in_order(others, iter(()), iter(placed))) if has_changes(stored) else outcomes:
        await vault.db.write_uncounted(lambda tx: import_runs.record_counts(tx, run.seq, count_outcomes(rest)))
    return outcomes


def _admit(ready: Sequence[ReadyLine | LineOutcome], rows: int) -> Iterator[ReadyLine | LineOutcome]:
    """The lines up to the last of ``rows`` rows, and what follows it but is none."""
    for each in ready:
        if _is_row(each) and rows == 0:
            return
        rows -= _is_row(each)
        yield each


def _is_row(line: ReadyLine | LineOutcome) -> TypeGuard[ReadyLine]:
    return isinstance(line, ReadyLine) and not isinstance(line.content, ReadyFile)


def _in_order(
    lines: Sequence[ReadyLine | LineOutcome],
    stored: Iterator[LineOutcome],
    placed: Iterator[FileOutcome | StrongroomError],
) -> Iterator[LineOutcome]:
    for each in lines:
        if isinstance(each, LineOutcome):
            yield each
        elif not isinstance(each.content, ReadyFile):
            yield next(stored)
        else:
            found = next(placed)
            if isinstance(found, StrongroomError):
                yield LineOutcome(each.kind, "rejected", _reason(found))
            else:
                yield LineOutcome(each.kind, found)


def _reason(failure: StrongroomError) -> str:
    return failure.message.removeprefix("Validation error: ")


def _prepare(
    vault: Vault, actor: Actor, batch: Sequence[NumberedLine], rights: LineRights
) -> list[ReadyLine | LineOutcome]:
    ready: list[ReadyLine | LineOutcome] = []
    for each in batch:
        if each.ready is not None:
            ready.append(each.ready)
            continue
        kind = str(each.fields.get("kind", "memory"))[:40]
        try:
            ready.append(_prepare_one(vault, actor, NumberedLine(each.number, rights.admit(each.fields))))
        except LineRejected as verdict:
            ready.append(LineOutcome(kind, "rejected", verdict.reason))
        except StrongroomError as failure:
            ready.append(LineOutcome(kind, "rejected", _reason(failure)))
    return ready


def _prepare_one(vault: Vault, actor: Actor, given: NumberedLine) -> ReadyLine:
    kind, line = to_line(given.fields)
    if isinstance(line, MemoryLine):
        memory = memory_lines.prepare(vault, actor, line, given.number)
        return ReadyLine(kind, memory.external_id, hash_line(line), memory)
    if isinstance(line, NoteLine | PolicyLine):
        file = file_lines.prepare(vault, kind, line, hash_line(line))
        return ReadyLine(kind, line.external_id, file.hash, file)
    if isinstance(line, DocumentLine):
        document = document_lines.prepare(vault, actor, line)
        return ReadyLine(kind, line.external_id, hash_line(line), document)
    digest = hash_line(line)
    guarded = redaction.refuse_or_redact(line.model_dump(by_alias=True), vault.shared.hygiene)
    if guarded.warnings:
        kind, line = to_line({**guarded.fields, "kind": kind})
    table = RECORD_TABLES[kind]
    return ReadyLine(kind, line.external_id or "", digest, ReadyRecord(line, table, table.to_row(actor, line)))


async def _store_rows(
    vault: Vault, writer: Callable[..., RowWriter], rows: Sequence[ReadyLine], quota: Quota
) -> list[LineOutcome]:
    """Store rows up to the first memory the quota does not admit. Raises ``QuotaExceeded`` when that is the first."""
    is_new = await vault.db.read(lambda tx: writer(tx=tx, rows=rows).find_new_memories())
    try:
        taken = await quota.take(sum(is_new))
    except QuotaExceeded:
        rows = rows[: is_new.index(True)]
        if not rows:
            raise
        taken = await UNLIMITED.take(0)
    try:
        done = await vault.db.write(lambda tx: writer(tx=tx, rows=rows).store(quota, taken.stores))
    except StrongroomError:
        taken.give_back(taken.stores)
        raise
    taken.give_back(taken.stores - sum(each == STORED_MEMORY for each in done))
    return done
