"""Imports a source: reads it, maps it, hands it on in batches, and keeps account. The same for every source, and for
the vault next door as for one on another server."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from vaults.context import run_in
from vaults.domain.import_export.field_map import FieldMap
from vaults.domain.import_export.line_import import NumberedLine
from vaults.domain.import_export.lines import LineRejected, to_line
from vaults.domain.import_export.rejections import RejectedRecord, RejectionReport
from vaults.domain.import_export.row_writer import LineOutcome
from vaults.sources.source import Source, SourceItem, SourceReading, SourceRecord

BATCH_LINES, BATCH_BYTES = 256, 1 << 20
"""Max lines and bytes of a batch. A batch is one transaction: bounded in lines for short locks, in bytes for memory."""

SAMPLES = 3
"""Records of each kind that a dry run shows."""

Push = Callable[[Sequence[NumberedLine]], Awaitable[list[LineOutcome]]]
"""Stores a batch, here or elsewhere, or the first lines of it: it is called again with the rest."""


Prepare = Callable[[Sequence[NumberedLine]], Awaitable[Sequence[NumberedLine]]]
"""Does what can be done for lines before those ahead of them are stored."""


async def leave_as_is(lines: Sequence[NumberedLine]) -> Sequence[NumberedLine]:
    """Prepare nothing: whoever stores the lines does."""
    return lines


@dataclass(slots=True)
class ImportTally:
    """How far an import is. ``done`` of ``total``: in the source's own units; ``counts``: by kind and outcome."""

    total: int
    done: int = 0
    rejected: int = 0
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    left: Counter[str] = field(default_factory=Counter)  # what is not carried over, by kind
    unwritten: list[RejectedRecord] = field(default_factory=list)  # first rejections, where there can be no report
    samples: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # of a dry run

    def count(self, *outcomes: str) -> int:
        """Records with one of these outcomes."""
        return sum(found[outcome] for found in self.counts.values() for outcome in outcomes)

    @property
    def stored(self) -> int:
        return self.count("stored")

    @property
    def known(self) -> int:
        """Records that were here already, as they are or as somebody changed them since."""
        return self.count("known", "merged", "kept")

    def add(self, outcomes: Sequence[LineOutcome], report: RejectionReport, left: Counter[str]) -> None:
        """Count what became of records."""
        for each in outcomes:
            self.counts.setdefault(each.kind, Counter())[each.outcome] += 1
        self.rejected, self.unwritten, self.left = report.rejected, report.unwritten, left

    def add_repeated(self, repeated: Counter[str]) -> None:
        """Count records whose id came before in the same source."""
        for kind, number in repeated.items():
            self.counts.setdefault(kind, Counter())["known"] += number


