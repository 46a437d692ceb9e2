"""What comes back of a damaged vault: pages of noise, cuts, zeros and a damaged log, of 100,000 memories.

Each case harms a copy of the file, takes out of it what can be taken, and compares every canonical row with the truth.
A row that is presented as right and is not fails the run, whatever its table.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import bulk_rows, data_folders
from bench.figures import Figure
from bench.made_up_text import TextWriter
from bench.run import Run
from ops.backup.archive_reader import NO_KEYS
from ops.salvage.database_image import open_image
from ops.salvage.found_rows import TableRemains
from ops.salvage.harvesting import insert_remains, survey
from ops.salvage.leftovers import Leftovers
from ops.salvage.salvage_report import SalvageReport
from ops.salvage.salvaging import SalvageSubject, salvage
from ops.salvage.whole_sources import from_file
from vaults import registry
from vaults.db.connection import Database, open_raw
from vaults.db.engine import sqlite
from vaults.db.migration import migrate
from vaults.db.sql import Writer
from vaults.db.table_tags import canonical_tables
from vaults.db.wal_frames import FRAME_HEADER_BYTES, HEADER_BYTES
from vaults.domain.memories import storage
from vaults.domain.memories.memory_model import MemoryFields
from vaults.registry import VaultEntry
from vaults.settings import IndexSettings, StorageSettings

MEMORIES, TODAY, IN_LOG = 100_000, 2_000, 500
"""Memories in all; those younger than yesterday's backup; those that only the log holds."""
SENTENCES = 3
PAGE, WIDTH = 4096, 384
LEAST = 98.0
"""Per cent of memories that come back when one page in a hundred is noise."""

NAME = "main"
Truth = dict[str, dict[int, tuple[Any, ...]]]
Harm = Callable[[bytearray, random.Random], bytes | bytearray]


@dataclass(frozen=True, slots=True)
class _Ground:
    """A sound vault: its files, its rows, a blank database to salvage into, and yesterday's backup."""

    folder: Path
    truth: Truth
    blank: Path
    backup: Path
    entry: VaultEntry

    @property
    def database(self) -> Path:
        return self.folder / "vault.db"

    @property
    def log(self) -> Path:
        return self.folder / "vault.db-wal"


def measure(run: Run) -> Iterator[Figure]:
    """One row for each kind of damage."""
    with run.folder("salvage") as folder:
        ground = _make_ground(run, folder)
        for name, harm in _harms(ground).items():
            with run.report_progress(name):
                yield _measure_file(ground, folder, name, harm)
        for name, harm_log in _LOGS.items():
            with run.report_progress(name):
                yield _measure_log(ground, folder, name, harm_log)
        with run.report_progress("all of it, with a backup"):
            yield from _measure_whole(ground, folder)


def _make_ground(run: Run, folder: Path) -> _Ground:
    count, writer = run.sized(MEMORIES, 5_000), TextWriter(seed=17)
    data = data_folders.prepare_folder(folder / "data", {"ann": (NAME,)}).data
    with run.report_progress(f"make {count:,} memories"):
        bulk_rows.fill(data, NAME, _pairs(writer, count - TODAY - IN_LOG))
    place = data / "vaults" / NAME
    backup = folder / "yesterday.db"
    with closing(open_raw(place / "vault.db", StorageSettings(), writer=True)) as raw:
        with closing(sqlite.connect(backup)) as copy:
            raw.backup(copy)
        _forget_some(raw)
        _add(raw, writer, TODAY)
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        raw.execute("PRAGMA wal_autocheckpoint=0")
        _add(raw, writer, IN_LOG)
        sound = folder / "sound"
        shutil.copytree(place, sound)  # with a log that was never moved into the file
    entry = asyncio.run(_entry(data))
    blank = folder / "blank.db"
    asyncio.run(_make_blank(blank))
    return _Ground(sound, _read_truth(sound / "vault.db", folder), blank, backup, entry)


def _pairs(writer: TextWriter, count: int) -> Iterator[bulk_rows.Pair]:
    import numpy as np

    chance = np.random.default_rng(17)
    for at in range(count):
        vector = chance.standard_normal(WIDTH, dtype=np.float32)
        yield _text(writer, at), (vector / np.linalg.norm(vector)).astype("<f4").tobytes()


def _text(writer: TextWriter, at: int) -> str:
    return " ".join([f"Memory {at}.", *(writer.sentence() for _ in range(SENTENCES))])


