"""A vault with a bit of everything to be salvaged, and what may happen to its file."""

from __future__ import annotations

import asyncio
import atexit
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from auth.principal import owner
from auth.roles import Role
from ops.salvage.database_image import open_image
from ops.salvage.found_rows import TableRemains
from ops.salvage.harvesting import insert_remains, survey
from ops.salvage.leftovers import Leftovers
from ops.salvage.salvage_report import SalvageReport
from ops.salvage.table_trees import walk_table
from server import vault_admin
from server.call import Caller
from server.services import open_services
from server.settings import load
from server.tools import discover
from tests.blanks import lay_out
from tests.conftest import asker
from tests.fakes import HashEmbedder
from vaults.db.engine import sqlite
from vaults.db.sql import Writer
from vaults.db.table_tags import canonical_tables

PAGE = 4096
NAME = "harbour"
Rows = dict[str, dict[int, tuple[Any, ...]]]
Harm = Callable[[bytearray], bytes | bytearray]


@cache
def whole_data() -> Path:
    """A data folder with the vault, made once per process: copy it before it is harmed."""
    data = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, data, ignore_errors=True)
    lay_out(data, (NAME,))
    with ThreadPoolExecutor(1) as thread:  # of its own: the caller may have a loop
        thread.submit(lambda: asyncio.run(_fill(data))).result()
    return data


def whole_vault() -> Path:
    """The folder of the vault."""
    return whole_data() / "vaults" / NAME


async def _fill(data: Path) -> None:
    loaded = load(data, flags={"storage.reserve_mb": 0}, environment={})
    async with open_services(loaded.settings, loaded.data, discover(), load_model=HashEmbedder) as services:
        await vault_admin.create(services, NAME)
        ask = asker(services, Caller(owner("cli"), NAME, Role.ADMIN, "cli"))
        chance = random.Random(5)
        texts = [f"memory {at} of the harbour " + f"word{at} " * chance.randrange(3, 30) for at in range(60)]
        texts += [f"a long one, {at}: " + f"line {at} of many\n" * 700 for at in range(3)]
        await asyncio.gather(*(ask("remember", content=text, tags=["boat", f"n{len(text) % 7}"]) for text in texts))
        for at in range(3):
            await ask(
                "ingest", content=f"The lease of berth {at}.\n\n" + f"paragraph {at}. " * 500, title=f"lease {at}"
            )
            await ask("note_write", path=f"berth{at}.md", content=f"# Berth {at}\n\n" + f"It is long {at}. " * 80)
            await ask("note_edit", path=f"berth{at}.md", content="\nmore of it\n")
            await ask("checkpoint", reason="half way", state={"step": at, "open": ["tickets"] * 40})
            await ask("corrections", action="record", wrong=f"We use MySQL {at}", right="We use SQLite")
        # Pages are given back and taken again, as in every vault that has been used for a while.
        found = (await ask("memory_list", limit=100)).content["memories"]
        await ask("memory_forget", ids=[each["id"] for each in found[5:10]])


def read_rows(path: Path) -> Rows:
    """Every canonical row of a sound database."""
    with closing(sqlite.connect(f"file:{path}?mode=ro", uri=True)) as raw:
        return {
            table: {row[0]: row[1:] for row in raw.execute(f"SELECT rowid, * FROM {table}")}
            for table in canonical_tables("vault")
        }


@dataclass(frozen=True, slots=True)
class Harvest:
    """What came of a damaged file. ``wrong``: rows presented as right that never were."""

    rows: Rows
    wrong: list[tuple[str, int]]
    tables: dict[str, TableRemains]
    report: SalvageReport

    def kept(self, table: str) -> int:
        return len(self.rows[table])


