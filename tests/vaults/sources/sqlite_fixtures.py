"""Files of other systems made for tests, and what a source makes of them."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vaults.sources.source import Source, SourceRecord, UnreadableRecord


@dataclass
class ReadSource:
    """All that a source had."""

    total: int = 0
    lines: list[dict[str, Any]] = field(default_factory=list)
    unreadable: list[UnreadableRecord] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Its lines of a kind."""
        return [line for line in self.lines if line.get("kind", "memory") == kind]

    def line(self, external_id: str) -> dict[str, Any]:
        """The one line with this id."""
        (found,) = (line for line in self.lines if line["external_id"] == external_id)
        return found


def make_database(path: Path, schema: str, rows: dict[str, Iterable[dict[str, Any]]] | None = None) -> Path:
    """A file with a schema and rows, as its program leaves it: in WAL mode, with nothing beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.executescript(schema)
    insert(db, rows or {})
    db.close()
    return path


def insert(db: sqlite3.Connection, rows: dict[str, Iterable[dict[str, Any]]]) -> None:
    for table, values in rows.items():
        for row in values:
            names = ", ".join(f'"{name}"' for name in row)
            db.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(row))})", tuple(row.values()))
    db.commit()


def see_folder(folder: Path) -> dict[str, tuple[str, int]]:
    """Every file below a folder with a digest and its time of change."""
    return {
        str(path.relative_to(folder)): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def read_source(source: Source, path: Path, unchanged: Path | None = None) -> ReadSource:
    """What a source reads of a path; nothing in the folder may change by it, and ids and progress must make sense."""
    folder = unchanged or (path if path.is_dir() else path.parent)
    before = see_folder(folder)
    found = ReadSource()
    with source.open(path) as reading:
        done = 0
        for item in reading.items:
            assert item.done >= done
            done = item.done
            if isinstance(item, SourceRecord):
                found.lines.append(item.fields)
            else:
                found.unreadable.append(item)
        assert done <= reading.total
        found.total, found.left = reading.total, reading.left
    assert see_folder(folder) == before
    ids = [line["external_id"] for line in found.lines]
    assert len(ids) == len(set(ids))
    return found
