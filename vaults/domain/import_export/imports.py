"""Imports memories into a vault as its owner.

An import runs in batches, one transaction each: what was counted as stored is durable, and a killed run is repeated
from the start, where lines already imported cost only a look-up. It embeds at the model's import priority, so live
calls of this process go first.
"""

from __future__ import annotations

import base64
import codecs
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Literal

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Reader, Writer
from vaults.domain.actors import Actor
from vaults.domain.import_export.jsonl import (
    LineReader,
    LineRejected,
    MemoryLine,
    compute_expiry,
    parse,
    with_external_id,
)
from vaults.domain.memories import duplicate_merge, indexing, lifecycle, storage
from vaults.domain.memories.duplicate_merge import KnownMemory
from vaults.domain.memories.quotas import UNLIMITED, Quota
from vaults.domain.memories.storage import PreparedMemory
from vaults.domain.secrets import redaction
from vaults.errors import EmbeddingUnavailable, InvalidArgument, Overloaded, StrongroomError
from vaults.graph.links import memory_subjects
from vaults.graph.links.memory_subjects import MemorySubject
from vaults.index import embeddings
from vaults.vault import Vault

REPORT_SUFFIX = ".rejected.jsonl"


@dataclass(slots=True)
class ImportTally:
    """Progress of an import."""

    size: int  # bytes of the file
    read: int = 0  # bytes done with
    stored: int = 0
    known: int = 0  # lines already in the vault
    merged: int = 0  # known lines that added something besides their text
    rejected: int = 0
    owed: int = 0  # stored memories that lack a vector so far
    unwritten: list[RejectedLine] = field(default_factory=list)  # first rejections, where no report can be written


@dataclass(frozen=True, slots=True)
class RejectedLine:
    """A rejected line. ``raw``: its bytes; None where they were too many to keep."""

    line: int
    reason: str
    raw: bytes | None = None

    def to_line(self) -> bytes:
        """Its line in the report, with the rejected text, to be fixed and imported from there; without secrets, which
        must not lie in one more file."""
        entry: dict[str, int | str] = {"line": self.line, "reason": self.reason}
        if self.raw is not None:
            whole = self.raw.rstrip(b"\r\n").removeprefix(codecs.BOM_UTF8)
            try:
                entry["text"], _ = redaction.redact(whole.decode("utf-8"))
            except UnicodeDecodeError:
                entry["base64"] = base64.b64encode(whole).decode("ascii")
        return json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


MAX_UNWRITTEN = 100
"""Max rejections kept in memory where no report can be written."""


@dataclass(frozen=True, slots=True)
class _ReadyLine:
    line: MemoryLine
    prepared: PreparedMemory


@dataclass(slots=True)
class _LineBatch:
    ready: list[_ReadyLine] = field(default_factory=list)
    rejections: list[RejectedLine] = field(default_factory=list)
    ended: bool = False


OnBatch = Callable[[ImportTally], None]


async def import_jsonl(
    vault: Vault, actor: Actor, path: Path, progress: OnBatch = lambda _: None, quota: Quota = UNLIMITED
) -> ImportTally:
    """Store every line of the file that is a memory and not there yet; ``progress`` is called after each batch.

    Rejected lines are kept in ``<file>.rejected.jsonl``, each with its number and the reason. When the model is down,
    memories are stored without vectors, which are queued. Raises ``InvalidArgument`` for a file that cannot be read,
    ``StorageFull``, and ``QuotaExceeded`` when ``quota`` is used up: what the last tally counted is in the vault.
    """
    with open_import_file(path) as file, RejectionReport(path) as report:
        tally = ImportTally(size=path.stat().st_size)
        reader = LineReader(file)
        while not (batch := await run_in(vault.shared.pool, _read_batch, vault, actor, reader)).ended:
            await run_in(vault.shared.pool, report.add, batch.rejections, tally)
            try:
                await _store(vault, actor, batch.ready, tally, quota)
                tally.read = reader.position
            finally:
                progress(tally)
    if tally.owed or tally.merged:
        vault.start_background_work()
    return tally


@contextmanager
def open_import_file(path: Path) -> Iterator[BinaryIO]:
    """The file to import. Raises ``InvalidArgument``."""
    try:
        file = path.open("rb")
    except OSError as failure:
        raise InvalidArgument("PATH", f"{path} cannot be read: {failure.strerror}") from failure
    with file:
        yield file