class Bench:
    """An empty database to salvage into, again and again."""

    def __init__(self, whole: Path, scratch: Path, blank: bytes) -> None:
        self.truth = read_rows(whole)
        self.data = whole.read_bytes()
        self._whole = whole
        self._scratch = scratch
        scratch.mkdir(exist_ok=True)
        (scratch / "blank.db").write_bytes(blank)

    def harvest(self, harm: Harm, log: bytes | None = None) -> Harvest:
        """Harm a copy of the file and take out of it what can be taken."""
        harmed, beside, left = (self._scratch / name for name in ("harmed.db", "harmed.db-wal", "left.jsonl"))
        harmed.write_bytes(harm(bytearray(self.data)))
        beside.unlink(missing_ok=True)
        left.unlink(missing_ok=True)
        if log is not None:
            beside.write_bytes(log)
        report = SalvageReport(NAME, "now")
        with (
            open_image(harmed, beside) as image,
            Leftovers(left) as leftovers,
            closing(sqlite.connect(self._scratch / "blank.db", isolation_level=None)) as raw,
        ):
            raw.execute("BEGIN")
            tables = insert_remains(Writer(raw), survey(image), report, leftovers)
            found = {
                table: {row[0]: row[1:] for row in raw.execute(f"SELECT rowid, * FROM {table}")} for table in self.truth
            }
            raw.execute("ROLLBACK")
        wrong = [
            (table, number)
            for table, rows in found.items()
            for number, row in rows.items()
            if self.truth[table].get(number) != row
        ]
        return Harvest(found, wrong, tables, report)

    def leaf_with(self, table: str, text: bytes) -> int:
        """Where the page of a table begins that holds this text."""
        found = [at for at in range(0, len(self.data), PAGE) if text in self.data[at : at + PAGE]]
        with open_image(self._whole) as image:
            remains = survey(image)
            tree = walk_table(image, remains.page_map, remains.schema.tables[table])
        ours = {(leaf.number - 1) * PAGE for leaf in tree.leaves}
        return next(at for at in found if at in ours)


HARMED = b"memory 42 of the harbour"


def zero_pages(path: Path, text: bytes = HARMED) -> bytes:
    """Every page with this text holds nothing now; what the file is then."""
    data = bytearray(path.read_bytes())
    for page in range(0, len(data), PAGE):
        if text in data[page : page + PAGE]:
            data[page : page + PAGE] = bytes(PAGE)
    path.write_bytes(data)
    return bytes(data)


def noise_on(pages: int, seed: int) -> Harm:
    """That many pages hold noise."""

    def harm(data: bytearray) -> bytearray:
        chance = random.Random(seed)
        for page in chance.sample(range(len(data) // PAGE), pages):
            data[page * PAGE : (page + 1) * PAGE] = chance.randbytes(PAGE)
        return data

    return harm


def harms(seed: int) -> Iterator[tuple[str, Harm]]:
    """One of each kind, somewhere else for each seed."""
    chance = random.Random(seed)

    def at(data: bytearray, length: int) -> slice:
        begin = chance.randrange(len(data) - length)
        return slice(begin, begin + length)

    def sector(data: bytearray) -> bytearray:
        place = chance.randrange(len(data) // 512) * 512
        data[place : place + 512] = chance.randbytes(512)
        return data

    def zeros(data: bytearray) -> bytearray:
        length = chance.choice((64, 512, 3000, 40_000))
        data[at(data, length)] = bytes(length)
        return data

    def noise(data: bytearray) -> bytearray:
        length = chance.choice((48, 200, 5000))
        data[at(data, length)] = chance.randbytes(length)
        return data

    def elsewhere(data: bytearray) -> bytearray:
        one, other = chance.sample(range(1, len(data) // PAGE), 2)
        data[one * PAGE : (one + 1) * PAGE] = data[other * PAGE : (other + 1) * PAGE]
        return data

    def cut(data: bytearray) -> bytes:
        return bytes(data[: chance.randrange(len(data))])

    yield "page", noise_on(1, seed)
    yield "sector", sector
    yield "zeros", zeros
    yield "noise", noise
    yield "elsewhere", elsewhere
    yield "cut", cut
