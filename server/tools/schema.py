"""Frontmatter and tags of the whole vault: what there is, what is usual, and changing it everywhere at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, Field

from auth.roles import Role
from server.call import Call
from server.tool_spec import EDITS, LOOKS, Action, Arguments, MaxTokens, tool
from server.tools._lines import ALREADY_SO, ONLY_SHOWN
from vaults.activity_log.entries import ActivityEntry
from vaults.domain.schema import renames, reports, value_migration
from vaults.domain.schema.bulk_edits import FrontmatterEditRequest, FrontmatterEditResult
from vaults.domain.schema.conventions import Convention
from vaults.domain.schema.overview import FieldUse, FolderOverview, TagCount
from vaults.domain.schema.renames import OnConflict
from vaults.domain.schema.reports import SchemaPage, SchemaQuery
from vaults.domain.schema.spellings import FieldValue
from vaults.domain.schema.value_migration import Migration, TargetType
from vaults.domain.schema.violations import Violation
from vaults.domain.text.fields import Label, Text, check_json_size
from vaults.domain.text.plurals import pluralize
from vaults.errors import InvalidArgument

SchemaAction = Literal[
    "overview", "field_values", "conventions", "folders", "rename_field", "rename_tag", "migrate", "validate"
]

WRITING = Action(Role.WRITER, "change frontmatter or tags in many notes")

MAX_EXCEPTIONS = 5
"""Notes named that do not keep to a convention."""

MAX_PATHS = 50
"""Notes named that a change touches."""


def _rules(value: dict[str, Any]) -> dict[str, Any]:
    return check_json_size(value, 32)


Scalar = str | int | float | bool


class SchemaArguments(Arguments):
    action: Annotated[SchemaAction, Field(description="what to do")] = "overview"
    folder: Annotated[Label | None, Field(description="only in it and below; default all notes")] = None
    field: Annotated[Label | None, Field(description="the frontmatter key")] = None
    tag: Annotated[Label | None, Field(description="rename_tag: the old one, without #")] = None
    to: Annotated[Label | None, Field(description="the new name of field or tag")] = None
    on_conflict: Annotated[OnConflict, Field(description="rename_field: notes that have the new key too")] = "refuse"
    mapping: Annotated[
        dict[Text, Scalar], Field(max_length=100, description="migrate: old value to new, also items of lists")
    ] = {}
    to_type: Annotated[TargetType | None, Field(description="migrate: make the values this")] = None
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
class ConventionRow:
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
class SchemaReport:
    """Of what only looks: rows of one kind, in an overview of two."""

    notes: int
    total: int
    truncated: bool = False
    cursor: str | None = None
    warnings: list[str] = field(default_factory=list)
    fields: list[FieldUse] | None = None
    tags: list[TagCount] | None = None
    folders: list[FolderOverview] | None = None
    values: list[FieldValue] | None = None
    conventions: list[ConventionRow] | None = None
    violations: list[Violation] | None = None


@dataclass(frozen=True, slots=True)
class SchemaEdit:
    """Of rename_field, rename_tag and migrate."""

    changed: int
    paths: list[str]
    counts: dict[str, int]
    conflicts: list[str] | None
    change: str | None
    diff: str | None
    truncated: bool
    warnings: list[str]


SchemaResult = Annotated[
    SchemaReport | SchemaEdit,
    """``notes`` were looked at; ``total`` rows there are. Of a change: ``paths`` of some of the ``changed`` notes, with
    ``counts`` of what was found, ``conflicts`` with the new key; ``change`` is what ``history`` undoes it by, ``diff``
    what a dry run would do.""",
    "notes fields tags folders values conventions violations changed paths counts conflicts change diff total truncated"
    " cursor warnings",
]
SchemaHandler: TypeAlias = Callable[[Call, SchemaArguments, SchemaQuery], Awaitable[SchemaResult]]


def _head(found: SchemaResult) -> str:
    if isinstance(found, SchemaReport):
        rows = found.violations or found.values or found.folders or found.conventions or found.fields or []
        shown = len(rows) + len(found.tags or ())
        return f"{pluralize(found.notes, 'note')} looked at. {shown} of {found.total} rows."
    if not found.changed:
        return ALREADY_SO
    several = pluralize(found.changed, "note")
    return f"{several} changed." if found.change else f"{several} would change. {ONLY_SHOWN}"


def _activity_entry(args: SchemaArguments, done: SchemaResult) -> ActivityEntry | None:
    if isinstance(done, SchemaReport) or not done.change:
        return None
    return ActivityEntry("note_changed", None, f"tidied {pluralize(done.changed, 'note')}: {args.action}")


@tool(
    role=Role.READER,
    head=_head,
    effect=EDITS,
    preset="notes",
    actions={
        "overview": LOOKS,
        "field_values": LOOKS,
        "conventions": LOOKS,
        "folders": LOOKS,
        "validate": LOOKS,
        "rename_field": WRITING,
        "rename_tag": WRITING,
        "migrate": WRITING,
    },
    activity_entry=_activity_entry,
)
async def schema(call: Call, args: SchemaArguments) -> SchemaResult:
    """Frontmatter fields and tags across all notes: use it before inventing a field or tag, and to tidy many notes
    at once. overview, field_values, conventions, folders and validate (against rules, a note `_schema.md`, or what
    is usual) look; rename_field, rename_tag and migrate (values, type) change every note as one change, which
    `history` undoes."""
    span = SchemaQuery(args.folder, args.limit, args.max_tokens, args.cursor)
    return await _HANDLERS[args.action](call, args, span)


async def _overview(call: Call, _: SchemaArguments, span: SchemaQuery) -> SchemaReport:
    named, tagged = await reports.report_fields(call.vault, span)
    return SchemaReport(
        notes=named.notes,
        fields=named.rows,
        tags=tagged.rows,
        total=named.total + tagged.total,
        truncated=named.truncated or tagged.truncated,
        warnings=named.warnings,
    )


async def _folders(call: Call, _: SchemaArguments, span: SchemaQuery) -> SchemaReport:
    found = await reports.report_folders(call.vault, span)
    return _page(found, "folders", [replace(row, folder=row.folder or "/") for row in found.rows])


async def _values(call: Call, args: SchemaArguments, span: SchemaQuery) -> SchemaReport:
    return _page(await reports.report_values(call.vault, span, _require(args.field, "field")), "values")


async def _validate(call: Call, args: SchemaArguments, span: SchemaQuery) -> SchemaReport:
    return _page(await reports.report_violations(call.vault, span, args.rules), "violations")


async def _conventions(call: Call, _: SchemaArguments, span: SchemaQuery) -> SchemaReport:
    found = await reports.report_conventions(call.vault, span)
    return _page(found, "conventions", [_habit_of(each) for each in found.rows])


def _habit_of(each: Convention) -> ConventionRow:
    return ConventionRow(
        of=each.of,
        name=each.name,
        rule=each.rule,
        share=each.share,
        notes=each.notes,
        field=each.field,
        value=each.value,
        choices=list(each.choices) or None,
        others=len(each.exceptions),
        exceptions=list(each.exceptions[:MAX_EXCEPTIONS]) or None,
    )


def _page(found: SchemaPage[Any], name: str, rows: list[Any] | None = None) -> SchemaReport:
    shown: dict[str, Any] = {name: found.rows if rows is None else rows}
    return SchemaReport(
        notes=found.notes,
        total=found.total,
        truncated=found.truncated,
        cursor=found.cursor,
        warnings=found.warnings,
        **shown,
    )


async def _rename_field(call: Call, args: SchemaArguments, _: SchemaQuery) -> SchemaEdit:
    names = _require(args.field, "field"), _require(args.to, "to")
    return _change_result(
        await renames.rename_field(call.vault, call.actor, names, args.on_conflict, _change_options(call, args))
    )


async def _rename_tag(call: Call, args: SchemaArguments, _: SchemaQuery) -> SchemaEdit:
    names = _require(args.tag, "tag"), _require(args.to, "to")
    return _change_result(await renames.rename_tag_in_vault(call.vault, call.actor, names, _change_options(call, args)))


async def _migrate(call: Call, args: SchemaArguments, _: SchemaQuery) -> SchemaEdit:
    wanted = Migration(_require(args.field, "field"), args.mapping, args.to_type, args.separator)
    return _change_result(
        await value_migration.migrate_values(call.vault, call.actor, wanted, _change_options(call, args))
    )


def _change_options(call: Call, args: SchemaArguments) -> FrontmatterEditRequest:
    return FrontmatterEditRequest(args.folder, args.dry_run, call.session.id, args.max_tokens)


def _change_result(done: FrontmatterEditResult) -> SchemaEdit:
    return SchemaEdit(
        changed=len(done.paths),
        paths=done.paths[:MAX_PATHS],
        counts=done.counts,
        conflicts=done.conflicts[:MAX_PATHS] or None,
        change=done.change,
        diff=done.diff,
        truncated=len(done.paths) > MAX_PATHS,
        warnings=done.warnings,
    )


def _require(value: str | None, name: str) -> str:
    if value is None:
        raise InvalidArgument(name, "is needed for this action")
    return value


_HANDLERS: dict[str, SchemaHandler] = {
    "overview": _overview,
    "folders": _folders,
    "field_values": _values,
    "conventions": _conventions,
    "validate": _validate,
    "rename_field": _rename_field,
    "rename_tag": _rename_tag,
    "migrate": _migrate,
}