def _forget_some(raw: sqlite.Connection) -> None:
    """Pages that are free, so that there is a list of them to harm."""
    raw.execute("BEGIN IMMEDIATE")
    raw.execute("DELETE FROM embedding_queue")
    raw.execute("DELETE FROM vector_removals")
    raw.execute("DELETE FROM embeddings WHERE passage % 10 = 0")
    raw.execute("COMMIT")


def _add(raw: sqlite.Connection, writer: TextWriter, count: int) -> None:
    raw.execute("BEGIN IMMEDIATE")
    tx = Writer(raw)
    for at in range(count):
        fields = MemoryFields(content=f"Added {at}. {_text(writer, at)}")
        prepared = storage.prepare(data_folders.CLOSED_VAULT, data_folders.ACTOR, fields)
        storage.insert(tx, data_folders.ACTOR, prepared, None, None)
    raw.execute("COMMIT")


async def _entry(data: Path) -> VaultEntry:
    control = Database(data / "control.db", StorageSettings())
    try:
        return await control.read(lambda tx: registry.get(tx, NAME))
    finally:
        await control.close()


async def _make_blank(path: Path) -> None:
    db = Database(path, StorageSettings())
    await migrate(db, "vault")
    await db.checkpoint()
    await db.close()


def _read_truth(path: Path, folder: Path) -> Truth:
    copy = folder / "truth"
    shutil.copytree(path.parent, copy)
    with closing(sqlite.connect(copy / path.name)) as raw:
        truth = {table: _rows(raw, table) for table in canonical_tables("vault")}
    shutil.rmtree(copy)
    return truth


def _rows(raw: sqlite.Connection, table: str) -> dict[int, tuple[Any, ...]]:
    return {row[0]: row[1:] for row in raw.execute(f"SELECT rowid, * FROM {table}")}