class RejectionReport:
    """``<file>.rejected.jsonl`` next to an imported file: created with the first rejection, removed when there is
    none."""

    def __init__(self, imported: Path) -> None:
        self.path = imported.with_name(imported.name + REPORT_SUFFIX)
        self._file: BinaryIO | None = None

    def __enter__(self) -> RejectionReport:
        with suppress(OSError):
            self.path.unlink(missing_ok=True)  # left by a former run
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, rejections: list[RejectedLine], tally: ImportTally) -> None:
        """Count rejections and write them at once. Blocking."""
        tally.rejected += len(rejections)
        if not rejections:
            return
        try:
            if self._file is None:
                self._file = open(self.path, "wb", opener=_open_private)  # noqa: SIM115  closed at the end of the import
            self._file.writelines(rejection.to_line() for rejection in rejections)
            self._file.flush()
        except OSError:  # no write access, a full disk: no reason to stop, the caller shows them
            shown = rejections[: MAX_UNWRITTEN - len(tally.unwritten)]
            tally.unwritten += [replace(each, raw=None) for each in shown]


def _open_private(path: str, flags: int) -> int:
    """Open it for this user alone, as memories are kept."""
    return os.open(path, flags, 0o600)


def _read_batch(vault: Vault, actor: Actor, reader: LineReader) -> _LineBatch:
    lines = reader.batch()
    batch = _LineBatch(ended=not lines)
    for line in lines:
        try:
            parsed = parse(line)
            prepared = storage.prepare(vault, actor, with_external_id(parsed, line.number), parsed.created_at)
        except LineRejected as verdict:
            batch.rejections.append(RejectedLine(line.number, verdict.reason, line.raw))
            continue
        except InvalidArgument as failure:
            batch.rejections.append(
                RejectedLine(line.number, failure.message.removeprefix("Validation error: "), line.raw)
            )
            continue
        if parsed.ttl_days is not None:
            prepared = replace(prepared, expires_at=compute_expiry(parsed.created_at, parsed.ttl_days))
        batch.ready.append(_ReadyLine(parsed, prepared))
    return batch


async def _store(vault: Vault, actor: Actor, ready: list[_ReadyLine], tally: ImportTally, quota: Quota) -> None:
    existing = await vault.db.read(lambda tx: [_find_existing(tx, actor, one) for one in ready])
    new = [one for one, known in zip(ready, existing, strict=True) if known is None]
    repeated = [one for one, known in zip(ready, existing, strict=True) if isinstance(known, KnownMemory)]
    tally.known += len(ready) - len(new)
    if repeated:
        tally.merged += await vault.db.write(
            lambda tx: sum(_merge_duplicate(vault, tx, actor, one) for one in repeated)
        )
    while new:
        new = new[await _store_some(vault, actor, new, tally, quota) :]


async def _store_some(vault: Vault, actor: Actor, new: list[_ReadyLine], tally: ImportTally, quota: Quota) -> int:
    """Store as many of the lines as the quota allows, from the first on; returns how many are done with."""
    vault.check_writable()
    taken = await quota.take(len(new))
    admitted = new[: taken.stores]
    vectors = await _find_vectors(vault, admitted)
    await vault.adopt_model()
    model = vault.shared.embedder.identity

    def write(tx: Writer) -> tuple[int, int, int, int]:
        fitting = admitted[: quota.room(tx, len(admitted))]
        return len(fitting), *_insert(vault, tx, actor, fitting, vectors, model.key if model else None)

    try:
        done, stored, merged, owed = await vault.db.write(write)
    except StrongroomError:
        taken.give_back(taken.stores)
        raise
    taken.give_back(taken.stores - stored)
    tally.stored += stored
    tally.owed += owed
    tally.merged += merged
    tally.known += done - stored
    return done


