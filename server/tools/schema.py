"""Frontmatter and tags of the whole vault: what there is, what is usual, and changing it everywhere at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, Field

from auth.roles import Role
from server.call import Call
from server.tools._lines import ONLY_SHOWN, SO_ALREADY
from server.tools._spec import EDITS, Arguments, MaxTokens, tool
from vaults.activity_log.entries import Noted
from vaults.domain.memories.memory_model import Label, Text, bounded_json
from vaults.domain.schema import renames, reports, value_migration
from vaults.domain.schema.bulk_edits import Asked, Tidied
from vaults.domain.schema.conventions import Convention
from vaults.domain.schema.overview import Field as FieldUse
from vaults.domain.schema.overview import Folder, TagCount
from vaults.domain.schema.renames import OnConflict
from vaults.domain.schema.reports import Portion, Span
from vaults.domain.schema.spellings import Spelt
from vaults.domain.schema.value_migration import Migration, Target
from vaults.domain.schema.violations import Violation
from vaults.domain.text.plurals import many
from vaults.errors import InvalidArgument

Action = Literal[
    "overview", "field_values", "conventions", "folders", "rename_field", "rename_tag", "migrate", "validate"
]

ACTIONS: dict[str, Role] = {
    "overview": Role.READER,
    "field_values": Role.READER,
    "conventions": Role.READER,
    "folders": Role.READER,
    "validate": Role.READER,
    "rename_field": Role.WRITER,
    "rename_tag": Role.WRITER,
    "migrate": Role.WRITER,
}

EXCEPTIONS = 5
"""Notes named that do not keep to a convention."""

PATHS = 50
"""Notes named that a change touches."""


def _rules(value: dict[str, Any]) -> dict[str, Any]:
    return bounded_json(value, 32)


Scalar = str | int | float | bool


class SchemaArguments(Arguments):
    action: Annotated[Action, Field(description="what to do")] = "overview"
    folder: Annotated[Label | None, Field(description="only in it and below; default all notes")] = None
    field: Annotated[Label | None, Field(description="the frontmatter key")] = None
    tag: Annotated[Label | None, Field(description="rename_tag: the old one, without #")] = None
    to: Annotated[Label | None, Field(description="the new name of field or tag")] = None
    on_conflict: Annotated[OnConflict, Field(description="rename_field: notes that have the new key too")] = "refuse"
    mapping: Annotated[
        dict[Text, Scalar], Field(max_length=100, description="migrate: old value to new, also items of lists")
    ] = {}
    to_type: Annotated[Target | None, Field(description="migrate: make the values this")] = None
    separator: Annotated[
        Text | None, Field(min_length=1, max_length=10, description="between items, from or to a list")
    ] = None
    rules: Annotated[
        dict[str, Any] | None,
        AfterValidator(lambda value: value and _rules(value)),
        Field(description="validate: {fields: {name: {type, required, enum, pattern, min, max}}, tags, names}"),
    ] = None
    dry_run: Annotated[bool, Field(description="only show what would change")] = True
    limit: Annotated[int, Field(ge=1, le=500, description="rows at most")] = 50
    cursor: Annotated[str | None, Field(max_length=5_000, description="validate: from the page before")] = None
    max_tokens: MaxTokens = 4000


@dataclass(frozen=True, slots=True)
class Habit:
    """What ``share`` of ``notes`` in a folder, or of a type, do alike. ``rule``: required (they have ``field``), type
    (its ``value``), enum (its ``choices``), tag (carry ``field``), name (files are called so). ``exceptions``: some of
    ``others``, the notes that do otherwise."""

    of: Literal["folder", "type"]
    name: str
    rule: str
    share: float
    notes: int
    field: str | None = None
    value: str | None = None
    choices: list[str] | None = None
    others: int = 0
    exceptions: list[str] | None = None


@dataclass(frozen=True, slots=True)
class Schema:
    """``notes`` were looked at; ``total`` rows there are. Of a change: ``paths`` of some of the ``changed`` notes, with
    ``counts`` of what was found, ``conflicts`` with the new key; ``change`` is what ``history`` undoes it by, ``diff``
    what a dry run would do."""

    notes: int | None = None
    fields: list[FieldUse] | None = None
    tags: list[TagCount] | None = None
    folders: list[Folder] | None = None
    values: list[Spelt] | None = None
    conventions: list[Habit] | None = None
    violations: list[Violation] | None = None
    changed: int | None = None
    paths: list[str] | None = None
    counts: dict[str, int] | None = None
    conflicts: list[str] | None = None
    change: str | None = None
    diff: str | None = None
    total: int | None = None
    truncated: bool = False
    cursor: str | None = None
    warnings: list[str] = field(default_factory=list)


Answer: TypeAlias = Callable[[Call, SchemaArguments, Span], Awaitable[Schema]]


def _head(found: Schema) -> str:
    if found.changed is None:
        rows = found.violations or found.values or found.folders or found.conventions or found.fields or []
        shown = f" {len(rows) + len(found.tags or ())} of {found.total} rows." if found.total is not None else ""
        return f"{many(found.notes or 0, 'note')} looked at.{shown}"
    if not found.changed:
        return SO_ALREADY
    return (
        f"{many(found.changed, 'note')} changed."
        if found.change
        else (f"{many(found.changed, 'note')} would change. {ONLY_SHOWN}")
    )


@tool(
    role=Role.READER,
    head=_head,
    effect=EDITS,
    preset="notes",
    actions=ACTIONS,
    deed="change frontmatter or tags in many notes",
    noted=lambda args, found: (
        Noted("note_changed", None, f"tidied {many(found.changed or 0, 'note')}: {args.action}")
        if found.change
        else None
    ),
)
async def schema(call: Call, args: SchemaArguments) -> Schema:
    """Frontmatter fields and tags across all notes: use it before inventing a field or tag, and to tidy many notes
    at once. overview, field_values, conventions, folders and validate (against rules, a note `_schema.md`, or what
    is usual) look; rename_field, rename_tag and migrate (values, type) change every note as one change, which
    `history` undoes."""
    span = Span(args.folder, args.limit, args.max_tokens, args.cursor)
    return await _ANSWERS[args.action](call, args, span)


async def _overview(call: Call, _: SchemaArguments, span: Span) -> Schema:
    named, tagged = await reports.fields(call.vault, span)
    return Schema(
        notes=named.notes,
        fields=named.rows,
        tags=tagged.rows,
        total=named.total + tagged.total,
        truncated=named.truncated or tagged.truncated,
        warnings=named.warnings,
    )


async def _folders(call: Call, _: SchemaArguments, span: Span) -> Schema:
    found = await reports.folders(call.vault, span)
    return _page(found, "folders", [replace(row, folder=row.folder or "/") for row in found.rows])


async def _values(call: Call, args: SchemaArguments, span: Span) -> Schema:
    return _page(await reports.values(call.vault, span, _needed(args.field, "field")), "values")


async def _validate(call: Call, args: SchemaArguments, span: Span) -> Schema:
    return _page(await reports.violations(call.vault, span, args.rules), "violations")


async def _conventions(call: Call, _: SchemaArguments, span: Span) -> Schema:
    found = await reports.inferred(call.vault, span)
    return _page(found, "conventions", [_habit_of(each) for each in found.rows])


def _habit_of(each: Convention) -> Habit:
    return Habit(
        of=each.of,
        name=each.name,
        rule=each.rule,
        share=each.share,
        notes=each.notes,
        field=each.field,
        value=each.value,
        choices=list(each.choices) or None,
        others=len(each.exceptions),
        exceptions=list(each.exceptions[:EXCEPTIONS]) or None,
    )


def _page(found: Portion[Any], name: str, rows: list[Any] | None = None) -> Schema:
    shown: dict[str, Any] = {name: found.rows if rows is None else rows}
    return Schema(
        notes=found.notes,
        total=found.total,
        truncated=found.truncated,
        cursor=found.cursor,
        warnings=found.warnings,
        **shown,
    )


async def _rename_field(call: Call, args: SchemaArguments, _: Span) -> Schema:
    names = _needed(args.field, "field"), _needed(args.to, "to")
    return _tidied(await renames.rename_field(call.vault, call.actor, names, args.on_conflict, _asked(call, args)))


async def _rename_tag(call: Call, args: SchemaArguments, _: Span) -> Schema:
    names = _needed(args.tag, "tag"), _needed(args.to, "to")
    return _tidied(await renames.rename_tag(call.vault, call.actor, names, _asked(call, args)))


async def _migrate(call: Call, args: SchemaArguments, _: Span) -> Schema:
    wanted = Migration(_needed(args.field, "field"), args.mapping, args.to_type, args.separator)
    return _tidied(await value_migration.migrate(call.vault, call.actor, wanted, _asked(call, args)))


def _asked(call: Call, args: SchemaArguments) -> Asked:
    return Asked(args.folder, args.dry_run, call.session.id, args.max_tokens)


def _tidied(done: Tidied) -> Schema:
    return Schema(
        changed=len(done.paths),
        paths=done.paths[:PATHS],
        counts=done.counts,
        conflicts=done.conflicts[:PATHS] or None,
        change=done.change,
        diff=done.diff,
        truncated=len(done.paths) > PATHS,
        warnings=done.warnings,
    )


def _needed(value: str | None, name: str) -> str:
    if value is None:
        raise InvalidArgument(name, "is needed for this action")
    return value


_ANSWERS: dict[str, Answer] = {
    "overview": _overview,
    "folders": _folders,
    "field_values": _values,
    "conventions": _conventions,
    "validate": _validate,
    "rename_field": _rename_field,
    "rename_tag": _rename_tag,
    "migrate": _migrate,
}