OnBatch = Callable[[ImportTally], None]


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What is imported, and how its fields are to be read. ``workspace``: for records that name none."""

    source: Source
    path: Path
    field_map: FieldMap = field(default_factory=FieldMap)
    workspace: str | None = None

    def to_fields(self, record: SourceRecord) -> dict[str, Any]:
        """A record as the line to import."""
        fields = self.field_map.apply(record.fields)
        if self.workspace is not None and fields.get("kind", "memory") in _IN_WORKSPACES:
            fields.setdefault("workspace", self.workspace)
        return fields


_IN_WORKSPACES = ("memory", "session", "handoff", "checkpoint", "correction", "document")


@asynccontextmanager
async def _open_source(plan: ImportPlan) -> AsyncIterator[OpenSource]:
    """The source, opened and read on a thread of its own, because databases are bound to theirs."""
    with ThreadPoolExecutor(1, "import") as thread:
        opening = plan.source.open(plan.path)
        reading = await run_in(thread, opening.__enter__)
        try:
            yield OpenSource(thread, reading, _to_batches(reading, plan))
        finally:
            await run_in(thread, opening.__exit__, None, None, None)


@dataclass(frozen=True, slots=True)
class OpenSource:
    """A source while it is read. ``thread``: the only one that may."""

    thread: Executor
    reading: SourceReading
    batches: Iterator[_SourceBatch]

    async def read_ahead(self, prepare: Prepare) -> AsyncGenerator[tuple[_SourceBatch, Sequence[NumberedLine]]]:
        """Batches with their lines. While one is stored, the next is read and prepared."""

        async def read(first: int) -> tuple[_SourceBatch, Sequence[NumberedLine]] | None:
            batch = await run_in(self.thread, self._next_batch)
            return None if batch is None else (batch, await prepare(batch.to_numbered(first)))

        first = 1
        coming = asyncio.create_task(read(first))
        try:
            while (found := await coming) is not None:
                first += len(found[1])
                coming = asyncio.create_task(read(first))
                yield found
        finally:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)

    def _next_batch(self) -> _SourceBatch | None:
        if (batch := next(self.batches, None)) is not None:
            batch.left = Counter(self.reading.left)  # the reading goes on while the batch is stored
        return batch


async def import_source(
    plan: ImportPlan, push: Push, progress: OnBatch = lambda _: None, prepare: Prepare = leave_as_is
) -> ImportTally:
    """Hand every record of a source to ``push``; ``progress`` is called after each batch. What cannot be taken is kept
    in ``<path>.rejected.jsonl`` with its place and the reason. Raises ``InvalidArgument`` for what is no such source,
    and what ``push`` raises: what the last tally counted is stored."""
    async with _open_source(plan) as source, aclosing(source.read_ahead(prepare)) as batches:
        with RejectionReport(plan.path) as report:
            tally = ImportTally(source.reading.total)
            async for batch, numbered in batches:
                tally.add_repeated(batch.repeated)
                entries, lines = batch.entries, numbered
                while entries:
                    outcomes = await push(lines) if lines else []
                    done = _count_done(entries, len(outcomes))
                    await run_in(source.thread, report.add, _list_rejected(entries[:done], outcomes))
                    entries, lines = entries[done:], lines[len(outcomes) :]
                    tally.add(outcomes, report, batch.left)
                    tally.done = batch.done if not entries else tally.done
                    progress(tally)
    return tally


def _count_done(entries: Sequence[_SourceLine | RejectedRecord], lines: int) -> int:
    """How many entries are done with once ``lines`` of their lines are."""
    for at, each in enumerate(entries):
        if isinstance(each, _SourceLine):
            if lines == 0:
                return at
            lines -= 1
    return len(entries)


def _list_rejected(
    entries: Sequence[_SourceLine | RejectedRecord], outcomes: Sequence[LineOutcome]
) -> list[RejectedRecord]:
    """What could not be read or was not taken, in the order of the source."""
    became = iter(outcomes)
    rejected = []
    for each in entries:
        if isinstance(each, RejectedRecord):
            rejected.append(each)
        elif (found := next(became)).outcome == "rejected":
            rejected.append(RejectedRecord(each.place, found.reason or "", record=each.fields))
    return rejected


async def preview_source(plan: ImportPlan, progress: OnBatch = lambda _: None) -> ImportTally:
    """Read a source and check every record without storing anything; the first of each kind are kept as samples."""
    async with _open_source(plan) as source:
        tally = ImportTally(source.reading.total)
        while await run_in(source.thread, _preview_batch, source.batches, tally):
            tally.left = source.reading.left
            progress(tally)
    return tally


def _preview_batch(batches: Iterator[_SourceBatch], tally: ImportTally) -> bool:
    batch = next(batches, None)
    if batch is None:
        return False
    refused = [each for each in batch.entries if isinstance(each, RejectedRecord)]
    for line in batch.lines:
        try:
            kind, _ = to_line(line.fields)
        except LineRejected as verdict:
            refused.append(RejectedRecord(line.place, verdict.reason))
            continue
        tally.counts.setdefault(kind, Counter())["stored"] += 1
        if len(samples := tally.samples.setdefault(kind, [])) < SAMPLES:
            samples.append(line.fields)
    tally.rejected += len(refused)
    tally.unwritten += refused[: max(0, SAMPLES - len(tally.unwritten))]
    tally.done = batch.done
    return True


@dataclass(frozen=True, slots=True)
class _SourceLine:
    place: str | int
    fields: dict[str, Any]


@dataclass(slots=True)
class _SourceBatch:
    """Lines and what could not be read, in the order of the source, and how far it is read."""

    entries: list[_SourceLine | RejectedRecord] = field(default_factory=list)
    repeated: Counter[str] = field(default_factory=Counter)  # lines with an id that came before, by kind
    done: int = 0
    left: Counter[str] = field(default_factory=Counter)  # what is not carried over, by kind, so far

    def to_numbered(self, first: int) -> list[NumberedLine]:
        """The lines, with their numbers from ``first`` on."""
        return [NumberedLine(number, each.fields) for number, each in enumerate(self.lines, first)]

    @property
    def lines(self) -> list[_SourceLine]:
        return [each for each in self.entries if isinstance(each, _SourceLine)]


def _to_batches(reading: SourceReading, plan: ImportPlan) -> Iterator[_SourceBatch]:
    items = iter(reading.items)
    seen: set[int] = set()  # hashes of ids, for a source may give one twice: the first counts, on every run
    while True:
        batch, size = _SourceBatch(), 0
        for item in islice(items, BATCH_LINES):
            _add(batch, item, plan, seen)
            size += _size(item)
            if size >= BATCH_BYTES:
                break
        if not (batch.entries or batch.repeated):
            return
        yield batch


def _add(batch: _SourceBatch, item: SourceItem, plan: ImportPlan, seen: set[int]) -> None:
    batch.done = item.done
    if not isinstance(item, SourceRecord):
        batch.entries.append(RejectedRecord(item.place, item.reason, raw=item.raw))
        return
    fields = plan.to_fields(item)
    external_id = fields.get("external_id")
    kind = str(fields.get("kind", "memory"))
    named = isinstance(external_id, str) and not fields.get("append")  # what continues another has its id
    identity = hash((kind, external_id)) if named else None
    if identity in seen:
        batch.repeated[kind] += 1
        return
    if identity is not None:
        seen.add(identity)
    batch.entries += [_SourceLine(item.place, piece) for piece in _split_document(fields)]


def _split_document(fields: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A line as it is or, of a document too long for one request, in pieces that continue it."""
    parts = fields.get("parts")
    if fields.get("kind") != "document" or not isinstance(parts, list) or _measure(parts) <= BATCH_BYTES:
        yield fields
        return
    numbered = [
        {"position": at, **part} if isinstance(part, dict) and part.get("position") is None else part
        for at, part in enumerate(parts)
    ]
    portion: list[Any] = []
    is_first, size = True, 0
    for part in numbered:
        if portion and size + _measure(part) > BATCH_BYTES:
            yield {**fields, "parts": portion} if is_first else _continue(fields, portion)
            portion, size, is_first = [], 0, False
        portion.append(part)
        size += _measure(part)
    yield {**fields, "parts": portion} if is_first else _continue(fields, portion)


def _continue(fields: dict[str, Any], parts: list[Any]) -> dict[str, Any]:
    return {"kind": "document", "external_id": fields.get("external_id"), "append": True, "parts": parts}


def _size(item: SourceItem) -> int:
    """Characters of a record, roughly."""
    if not isinstance(item, SourceRecord):
        return len(item.raw or "")
    return sum([len(each) if type(each) is str else _measure(each) for each in item.fields.values()])


def _measure(value: Any) -> int:
    """Characters of the texts in a value of JSON, roughly."""
    if isinstance(value, dict):
        return sum(map(_measure, value.values()))
    return sum(map(_measure, value)) if isinstance(value, list) else len(value) if isinstance(value, str) else 8
