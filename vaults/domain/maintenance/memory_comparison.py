"""Comparing memories with what is derived of each, a page at a time: one statement for all of a page's passages.

A vault of many is shared out among processes, which read a copy of the database that nobody writes to; a few are
compared on the caller's thread, with rests, so that the event loop never waits long for the interpreter.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import vaults
from vaults.db.connection import open_raw
from vaults.db.failures import translate_sqlite_errors
from vaults.db.sql import Reader, Row
from vaults.domain.memories import indexing
from vaults.domain.memories.indexing import KIND, MemorySource
from vaults.errors import VaultUnavailable
from vaults.index import facets, passages, text_index
from vaults.index.unspaced_scripts import to_pairs
from vaults.settings import StorageSettings

T = TypeVar("T")

PAGE = 200
"""Memories read at a time: the longest takes 50 KB."""

MANY_MEMORIES = 20_000
"""Number of memories from which processes are used: to start one takes as long as comparing some 3,000."""

MAX_PROCESSES = 4
"""Never more than there are cores."""

BURST_S = 0.003
"""Seconds of work between two rests."""

REST = 0.5
"""Share of a burst that is rested after it."""

NICENESS = 10
"""Callers come first."""

_CHILD = "from vaults.domain.maintenance.memory_comparison import serve; serve()"
_PACKAGE_ROOT = Path(vaults.__file__).parents[1]

_COLUMNS = (
    "source_hash",
    *(name for name in passages.COLUMNS if name not in ("source_hash", "kind", "item", "place", "ordinal")),
)
_TITLE, _BODY, _LABELS = (_COLUMNS.index(name) for name in ("title", "body", "labels"))
_PASSAGES = (
    f"SELECT p.item, {text_index.pairs_column()}, {', '.join(f'p.{name}' for name in _COLUMNS)} FROM passages p"
    " WHERE p.kind = :kind AND p.item BETWEEN :first AND :last ORDER BY p.item, p.ordinal"
)
_TAGS = "SELECT item, tag FROM item_tags WHERE kind = :kind AND item BETWEEN :first AND :last"
_FIELDS = "SELECT item, field, value FROM item_fields WHERE kind = :kind AND item BETWEEN :first AND :last"

OnCompared = Callable[[int], None]
"""Called with how many memories were compared since it was last called."""


@dataclass(frozen=True, slots=True)
class ComparisonJob:
    """Which memories to compare: those after one number, up to another."""

    path: Path
    settings: StorageSettings
    passage_tokens: int
    after: int
    last: int


def paced(items: Iterable[T]) -> Iterator[T]:
    """The items, with rests in between."""
    began = time.perf_counter()
    for item in items:
        yield item
        if (worked := time.perf_counter() - began) > BURST_S:
            time.sleep(worked * REST)
            began = time.perf_counter()


def compare_memories(tx: Reader, job: ComparisonJob, on_compared: OnCompared = lambda _: None) -> Counter[str]:
    """What disagrees, by code. Rests after each few milliseconds."""
    return _compare_span(tx, job, on_compared, paced)


def compare_in_processes(tx: Reader, job: ComparisonJob, on_compared: OnCompared) -> Counter[str]:
    """``compare_memories`` of a copy that nobody writes to, on all cores. Blocking, and holds up nothing else."""
    numbers = [int(seq) for (seq,) in tx.all("SELECT seq FROM memories ORDER BY seq")]
    count = min(MAX_PROCESSES, os.cpu_count() or 1)
    bounds = [numbers[len(numbers) * part // count - 1] for part in range(1, count + 1)]
    jobs = [
        ComparisonJob(job.path, job.settings, job.passage_tokens, after, last)
        for after, last in zip([job.after, *bounds[:-1]], bounds, strict=True)
    ]
    found: Counter[str] = Counter()
    with ExitStack() as running:
        children = [running.enter_context(_start(each)) for each in jobs]
        for child in children:
            answer, _ = child.communicate()
            if child.returncode != 0:
                raise VaultUnavailable("a process that compares memories ended early", hint="verify again")
            found.update(pickle.loads(answer))  # noqa: S301  of our own child
            on_compared(len(numbers) // count)
    return found


def _start(job: ComparisonJob) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(  # noqa: S603  this interpreter, and code of ours
        [sys.executable, "-c", _CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=_PACKAGE_ROOT,
        start_new_session=True,
    )
    assert child.stdin is not None
    child.stdin.write(pickle.dumps(job))
    child.stdin.close()
    child.stdin = None
    return child


def serve() -> None:
    """What a process does: one job from its input, the counts to its output."""
    os.nice(NICENESS)
    job = pickle.loads(sys.stdin.buffer.read())  # noqa: S301  of our own parent
    assert isinstance(job, ComparisonJob)
    with translate_sqlite_errors(), closing(open_raw(job.path, job.settings, writer=False)) as raw:
        raw.execute("BEGIN")
        found = _compare_span(Reader(raw), job, lambda _: None, iter)
    sys.stdout.buffer.write(pickle.dumps(found))


def _compare_span(
    tx: Reader,
    job: ComparisonJob,
    on_compared: OnCompared,
    pace: Callable[[list[MemorySource]], Iterator[MemorySource]],
) -> Counter[str]:
    found: Counter[str] = Counter()
    after = job.after
    while page := [each for each in indexing.load_sources(tx, after, PAGE) if each.item.number <= job.last]:
        derived = _read_derived(tx, page)
        for source in pace(page):
            found.update(_compare(source, derived, job.passage_tokens))
        after = page[-1].item.number
        on_compared(len(page))
    return found


@dataclass(frozen=True, slots=True)
class _Derived:
    tags: dict[int, set[str]]
    fields: dict[int, set[tuple[str, str]]]
    passages: dict[int, list[Row]]


def _read_derived(tx: Reader, page: list[MemorySource]) -> _Derived:
    span = {"kind": KIND, "first": page[0].item.number, "last": page[-1].item.number}
    derived = _Derived(defaultdict(set), defaultdict(set), defaultdict(list))
    for item, tag in tx.all(_TAGS, span):
        derived.tags[item].add(tag)
    for item, field, value in tx.all(_FIELDS, span):
        derived.fields[item].add((field, value))
    for item, *row in tx.all(_PASSAGES, span):
        derived.passages[item].append(tuple(row))
    return derived


def _compare(source: MemorySource, derived: _Derived, passage_tokens: int) -> Iterator[str]:
    """Codes of what disagrees with one memory."""
    number = source.item.number
    if indexing.expected_hash(source) != source.item.source_hash:
        yield "source_changed"
    expected_fields = set(facets.to_fields(source.metadata))
    if derived.tags.get(number, set()) != set(source.tags) or derived.fields.get(number, set()) != expected_fields:
        yield "tags_differ"
    stored = derived.passages.get(number, [])
    if not stored:
        yield "passages_missing"
    elif any(row[1] != source.item.source_hash for row in stored):
        yield "passages_stale"
    elif _passages_differ(source, stored, passage_tokens):
        yield "passages_differ"


def _passages_differ(source: MemorySource, stored: list[Row], passage_tokens: int) -> bool:
    for pairs, *row in stored:
        if to_pairs(f"{row[_TITLE]}\n{row[_BODY]}\n{row[_LABELS]}") != (pairs or ""):
            return True
    expected = [passage.columns() for passage in source.cut(passage_tokens)]
    shared = source.item.columns() | {"sequence": source.item.sequence(len(expected))}
    rows = [shared | columns for columns in expected]
    return [row[1:] for row in stored] != [tuple(row[name] for name in _COLUMNS) for row in rows]
