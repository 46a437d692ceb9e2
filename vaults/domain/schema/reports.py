"""Reports on a vault's schema and its violations, page by page."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Generic, TypeVar

from vaults.context import run_in
from vaults.domain.notes.read.note_listing import parse_folder
from vaults.domain.paging import cursors, token_budget
from vaults.domain.schema import conventions, overview, spellings, violations
from vaults.domain.schema.conventions import Convention
from vaults.domain.schema.note_properties import SCHEMA_NOTE, VaultProperties, read_note_properties
from vaults.domain.schema.overview import FieldUse, FolderOverview, TagCount
from vaults.domain.schema.schema_notes import parse_schema
from vaults.domain.schema.spellings import FieldValue
from vaults.domain.schema.violations import Violation
from vaults.vault import Vault

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SchemaQuery:
    """Which notes to report on, and how much of the answer to return."""

    folder: str | None = None
    limit: int = 50
    max_tokens: int = 4000
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class SchemaPage(Generic[T]):
    """The first rows of ``total``, from ``notes`` examined notes. ``cursor`` asks for what follows."""

    rows: list[T]
    total: int
    notes: int
    warnings: list[str] = field(default_factory=list)
    cursor: str | None = None

    @property
    def truncated(self) -> bool:
        return self.cursor is not None or len(self.rows) < self.total


async def report_fields(vault: Vault, query: SchemaQuery) -> tuple[SchemaPage[FieldUse], SchemaPage[TagCount]]:
    """Report fields and tags; fields get three quarters of the tokens. Raises ``InvalidArgument``."""
    found = await read_note_properties(vault, query.folder)
    named = await run_in(vault.shared.pool, overview.summarize_fields, found.notes)
    tagged = await run_in(vault.shared.pool, overview.count_tags, found.notes)
    part = query.max_tokens // 4
    return (
        await _cut_to_tokens(vault, found, named, query.limit, query.max_tokens - part),
        await _cut_to_tokens(vault, found, tagged, query.limit, part),
    )


async def report_folders(vault: Vault, query: SchemaQuery) -> SchemaPage[FolderOverview]:
    """Report folders. Raises ``InvalidArgument``."""
    return await _report(vault, query, lambda found: overview.summarize_folders(found.notes))


async def report_values(vault: Vault, query: SchemaQuery, name: str) -> SchemaPage[FieldValue]:
    """Report the values of a field; if no note has it, a warning suggests a similar one. Raises
    ``InvalidArgument``."""
    found = await read_note_properties(vault, query.folder)
    rows = await run_in(vault.shared.pool, spellings.list_field_values, found.notes, name)
    if not rows:
        known = list(dict.fromkeys(each for note in found.notes for each in note.values))
        meant = spellings.suggest_value(name, known)
        hint = f"did you mean {meant!r}?" if meant else "overview lists the fields"
        found.warnings.append(f"no note has the field {name!r}: {hint}")
    return await _cut_to_tokens(vault, found, rows, query.limit, query.max_tokens)


async def report_conventions(vault: Vault, query: SchemaQuery) -> SchemaPage[Convention]:
    """Report conventions. Raises ``InvalidArgument``."""
    return await _report(vault, query, lambda found: conventions.infer_conventions(found.notes))


async def report_violations(vault: Vault, query: SchemaQuery, rules: dict[str, Any] | None) -> SchemaPage[Violation]:
    """Report violations of the given schema; without one, of the written schemas, and for notes without any, of
    inferred conventions. Raises ``InvalidArgument``."""
    given = violations.prepare_check(parse_schema(rules, "rules"), "rules") if rules is not None else None
    found = await read_note_properties(vault, query.folder)
    # Schemas of folders above apply as well.
    for above in _parent_folders(parse_folder(query.folder)):
        found.written |= await _read_schema_note(vault, above)

    def check(found: VaultProperties) -> list[Violation]:
        if given is not None:
            return [each for note in found.notes for each in violations.find_violations(note, given)]
        schemas, wrong = violations.parse_schemas(found.written)
        found.warnings.extend(wrong)
        strict, without = violations.check_written(found.notes, schemas)
        return sorted([*strict, *violations.check_conventions(without)], key=lambda each: each.path)

    rows = await run_in(vault.shared.pool, check, found)
    return await _page_after_cursor(vault, found, rows, query)


def _parent_folders(folder: str) -> list[str]:
    parts = folder.split("/") if folder else []
    return ["/".join(parts[:end]) for end in range(len(parts))]


async def _read_schema_note(vault: Vault, folder: str) -> dict[str, Any]:
    path = f"{folder}/{SCHEMA_NOTE}" if folder else SCHEMA_NOTE
    text = await vault.db.read(lambda tx: tx.value("SELECT frontmatter FROM notes WHERE path = :path", {"path": path}))
    return {} if text is None else {folder: json.loads(text)}


async def _report(vault: Vault, query: SchemaQuery, look: Callable[[VaultProperties], list[T]]) -> SchemaPage[T]:
    found = await read_note_properties(vault, query.folder)
    return await _cut_to_tokens(
        vault, found, await run_in(vault.shared.pool, look, found), query.limit, query.max_tokens
    )


async def _cut_to_tokens(
    vault: Vault, found: VaultProperties, rows: Sequence[T], limit: int, max_tokens: int
) -> SchemaPage[T]:
    texts = [_as_json(row) for row in rows[:limit]]
    count = await token_budget.count_fitting(vault, texts, max_tokens) if texts else 0
    return SchemaPage(list(rows[:count]), len(rows), len(found.notes), found.warnings)


async def _page_after_cursor(
    vault: Vault, found: VaultProperties, rows: Sequence[Violation], query: SchemaQuery
) -> SchemaPage[Violation]:
    """Rows after the cursor. Positions count within a path, so that fixing earlier notes does not shift later pages."""
    places = _cursor_places(rows)
    start = 0
    if query.cursor is not None:
        last = cursors.decode(query.cursor, "schema")
        start = next((number for number, place in enumerate(places) if place > last), len(rows))
    part = await _cut_to_tokens(vault, found, rows[start:], query.limit, query.max_tokens)
    after = start + len(part.rows)
    following = cursors.encode("schema", *places[after - 1]) if len(part.rows) and after < len(rows) else None
    return SchemaPage(part.rows, len(rows), part.notes, part.warnings, following)


def _cursor_places(rows: Sequence[Violation]) -> list[tuple[str, int]]:
    places: list[tuple[str, int]] = []
    for row in rows:
        same = places and places[-1][0] == row.path
        places.append((row.path, places[-1][1] + 1 if same else 0))
    return places


def _as_json(row: Any) -> str:
    value = {**asdict(row), "exceptions": row.exceptions[:5]} if isinstance(row, Convention) else asdict(row)
    return json.dumps(value, ensure_ascii=False)
