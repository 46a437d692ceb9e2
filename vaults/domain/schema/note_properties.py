"""Reading the frontmatter of many notes from their rows, without opening files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vaults.context import run_in
from vaults.db.sql import Reader, Row
from vaults.domain.notes.read.note_listing import folder_condition, parse_folder, warn_if_behind, warn_if_no_folder
from vaults.domain.schema.property_values import PropertyValue, to_property_value
from vaults.vault import Vault

SCHEMA_NOTE = "_schema.md"
"""Name of the note whose frontmatter is the schema of its folder."""

BATCH = 2_000
"""Notes read in one query."""

MAX_NOTES = 100_000
"""Max notes examined."""

MAX_FIELDS = 100
"""Max fields of a note examined."""

MAX_TAGS = 200
"""Max tags of a note examined."""

MAX_NAMED = 5
"""Max notes named in a warning."""


@dataclass(frozen=True, slots=True)
class NoteProperties:
    """One note's frontmatter, and its tags including those in the text."""

    path: str
    folder: str
    values: Mapping[str, PropertyValue]
    tags: tuple[str, ...]


@dataclass(slots=True)
class VaultProperties:
    """The frontmatter of many notes."""

    notes: list[NoteProperties] = field(default_factory=list)  # sorted by path
    written: dict[str, Any] = field(default_factory=dict)  # by folder: frontmatter of its schema note
    unreadable: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


async def read_note_properties(vault: Vault, folder: str | None) -> VaultProperties:
    """Read the frontmatter of every note, or of those in a folder and below. Raises ``InvalidArgument`` for an invalid
    folder."""
    where, found, after = parse_folder(folder), VaultProperties(warnings=await warn_if_behind(vault)), 0
    for _ in range(MAX_NOTES // BATCH):
        rows = await vault.db.read(lambda tx, after=after: _read_rows(tx, where, after))  # type: ignore[misc]
        await run_in(vault.shared.pool, _add_rows, found, rows)
        if len(rows) < BATCH:
            break
        after = int(rows[-1][0])
    else:
        found.warnings.append(f"only {MAX_NOTES} notes were looked at")
    found.notes.sort(key=lambda each: each.path)
    found.warnings += warn_of_unreadable(found.unreadable)
    if not found.notes:
        found.warnings += await warn_if_no_folder(vault, folder)
    return found


def warn_of_unreadable(paths: Sequence[str]) -> list[str]:
    """A warning about notes whose frontmatter cannot be read."""
    if not paths:
        return []
    more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
    return [f"frontmatter that cannot be read was left alone in {', '.join(sorted(paths)[:MAX_NAMED])}{more}"]


def _read_rows(tx: Reader, folder: str, after: int) -> list[Row]:
    below = f" AND {folder_condition('folder')}" if folder else ""
    return tx.all(
        f"SELECT seq, path, folder, frontmatter, tags, problem FROM notes WHERE seq > :after{below}"
        " ORDER BY seq LIMIT :most",
        {"after": after, "most": BATCH, "folder": folder, "within": f"{folder}/", "beyond": f"{folder}0"},
    )


def _add_rows(found: VaultProperties, rows: Sequence[Row]) -> None:
    for _, path, folder, frontmatter, tags, problem in rows:
        values = {} if frontmatter == "{}" else json.loads(frontmatter)
        if path.rpartition("/")[2] == SCHEMA_NOTE:
            found.written[folder] = values
            continue
        if problem is not None and not values:
            found.unreadable.append(path)
            continue
        names = list(values)[:MAX_FIELDS]
        labels = tuple(json.loads(tags)[:MAX_TAGS]) if tags != "[]" else ()
        found.notes.append(
            NoteProperties(path, folder, {name: to_property_value(values[name]) for name in names}, labels)
        )
