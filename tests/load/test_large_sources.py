"""A line of two gigabytes and a million rows are read in as little memory as a few."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bench.measurements import MIB, resident_bytes
from tests.vaults.sources.sqlite_fixtures import make_database
from tests.vaults.sources.test_moltmind import LATEST, NOON
from vaults.domain.import_export.source_import import ImportPlan, ImportTally, preview_source
from vaults.sources.known import find_source
from vaults.transcripts.claude_code import READER
from vaults.transcripts.transcript import ReadPlace

pytestmark = pytest.mark.load
GIB, ROWS = 1 << 30, 1_000_000


def write_endless(path: Path, *after: bytes) -> Path:
    """Two gigabytes of zeros in one line, which take no place on the disk, and lines after it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(2 * GIB)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + b"\n".join(after) + b"\n")
    return path


class Memory:
    """Resident memory as a preview goes on."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def look(self, _: ImportTally) -> None:
        self.seen.append(resident_bytes(os.getpid()))

    def grown(self, first: int) -> float:
        """MiB at most after so many looks."""
        return (max(self.seen[first:]) - self.seen[first]) / MIB


def preview(source: str, path: Path, memory: Memory) -> ImportTally:
    return asyncio.run(preview_source(ImportPlan(find_source(source), path), memory.look))


def test_a_line_of_two_gigabytes_is_passed_over(tmp_path: Path) -> None:
    before, memory = resident_bytes(os.getpid()), Memory()
    tally = preview("jsonl", write_endless(tmp_path / "in.jsonl", b'{"content": "after it"}'), memory)
    assert (tally.stored, tally.rejected) == (1, 1)
    assert max(memory.seen) - before < 60 * MIB


def test_so_is_one_of_a_transcript(tmp_path: Path) -> None:
    said = b'{"type": "user", "message": {"role": "user", "content": "after it"}}'
    path = write_endless(tmp_path / ".claude" / "projects" / "a" / "b.jsonl", said)
    before, place, heard, most = resident_bytes(os.getpid()), ReadPlace(), [], 0
    more = True
    while more:
        part = READER.read(path, place, 4 << 20)
        place, more = part.place, part.more
        heard += [turn.text for each in part.conversations for turn in each.turns]
        most = max(most, resident_bytes(os.getpid()))
    assert heard == ["after it"]
    assert most - before < 150 * MIB  # of a line up to 32 MB is held, twice


def test_a_million_rows_are_read_one_after_the_other(tmp_path: Path) -> None:
    path, memory = make_database(tmp_path / "memory.db", LATEST), Memory()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :rows)"
            " INSERT INTO memories (id, type, title, content, created_at, updated_at, accessed_at)"
            " SELECT 'm' || i, 'raw', 'Boat ' || i, 'Boat number ' || i || ' lies at the pier', :at, :at, :at FROM n",
            {"rows": ROWS, "at": NOON},
        )
    tally = preview("moltmind", path, memory)
    assert tally.stored == ROWS
    # What is kept of each is its id's hash: some 60 bytes, with the room a growing set leaves.
    assert memory.grown(20) < 150