def _find_existing(tx: Reader, actor: Actor, one: _ReadyLine) -> Literal[True] | KnownMemory | None:
    """Whether the line is in the vault: by its id, which an export may have taken from the memory itself, or, when the
    line has none, by what it says; then also with what its memory would gain. Archived memories count: importing
    revives nothing."""
    known = "SELECT 1 FROM memories WHERE external_id = :id OR id = :id"
    if tx.one(known, {"id": one.prepared.fields.external_id}):
        return True
    if one.line.external_id is not None or one.prepared.duplicate_key is None:
        return None
    anonymous = one.prepared.fields.model_copy(update={"external_id": None})  # its id was derived from the line
    match = duplicate_merge.find_known(tx, actor, replace(one.prepared, fields=anonymous))
    if match is not None:
        return match if match.stored.added else True
    return True if storage.has_equal(tx, actor, one.prepared) else None


def _merge_duplicate(vault: Vault, tx: Writer, actor: Actor, one: _ReadyLine) -> bool:
    """Add what is new in a line to the memory that says the same; returns whether there was anything."""
    known = _find_existing(tx, actor, one)
    if not isinstance(known, KnownMemory):
        return False
    lifecycle.merge_duplicate(vault, tx, known)
    return True


async def _find_vectors(vault: Vault, new: list[_ReadyLine]) -> dict[str, bytes]:
    """Vectors by text hash, as far as available: those in the vault, and what the model returns."""
    texts = {passage.text_hash: passage.embedded for one in new for passage in one.prepared.passages}
    model = vault.shared.embedder.identity
    known: dict[str, bytes] = {}
    if model is not None:
        known = await vault.db.read(lambda tx: embeddings.find_by_hash(tx, model.key, list(texts)))
    missing = {text_hash: text for text_hash, text in texts.items() if text_hash not in known}
    try:
        rows = await vault.shared.embedder.each(list(missing.values()), urgent=False)
    except (EmbeddingUnavailable, Overloaded):
        return known
    return known | {key: row.tobytes() for key, row in zip(missing, rows, strict=True) if row is not None}


def _insert(
    vault: Vault, tx: Writer, actor: Actor, new: list[_ReadyLine], vectors: dict[str, bytes], model: str | None
) -> tuple[int, int, int]:
    """Write a batch; returns how many were stored, how many added to known memories, and how many stored ones lack
    vectors."""
    stored = merged = owed = 0
    for one in new:
        if _find_existing(tx, actor, one) is not None:  # the same line twice, or stored by another process meanwhile
            merged += _merge_duplicate(vault, tx, actor, one)
            continue
        found = [vectors.get(passage.text_hash) for passage in one.prepared.passages]
        whole = [vector for vector in found if vector is not None]
        ready = whole if len(whole) == len(found) else None
        seq, memory = storage.insert(tx, actor, one.prepared, ready, model)
        _apply_extras(tx, seq, memory.id, one.line)
        _link(tx, actor, one.line)
        for relation, kind, name in one.line.subjects:
            memory_subjects.add_subject(tx, seq, relation, MemorySubject(kind, name), actor.identity)
        stored += 1
        owed += memory.embedding == "pending"
    return stored, merged, owed


def _apply_extras(tx: Writer, seq: int, memory_id: str, line: MemoryLine) -> None:
    """Apply what a line has beyond the fields of ``remember``."""
    if line.archived_at is not None or line.archived_reason is not None:
        tx.run(
            "UPDATE memories SET archived_at = ?, archived_reason = ? WHERE seq = ?",
            (line.archived_at, line.archived_reason, seq),
        )
        indexing.refresh_passages(tx, seq)
    if line.supersedes is not None:
        old = tx.one(
            "SELECT id, archived_reason FROM memories WHERE (external_id = :id OR id = :id) AND seq <> :seq"
            " AND superseded_by IS NULL",
            {"id": line.supersedes, "seq": seq},
        )
        if old is not None:
            lifecycle.mark_superseded(tx, old[0], memory_id, old[1])


def _link(tx: Writer, actor: Actor, line: MemoryLine) -> None:
    """Create the line's links whose ends are both here."""
    for source, relation, target in line.links:
        tx.run(
            "INSERT INTO memory_links (from_memory, relation, to_memory, created_by, created_at)"
            " SELECT a.seq, :relation, b.seq, :by, :now FROM memories a, memories b"
            " WHERE (a.external_id = :source OR a.id = :source) AND (b.external_id = :target OR b.id = :target)"
            " AND a.seq <> b.seq ON CONFLICT (from_memory, relation, to_memory) DO NOTHING",
            {"relation": relation, "by": actor.identity, "now": clock.now(), "source": source, "target": target},
        )
