"""Entries as JSON lines or CSV."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from ops.audit.entries import StoredEntry

CSV_COLUMNS = (
    "seq", "at", "kind", "subject", "issuer", "principal", "user", "token", "role", "session", "client", "address",
    "transport", "vault", "tool", "action", "outcome", "consent", "targets", "shown", "changes", "details", "hash",
)  # fmt: skip

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for a formula: subjects and paths are others' words."""


def to_line(entry: StoredEntry) -> str:
    """An entry as one line of JSON: the body as it was hashed, and its hash."""
    return f'{{"hash":"{entry.hash.hex()}","entry":{entry.body}}}'


def to_csv_row(entry: StoredEntry) -> list[str]:
    """An entry as a row. Raises ``ValueError`` for one whose body is no JSON."""
    fields = entry.fields() | {"hash": entry.hash.hex()}
    return [_to_cell(fields, name) for name in CSV_COLUMNS]


def _to_cell(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name, "")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"'{text}" if text.startswith(_FORMULA) else text


async def write_lines(entries: AsyncIterator[StoredEntry], target: TextIO) -> int:
    """Write JSON lines; returns how many."""
    count = 0
    async for each in entries:
        target.write(f"{to_line(each)}\n")
        count += 1
    return count


async def write_csv(entries: AsyncIterator[StoredEntry], target: TextIO) -> int:
    """Write CSV with a head; returns how many entries."""
    writer, count = csv.writer(target), 0
    writer.writerow(CSV_COLUMNS)
    async for each in entries:
        writer.writerow(to_csv_row(each))
        count += 1
    return count


FORMATS: Mapping[str, Callable[[AsyncIterator[StoredEntry], TextIO], Awaitable[int]]] = {
    "jsonl": write_lines,
    "csv": write_csv,
}


def open_private(path: Path) -> TextIO:
    """A new file, or one that is overwritten, that only its owner reads."""
    return open(path, "w", encoding="utf-8", newline="", opener=lambda name, flags: os.open(name, flags, 0o600))
