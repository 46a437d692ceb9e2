"""What the schema of a vault is and who does not keep to it, a page at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Generic, TypeVar

from vaults.context import run_in
from vaults.domain.notes.read.note_listing import folder_of
from vaults.domain.paging import cursors, token_budget
from vaults.domain.schema import conventions, overview, spellings
from vaults.domain.schema import violations as validating
from vaults.domain.schema.conventions import Convention
from vaults.domain.schema.note_properties import WRITTEN, Sheets, sheets
from vaults.domain.schema.overview import Field, Folder, TagCount
from vaults.domain.schema.schema_notes import read
from vaults.domain.schema.spellings import Spelt
from vaults.domain.schema.violations import Violation
from vaults.vault import Vault

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Span:
    """Which notes, and how much of the answer."""

    folder: str | None = None
    limit: int = 50
    max_tokens: int = 4000
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Portion(Generic[T]):
    """The first of ``total``, of ``notes`` that were looked at. ``cursor`` asks for what follows."""

    rows: list[T]
    total: int
    notes: int
    warnings: list[str] = field(default_factory=list)
    cursor: str | None = None

    @property
    def truncated(self) -> bool:
        return self.cursor is not None or len(self.rows) < self.total


async def fields(vault: Vault, span: Span) -> tuple[Portion[Field], Portion[TagCount]]:
    """Fields and tags; fields have three quarters of the tokens. Raises ``InvalidArgument``."""
    found = await sheets(vault, span.folder)
    named = await run_in(vault.shared.pool, overview.fields, found.notes)
    tagged = await run_in(vault.shared.pool, overview.tags, found.notes)
    part = span.max_tokens // 4
    return (
        await _cut(vault, found, named, span.limit, span.max_tokens - part),
        await _cut(vault, found, tagged, span.limit, part),
    )


async def folders(vault: Vault, span: Span) -> Portion[Folder]:
    """Folders. Raises ``InvalidArgument``."""
    return await _of(vault, span, lambda found: overview.folders(found.notes))


async def values(vault: Vault, span: Span, name: str) -> Portion[Spelt]:
    """The values of a field; where no note has it, a warning names one of a like name. Raises ``InvalidArgument``."""
    found = await sheets(vault, span.folder)
    rows = await run_in(vault.shared.pool, spellings.values, found.notes, name)
    if not rows:
        known = list(dict.fromkeys(each for sheet in found.notes for each in sheet.values))
        meant = spellings.nearest(name, known)
        hint = f"did you mean {meant!r}?" if meant else "overview lists the fields"
        found.warnings.append(f"no note has the field {name!r}: {hint}")
    return await _cut(vault, found, rows, span.limit, span.max_tokens)


async def inferred(vault: Vault, span: Span) -> Portion[Convention]:
    """Conventions. Raises ``InvalidArgument``."""
    return await _of(vault, span, lambda found: conventions.inferred(found.notes))


async def violations(vault: Vault, span: Span, rules: dict[str, Any] | None) -> Portion[Violation]:
    """What does not fit: a schema given here; else the written ones, and for notes without one what notes do alike.
    Raises ``InvalidArgument``."""
    given = validating.prepared(read(rules, "rules"), "rules") if rules is not None else None
    found = await sheets(vault, span.folder)
    # A schema of a folder above counts as well.
    for above in _above(folder_of(span.folder)):
        found.written |= await _written_in(vault, above)

    def check(found: Sheets) -> list[Violation]:
        if given is not None:
            return [each for sheet in found.notes for each in validating.checked(sheet, given)]
        schemas, wrong = validating.schemas_of(found.written)
        found.warnings.extend(wrong)
        strict, without = validating.against_written(found.notes, schemas)
        return sorted([*strict, *validating.against_conventions(without)], key=lambda each: each.path)

    rows = await run_in(vault.shared.pool, check, found)
    return await _page(vault, found, rows, span)


def _above(folder: str) -> list[str]:
    parts = folder.split("/") if folder else []
    return ["/".join(parts[:end]) for end in range(len(parts))]


async def _written_in(vault: Vault, folder: str) -> dict[str, Any]:
    path = f"{folder}/{WRITTEN}" if folder else WRITTEN
    text = await vault.db.read(lambda tx: tx.value("SELECT frontmatter FROM notes WHERE path = ?", (path,)))
    return {} if text is None else {folder: json.loads(text)}


async def _of(vault: Vault, span: Span, look: Callable[[Sheets], list[T]]) -> Portion[T]:
    found = await sheets(vault, span.folder)
    return await _cut(vault, found, await run_in(vault.shared.pool, look, found), span.limit, span.max_tokens)


async def _cut(vault: Vault, found: Sheets, rows: Sequence[T], limit: int, max_tokens: int) -> Portion[T]:
    texts = [_as_json(row) for row in rows[:limit]]
    count = await token_budget.fitting(vault, texts, max_tokens) if texts else 0
    return Portion(list(rows[:count]), len(rows), len(found.notes), found.warnings)


async def _page(vault: Vault, found: Sheets, rows: Sequence[Violation], span: Span) -> Portion[Violation]:
    """Rows after the cursor's; those of one path are counted, so that what is put right above moves nothing."""
    places = _places(rows)
    start = 0
    if span.cursor is not None:
        last = cursors.read(span.cursor, "schema")
        start = next((number for number, place in enumerate(places) if place > last), len(rows))
    part = await _cut(vault, found, rows[start:], span.limit, span.max_tokens)
    after = start + len(part.rows)
    following = cursors.written("schema", *places[after - 1]) if len(part.rows) and after < len(rows) else None
    return Portion(part.rows, len(rows), part.notes, part.warnings, following)


def _places(rows: Sequence[Violation]) -> list[tuple[str, int]]:
    places: list[tuple[str, int]] = []
    for row in rows:
        same = places and places[-1][0] == row.path
        places.append((row.path, places[-1][1] + 1 if same else 0))
    return places


def _as_json(row: Any) -> str:
    value = {**asdict(row), "exceptions": row.exceptions[:5]} if isinstance(row, Convention) else asdict(row)
    return json.dumps(value, ensure_ascii=False)
