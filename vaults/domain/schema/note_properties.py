"""The frontmatter of many notes, read off their rows: no file is opened."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vaults.context import run_in
from vaults.db.sql import Reader, Row
from vaults.domain.notes.read.note_listing import folder_of, in_folder, lag, no_folder
from vaults.domain.schema.property_values import Value, value_of
from vaults.vault import Vault

WRITTEN = "_schema.md"
"""Name of a note whose frontmatter is the schema of its folder."""

PORTION = 2_000
"""Notes read at once."""

MOST = 100_000
"""Notes looked at."""

FIELDS = 100
"""Fields of a note looked at."""

TAGS = 200
"""Tags of a note looked at."""

NAMED = 5
"""Notes named in a warning."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """What one note's frontmatter says, and its tags, those of the text included."""

    path: str
    folder: str
    values: Mapping[str, Value]
    tags: tuple[str, ...]


@dataclass(slots=True)
class Sheets:
    """Notes by path. ``written``: frontmatter of the notes that say what others should hold, by folder."""

    notes: list[Sheet] = field(default_factory=list)
    written: dict[str, Any] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


async def sheets(vault: Vault, folder: str | None) -> Sheets:
    """Of every note, or of those in a folder and the folders in it. Raises ``InvalidArgument`` for a folder that is
    none."""
    where, found, after = folder_of(folder), Sheets(warnings=await lag(vault)), 0
    for _ in range(MOST // PORTION):
        rows = await vault.db.read(lambda tx, after=after: _rows(tx, where, after))  # type: ignore[misc]
        await run_in(vault.shared.pool, _add, found, rows)
        if len(rows) < PORTION:
            break
        after = int(rows[-1][0])
    else:
        found.warnings.append(f"only {MOST} notes were looked at")
    found.notes.sort(key=lambda each: each.path)
    found.warnings += unread(found.unreadable)
    if not found.notes:
        found.warnings += await no_folder(vault, folder)
    return found


def unread(paths: Sequence[str]) -> list[str]:
    """What to tell of notes whose frontmatter cannot be read."""
    if not paths:
        return []
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return [f"frontmatter that cannot be read was left alone in {', '.join(sorted(paths)[:NAMED])}{more}"]


def _rows(tx: Reader, folder: str, after: int) -> list[Row]:
    below = f" AND {in_folder('folder')}" if folder else ""
    return tx.all(
        f"SELECT seq, path, folder, frontmatter, tags, problem FROM notes WHERE seq > :after{below}"
        " ORDER BY seq LIMIT :most",
        {"after": after, "most": PORTION, "folder": folder, "within": f"{folder}/", "beyond": f"{folder}0"},
    )


def _add(found: Sheets, rows: Sequence[Row]) -> None:
    for _, path, folder, frontmatter, tags, problem in rows:
        values = {} if frontmatter == "{}" else json.loads(frontmatter)
        if path.rpartition("/")[2] == WRITTEN:
            found.written[folder] = values
            continue
        if problem is not None and not values:
            found.unreadable.append(path)
            continue
        names = list(values)[:FIELDS]
        labels = tuple(json.loads(tags)[:TAGS]) if tags != "[]" else ()
        found.notes.append(Sheet(path, folder, {name: value_of(values[name]) for name in names}, labels))
