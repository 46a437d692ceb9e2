"""The audit: what an entry costs a call, and finding what somebody did on a day among ten million entries.

The chain of ten million is real: hashed, signed, indexed. It is written many entries at a time and without waiting for
the disk, which changes no byte of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from bench.figures import Figure
from bench.measurements import p50, p99, to_ms
from bench.run import Run
from ops.audit import chain_rows
from ops.audit.audit_log import AuditLog
from ops.audit.chain import AuditChain
from ops.audit.chain_files import file_of
from ops.audit.entries import AuditActor, AuditEntry
from ops.audit.searching import AuditQuery, search
from ops.audit.verification import verify
from ops.settings import AuditSettings
from vaults import clock
from vaults.change_notes import ChangeNote
from vaults.db.connection import Database
from vaults.db.sql import Writer
from vaults.settings import StorageSettings

CHAIN = "01990000-0000-7000-8000-000000000001"
ENTRIES = 10_000_000
SUBJECTS, TOOLS, DAYS = 200, 20, 365
STEP = 20_000
FIRST_DAY = datetime(2026, 1, 1, tzinfo=UTC)
SEARCH_S = 0.2
CALL_US = 60.0
ROUNDS = 5
CALLS = 640


def measure(run: Run) -> Iterator[Figure]:
    """Processor time is that of the whole process, all threads."""
    with run.folder("audit") as folder:
        with run.report_progress("entries, alone and together"):
            yield from asyncio.run(_entries(folder / "calls", run))
        yield from asyncio.run(_searches(folder / "many", run))


def _entry(number: int, at: str | None = None) -> AuditEntry:
    subject = f"agent-{number * 7919 % SUBJECTS}"
    identity = f"01a2007f-0527-77cf-8956-{number:012x}"
    actor = AuditActor(
        subject, "local", "28d9b91cd565eb3c", None, "01a2007f-aaaa-77cf-8956-a1df2a6d7f96", "writer",
        "01a2007f-bbbb-77cf-8956-a1df2a6d7f96", "claude-code", "192.0.2.7", "http",
    )  # fmt: skip
    return AuditEntry(
        kind="call",
        tool=f"tool_{number * 31 % TOOLS}",
        outcome="ok",
        actor=actor,
        vault="main",
        changes=[ChangeNote("memory", identity, None, "8e9f4370c3a4b2aacdf50b9b18dcf0e9")],
        changed=1,
        at=at or clock.now(),
    )


async def _entries(folder: Path, run: Run) -> list[Figure]:
    log = AuditLog(folder, AuditSettings(), StorageSettings())
    other = Database(folder / "other.db", StorageSettings())
    await log.require_writable(CHAIN)
    await other.run_on_writer(lambda raw: raw.execute("CREATE TABLE rows (body TEXT)"))

    async def record(number: int) -> None:
        await log.require_writable(CHAIN)
        await log.append(CHAIN, _entry(number))

    async def write(_: int) -> None:
        await other.write_uncounted(_write_row)

    costs: dict[tuple[str, int], float] = {}
    for together in (1, 16):
        for name, work in (("entry", record), ("row", write)):
            costs[name, together] = min([await _cpu(work, together, run) for _ in range(ROUNDS)])
    await other.close()
    await log.close()
    return [_cost(costs, 16, CALL_US), _cost(costs, 1, None)]


def _write_row(tx: Writer) -> None:
    tx.run("INSERT INTO rows VALUES (:body)", {"body": "x" * 400})


async def _cpu(work: Callable[[int], Awaitable[None]], together: int, run: Run) -> float:
    count = run.sized(CALLS, 64)

    async def one(first: int) -> None:
        for number in range(first, count, together):
            await work(number)

    began = time.process_time()
    await asyncio.gather(*(one(first) for first in range(together)))
    return (time.process_time() - began) / count * 1e6


def _cost(costs: dict[tuple[str, int], float], together: int, limit: float | None) -> Figure:
    entry, row = costs["entry", together], costs["row", together]
    how = "16 changes at a time" if together > 1 else "one change at a time, which has a commit of its own"
    raw = f"{entry:.0f} µs; a bare row of the same size in a database of its own: {row:.0f} µs"
    return Figure(f"audit: CPU of an entry, {how}", entry, limit, unit="µs", raw=raw)


async def _searches(folder: Path, run: Run) -> list[Figure]:
    count = run.sized(ENTRIES)
    log = AuditLog(folder, AuditSettings(), StorageSettings())
    chain = log.chain(CHAIN)
    with run.report_progress(f"a chain of {count:,} entries"):
        index_us = await _fill(chain, file_of(folder, CHAIN), count)
        await log.sign()
    times, found = [], 0
    for number in range(ROUNDS * 4):
        day = FIRST_DAY + timedelta(days=(number * 37) % (DAYS - 1))
        query = AuditQuery(
            subject=f"agent-{number * 11 % SUBJECTS}",
            since=clock.to_text(day),
            until=clock.to_text(day + timedelta(days=1)),
            limit=1000,
        )
        began = time.perf_counter()
        found += len(await search(log, CHAIN, query))
        times.append(time.perf_counter() - began)
    began = time.perf_counter()
    (report,) = await verify(log, [CHAIN])
    seconds = time.perf_counter() - began
    size = file_of(folder, CHAIN).stat().st_size
    await log.close()
    if not report.ok or not found:
        raise RuntimeError("the chain is not what was written")
    raw = f"median {to_ms(p50(times))}, {found} entries found in {len(times)} searches among {count:,}, limit 1,000"
    return [
        Figure("audit: what a subject did on a day", p99(times) * 1000, SEARCH_S * 1000, unit="ms", raw=raw),
        Figure("audit: entries checked in a second", report.entries / seconds, unit="", raw=f"{seconds:.1f} s"),
        Figure("audit: CPU of indexing an entry, beside the calls", index_us, unit="µs"),
        Figure("audit: bytes of an entry, indexes included", size / count, unit="B", raw=f"{size / 1e9:.2f} GB"),
    ]


async def _fill(chain: AuditChain, file: Path, count: int) -> float:
    """Write the chain and index it; returns the processor time of indexing an entry, in microseconds."""
    pause, indexing = timedelta(days=DAYS) / count, 0.0
    await chain.prove_writable()
    filling = Database(file, StorageSettings())
    await filling.run_on_writer(lambda raw: raw.execute("PRAGMA synchronous=OFF"))
    await filling.run_on_writer(lambda raw: raw.execute("PRAGMA cache_size=-200000"))
    for first in range(0, count, STEP):
        numbers = range(first, min(first + STEP, count))
        entries = [_entry(number, clock.to_text(FIRST_DAY + pause * number)) for number in numbers]
        texts = await chain.to_texts(entries)
        await filling.write_uncounted(partial(chain_rows.append, chain=CHAIN, entries=texts))
        began = time.process_time()
        await filling.write_uncounted(partial(chain_rows.index_more, limit=STEP))
        indexing += time.process_time() - began
    await filling.close()
    chain.unsigned = count
    return indexing / count * 1e6
