"""From a checkout on the disk to symbols that are found: rate, one saved file, and where is it defined.

The checkout is made of libraries that are installed here. Files are read by the worker processes that a server uses,
and stored some at a time; the clock runs until the last is found by its words and names.
"""

from __future__ import annotations

import asyncio
import hashlib
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import bringing_in, code_bases, data_folders
from bench.bringing_in import VAULT
from bench.code_bases import LARGE, SourceFile
from bench.figures import Figure
from bench.run import Run
from bench.served_notes import NO_VECTORS

if TYPE_CHECKING:
    from vaults.domain.code.symbol_lookup import StoredSymbol
    from vaults.vault import Vault

LINES, RATE = 1_000_000, 25_000.0
ASKED, TOP = 300, 0.97
AT_ONCE, BATCH = 6, 40
"""Files on their way to the workers, and files of one transaction."""

SAVED_MS, SAVED_LINES = 50.0, 1_000


@dataclass(frozen=True, slots=True)
class CodeReadings:
    """What indexing a code base took. ``top``: share of names whose definition came first; ``reread``: milliseconds in
    which a file of a thousand lines was outlined, and then stored again; ``asked``: those of a question."""

    files: int
    lines: int
    symbols: int
    seconds: float
    cpu: float
    top: float
    size: int
    reread: list[tuple[float, float]] = field(default_factory=list)
    asked: list[float] = field(default_factory=list)


def measure(run: Run) -> Iterator[Figure]:
    """Without vectors."""
    most = run.sized(LINES, 20_000)
    with run.folder("code") as folder:
        data_folders.prepare_folder(folder, {"ann": (VAULT,)})
        with run.report_progress(f"index {most:,} lines of code"):
            read = bringing_in.in_process(index_code, folder, most)
    numbers = {"seconds": read.seconds, "cpu": read.cpu, "files": read.files, "symbols": read.symbols}
    raw = (
        f"{read.lines:,} lines in {read.files:,} files, {read.symbols:,} symbols, {read.size / 1e6:.0f} MB of database,"
        f" in {read.seconds:.1f} s; {1e6 * read.cpu / read.lines:.0f} µs of CPU a line in the server, workers besides"
    )
    yield Figure(
        f"index of {read.lines:,} lines of code, no vectors",
        read.lines / read.seconds,
        RATE,
        ">=",
        "lines/s",
        raw,
        numbers,
    )
    raw = (
        f"{ASKED} symbols drawn by the digest of their place, asked by name; p50 {statistics.median(read.asked):.1f} ms"
    )
    yield Figure("where is it defined, first of the answer", read.top, TOP, ">=", "", raw)
    outlined, stored = (sorted(each) for each in zip(*read.reread, strict=True))
    place = int(0.95 * len(outlined))
    middle = statistics.median(outlined)
    raw = f"by a worker, p50 {middle:.0f} ms; storing it again besides, p95 {stored[place]:.0f} ms"
    yield Figure(f"a file of {SAVED_LINES:,} lines outlined again, p95", outlined[place], SAVED_MS, "<=", "ms", raw)


def index_code(data: Path, most: int) -> CodeReadings:
    """Index a code base and ask it. For a process of its own."""
    return asyncio.run(_index(data, most))


async def _index(data: Path, most: int) -> CodeReadings:
    files = code_bases.read_code_base(LARGE, most)
    async with bringing_in.open_vault(data, NO_VECTORS) as vault:
        began, cpu = time.perf_counter(), time.process_time()
        await store_code_base(vault, files)
        seconds, spent = time.perf_counter() - began, time.process_time() - cpu
        symbols = await vault.db.read(lambda tx: int(tx.value("SELECT COUNT(*) FROM code_symbols")))
        size = await vault.db.read(lambda tx: tx.size())
        right, asked = await ask_definitions(vault, ASKED)
        reread = await _read_again(vault, files)
    return CodeReadings(
        len(files), sum(each.lines for each in files), symbols, seconds, spent, right / len(asked), size, reread, asked
    )


async def store_code_base(vault: Vault, files: Sequence[SourceFile]) -> None:
    """Have files outlined by the workers and stored, some at a time."""
    todo = iter(files)
    ready: asyncio.Queue[Any] = asyncio.Queue(2 * BATCH)

    async def outline() -> None:
        for each in todo:
            await ready.put((await vault.parsers.outline(each.data, each.path), to_source(each)))

    async def store() -> None:
        left = len(files)
        while left:
            batch = [await ready.get() for _ in range(min(BATCH, left))]
            await _store(vault, batch)
            left -= len(batch)

    await asyncio.gather(store(), *(outline() for _ in range(AT_ONCE)))


async def _store(vault: Vault, batch: Sequence[Any]) -> None:
    from vaults.domain.actors import Actor
    from vaults.domain.code.intake import store_many

    await store_many(vault, Actor("owner", "owner"), batch)


def to_source(file: SourceFile) -> Any:
    """Where a file is from."""
    from vaults.domain.documents.intake import DocumentSource

    return DocumentSource(name=file.path, uri=file.path, kind="code", modified_at="2026-01-01T00:00:00.000Z")


async def ask_definitions(vault: Vault, count: int) -> tuple[int, list[float]]:
    """Ask where symbols are defined, by their qualified name, and, where several have it, with the file: how often the
    very symbol came first, and the milliseconds of each question."""
    from vaults.domain.actors import Actor
    from vaults.domain.code.code_questions import CodePage, CodeTarget, list_definitions
    from vaults.domain.code.symbol_search import SymbolQuery

    right, times = 0, list[float]()
    for symbol, alone in await draw_symbols(vault, count):
        path = None if alone else symbol.path
        began = time.perf_counter()
        target = CodeTarget(SymbolQuery(symbol.qualified, path))
        found = await list_definitions(vault, Actor("owner", "owner"), target, CodePage(5))
        times.append(1000 * (time.perf_counter() - began))
        right += bool(found.symbols) and (found.symbols[0].path, found.symbols[0].name) == (
            symbol.path,
            symbol.qualified,
        )
    return right, times


async def draw_symbols(vault: Vault, count: int) -> list[tuple[StoredSymbol, bool]]:
    """Symbols by the digest of their place, each with whether its qualified name is its own alone."""
    from vaults.domain.code.symbol_lookup import SYMBOL_COLUMNS, SYMBOLS, to_symbol
    from vaults.domain.code.symbol_search import is_test

    rows = await vault.db.read(lambda tx: tx.all(f"SELECT {SYMBOL_COLUMNS} FROM {SYMBOLS}"))
    symbols = [each for each in map(to_symbol, rows) if each.kind != "field" and not is_test(each.path)]
    names = Counter(each.qualified for each in symbols)
    named = [each for each in symbols if len(each.name) > 2 and not each.name.startswith("__")]
    named.sort(key=lambda each: hashlib.sha256(f"{each.path}#{each.label}".encode()).digest())
    return [(each, names[each.qualified] == 1) for each in named[:count]]


async def _read_again(vault: Vault, files: Sequence[SourceFile]) -> list[tuple[float, float]]:
    some = sorted(files, key=lambda each: (abs(each.lines - SAVED_LINES), each.path))[:20]
    times = list[tuple[float, float]]()
    for each in some:
        changed = SourceFile(each.path, each.data + b"\n\n")
        began = time.perf_counter()
        outline = await vault.parsers.outline(changed.data, changed.path)
        read = time.perf_counter()
        await _store(vault, [(outline, to_source(changed))])
        times.append((1000 * (read - began), 1000 * (time.perf_counter() - read)))
    return times