def _harms(ground: _Ground) -> dict[str, Harm]:
    with closing(sqlite.connect(f"file:{ground.database}?mode=ro&immutable=1", uri=True)) as raw:
        indexes = [root for (root,) in raw.execute("SELECT rootpage FROM sqlite_schema WHERE type = 'index'")]
        free = int.from_bytes(ground.database.read_bytes()[32:36])
    return {
        "1 % of pages": lambda data, chance: _noise(
            data, chance.sample(_pages(data), len(_pages(data)) // 100), chance
        ),
        "200 pages": lambda data, chance: _noise(data, chance.sample(_pages(data), 200), chance),
        "the header's page": lambda data, chance: _noise(data, [1], chance),
        "every page of the schema": lambda data, chance: _noise(data, _schema_pages(data), chance),
        "the list of free pages": lambda data, chance: _noise(data, [free], chance) if free else data,
        "every index's first page": lambda data, chance: _noise(data, indexes, chance),
        "zeros, 20 times 64 KB": _zeros,
        **{f"cut at {share} %": _cut(share / 100) for share in (25, 50, 75, 99)},
    }


def _pages(data: bytes | bytearray) -> range:
    return range(1, len(data) // PAGE + 1)


def _noise(data: bytearray, pages: Sequence[int], chance: random.Random) -> bytearray:
    for page in pages:
        data[(page - 1) * PAGE : page * PAGE] = chance.randbytes(PAGE)
    return data


def _schema_pages(data: bytearray) -> list[int]:
    """The first page and, as the pointer map says, those below it."""
    span = PAGE // 5
    entries = [data[PAGE + at * 5 : PAGE + at * 5 + 5] for at in range(span)]
    return [1, *(at + 3 for at, entry in enumerate(entries) if entry[0] == 5 and entry[1:] == (1).to_bytes(4))]


def _zeros(data: bytearray, chance: random.Random) -> bytearray:
    for _ in range(20):
        begin = chance.randrange(len(data) - (64 << 10))
        data[begin : begin + (64 << 10)] = bytes(64 << 10)
    return data


def _cut(share: float) -> Harm:
    def harm(data: bytearray, _: random.Random) -> bytearray:
        return data[: int(len(data) * share) // PAGE * PAGE + PAGE // 3]

    return harm


def _harm_frames(log: bytearray, chance: random.Random) -> bytearray:
    step = PAGE + FRAME_HEADER_BYTES
    count = (len(log) - HEADER_BYTES) // step
    for frame in chance.sample(range(count), max(count // 20, 1)):
        at = HEADER_BYTES + frame * step + FRAME_HEADER_BYTES + chance.randrange(PAGE - 64)
        log[at : at + 64] = chance.randbytes(64)
    return log


_LOGS: dict[str, Harm] = {
    "log: whole": lambda log, _: log,
    "log: 5 % of frames": _harm_frames,
    "log: cut in half": lambda log, _: log[: len(log) // 2],
    "log: its header": lambda log, chance: chance.randbytes(HEADER_BYTES) + log[HEADER_BYTES:],
}


@dataclass(frozen=True, slots=True)
class _Harvest:
    kept: int
    wrong: int
    doubtful: int
    seconds: float
    tables: dict[str, TableRemains]


def _harvest(ground: _Ground, folder: Path, database: bytes | bytearray, log: bytes | bytearray | None) -> _Harvest:
    harmed, left = folder / "harmed.db", folder / "left.jsonl"
    beside = folder / "harmed.db-wal"
    harmed.write_bytes(database)
    beside.write_bytes(log or b"")
    left.unlink(missing_ok=True)
    new = folder / "new.db"
    shutil.copyfile(ground.blank, new)
    report, began = SalvageReport(NAME, "now"), time.perf_counter()
    with (
        open_image(harmed, beside) as image,
        Leftovers(left) as leftovers,
        closing(sqlite.connect(new, isolation_level=None)) as raw,
    ):
        raw.execute("PRAGMA synchronous=OFF")
        raw.execute("BEGIN")
        tables = insert_remains(Writer(raw), survey(image), report, leftovers)
        seconds = time.perf_counter() - began
        found = {table: _rows(raw, table) for table in ground.truth}
        raw.execute("ROLLBACK")
    wrong = sum(ground.truth[table].get(number) != row for table, rows in found.items() for number, row in rows.items())
    return _Harvest(len(found["memories"]), wrong, leftovers.count, seconds, tables)


def _measure_file(ground: _Ground, folder: Path, name: str, harm: Harm) -> Figure:
    data = harm(bytearray(ground.database.read_bytes()), random.Random(name))
    return _to_figure(ground, name, _harvest(ground, folder, data, ground.log.read_bytes()), _limit(name))


def _limit(name: str) -> float | None:
    return LEAST if name == "1 % of pages" else None


def _measure_log(ground: _Ground, folder: Path, name: str, harm: Harm) -> Figure:
    log = harm(bytearray(ground.log.read_bytes()), random.Random(name))
    return _to_figure(ground, name, _harvest(ground, folder, ground.database.read_bytes(), log), None)


def _to_figure(ground: _Ground, name: str, harvest: _Harvest, limit: float | None) -> Figure:
    if harvest.wrong:
        raise RuntimeError(f"{name}: {harvest.wrong} rows are presented as right and are not")
    share = 100 * harvest.kept / len(ground.truth["memories"])
    raw = f"{harvest.kept:,} memories, {harvest.doubtful:,} rows in doubt, 0 wrong, {harvest.seconds:.1f} s"
    return Figure(f"salvage, {name}", round(share, 2), limit, ">=", "%", raw=raw)


def _measure_whole(ground: _Ground, folder: Path) -> Iterator[Figure]:
    """The whole command on one page in a hundred, with yesterday's backup: what is older than it must all be there."""
    place = folder / "whole"
    shutil.copytree(ground.folder, place)
    path = place / "vault.db"
    path.write_bytes(_harms(ground)["1 % of pages"](bytearray(path.read_bytes()), random.Random(1)))
    began = time.perf_counter()
    with ThreadPoolExecutor(1) as thread:
        subject = SalvageSubject(ground.entry, place, StorageSettings(), IndexSettings().passage_tokens, thread)
        report = asyncio.run(salvage(subject, [from_file(ground.backup, NO_KEYS)]))
    seconds = time.perf_counter() - began
    with closing(sqlite.connect(path)) as raw, closing(sqlite.connect(ground.backup)) as old:
        new, before = _rows(raw, "memories"), _rows(old, "memories")
    wrong = sum(ground.truth["memories"].get(number) != row for number, row in new.items())
    older = 100 * sum(number in new for number in before) / len(before)
    if wrong:
        raise RuntimeError(f"{wrong} memories are presented as right and are not")
    told = next(each for each in report.tables if each.table == "memories")
    raw_text = f"{told.from_backup:,} of the backup, {report.vectors:,} vectors carried over, {seconds:.0f} s in all"
    yield Figure("salvage, 1 % of pages, with a backup: older than it", older, 100.0, "=", "%", raw=raw_text)
    yield Figure(
        "salvage, 1 % of pages, with a backup: all", 100 * len(new) / len(ground.truth["memories"]), LEAST, ">=", "%"
    )
