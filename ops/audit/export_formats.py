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

_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""What a spreadsheet takes for a formula: subjects and paths are others' words."""


def to_line(entry: StoredEntry) -> str:
    """An entry as one line of JSON: the body as it was hashed, and its hash. A body that the server did not write is
    quoted under ``forged``."""
    name, body = ("entry", entry.body) if _is_ours(entry) else ("forged", json.dumps(entry.body))
    return f'{{"hash":"{entry.hash.hex()}","{name}":{body}}}'


def _is_ours(entry: StoredEntry) -> bool:
    try:
        entry.fields()
    except ValueError:
        return False
    return entry.body.isascii() and "\n" not in entry.body and "\r" not in entry.body


def to_csv_row(entry: StoredEntry) -> list[str]:
    """An entry as a row. Of one that the server did not write, number and hash, and that it is ``forged``."""
    try:
        fields = entry.fields()
    except ValueError:
        fields = {"kind": "forged"}
    fields |= {"seq": entry.seq, "hash": entry.hash.hex()}
    return [_to_cell(fields, name) for name in CSV_COLUMNS]


def _to_cell(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name, "")
    text = to_shown(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return f"'{text}" if text.startswith(_FORMULA) else text


def to_shown(text: str) -> str:
    """A text of others, on one line: what would steer a terminal or turn the line around is shown by its number."""
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)


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

    def open_for_owner(name: str, flags: int) -> int:
        descriptor = os.open(name, flags, 0o600)
        if os.path.isfile(name):  # noqa: PTH113  not of a device, such as /dev/stdout
            os.fchmod(descriptor, 0o600)
        return descriptor

    return open(path, "w", encoding="utf-8", newline="", opener=open_for_owner)
