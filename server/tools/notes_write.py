"""Writing notes: whole ones, sections, properties, tasks."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from auth.roles import Role
from server.allowance import store_quota
from server.call import Call
from server.tool_spec import EDITS, LOOKS, Action, Arguments, MaxTokens, tool
from server.tools._lines import describe_change
from server.tools._notes import DryRun, Etag, note_change_entry, warn_of_secrets
from vaults.domain.notes.edit import frontmatter_edits, section_edits, task_changes, whole_notes
from vaults.domain.notes.edit.amendments import EditOptions
from vaults.domain.notes.edit.edit_results import EditResult
from vaults.domain.notes.read import task_listing
from vaults.domain.notes.read.task_listing import TaskPage
from vaults.domain.text.fields import Text
from vaults.errors import InvalidArgument
from vaults.markdown.edit.draft import ContentFormat, EditAction, Guardrails, TextEdit

MAX_ARGUMENT = 20_000_000
"""Characters of an argument: beyond any note, whose own limit is ``notes.max_note``."""

Path = Annotated[Text, Field(min_length=1, max_length=1100, description="such as projects/plan.md; @daily, @memory")]


def _check_day(day: str) -> str:
    try:
        return date.fromisoformat(day).isoformat()
    except ValueError:
        raise ValueError("must be a day of the calendar, YYYY-MM-DD") from None


Day = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", max_length=10), AfterValidator(_check_day)]


class NoteChangeArguments(Arguments):
    path: Path
    etag: Etag = None
    dry_run: DryRun = False
    keep_conflict: Annotated[bool, Field(description="if stale, keep your text beside it")] = False


class NoteTextArguments(NoteChangeArguments):
    commit: Annotated[bool, Field(description="wait for the Git commit")] = False
    auto_link: Annotated[bool | None, Field(description="link known names; default: as set")] = None
    suggest_links: Annotated[bool, Field(description="end it with suggested links: → [[A]], [[B]]")] = False


def _terms(call: Call, args: NoteChangeArguments, name: str) -> EditOptions:
    wait = isinstance(args, NoteTextArguments) and args.commit
    session = call.session.id
    return EditOptions(
        tool=name, etag=args.etag, dry_run=args.dry_run, keep_conflict=args.keep_conflict, wait=wait, session=session
    )


Properties = Annotated[dict[str, Any], Field(max_length=100)]


class NoteWriteArguments(NoteTextArguments):
    content: Annotated[Text | None, Field(max_length=MAX_ARGUMENT, description="Markdown")] = None
    frontmatter: Annotated[Properties, Field(description="properties to set")] = {}
    mode: Annotated[whole_notes.WriteMode, Field(description="overwrite replaces the whole note")] = "create"
    template: Annotated[Text | None, Field(max_length=1100, description="template note to begin with")] = None


def _head(changed: EditResult) -> str:
    return describe_change(changed) + (" No link to suggest." if changed.suggestions == [] else "")


_HIDDEN_ARGS = ("keep_conflict", "commit", "auto_link", "suggest_links")


@tool(
    role=Role.WRITER,
    effect=EDITS,
    head=_head,
    summary="write a note",
    hidden_args=(*_HIDDEN_ARGS, "template"),
    activity_entry=note_change_entry("wrote"),
)
async def note_write(call: Call, args: NoteWriteArguments) -> EditResult:
    """Make a new note, or overwrite a whole one. To change a part, use note_edit. Names notes about the same, to add
    to one of them instead."""
    await store_quota(call).check_size()
    asked = whole_notes.WriteRequest(
        path=args.path,
        content=args.content,
        frontmatter=args.frontmatter,
        mode=args.mode,
        template=args.template,
        auto_link=args.auto_link,
        suggest_links=args.suggest_links,
    )
    changed = await whole_notes.write_note(call.vault, call.actor, asked, _terms(call, args, "note_write"))
    told = await warn_of_secrets(call, {"content": args.content, "frontmatter": args.frontmatter})
    changed.warnings.extend(told)
    return changed


class NoteEditArguments(NoteTextArguments):
    action: Annotated[EditAction, Field(description="what to do")] = "add"
    section: Annotated[
        Text | None,
        Field(max_length=1000, description="heading: Plan, ## Plan, Parent > Plan"),
    ] = None
    content: Annotated[Text | None, Field(max_length=MAX_ARGUMENT, description="Markdown")] = None
    position: Annotated[Literal["append", "prepend"], Field(description="where in the section")] = "append"
    format: Annotated[ContentFormat | None, Field(description="make content list items")] = None
    search: Annotated[Text | None, Field(max_length=100_000, description="exact text")] = None
    pattern: Annotated[Text | None, Field(max_length=1000, description="RE2 in place of search")] = None
    replacement: Annotated[Text | None, Field(max_length=MAX_ARGUMENT, description="new text; \\1: a group")] = None
    occurrence: Annotated[Literal["first", "last", "all"], Field(description="which match")] = "first"
    guardrails: Annotated[
        Literal["warn", "strict", "off"] | None, Field(description="odd content: repair, refuse, take")
    ] = None
    preserve_nesting: Annotated[bool, Field(description="as deep as the last item")] = True
    create_section: Annotated[bool, Field(description="make the section if missing")] = False


def to_edit(args: NoteEditArguments, guardrails: Guardrails) -> TextEdit:
    """The edit that is asked for. ``guardrails``: where the call does not say."""
    return TextEdit(
        action=args.action,
        section=args.section,
        content=args.content,
        position=args.position,
        search=args.search,
        pattern=args.pattern,
        replacement=args.replacement,
        occurrence=args.occurrence,
        guardrails=args.guardrails or guardrails,
        preserve_nesting=args.preserve_nesting,
        create_section=args.create_section,
    )


@tool(
    role=Role.WRITER,
    effect=EDITS,
    head=_head,
    summary="change a part of a note",
    hidden_args=(*_HIDDEN_ARGS, "guardrails", "preserve_nesting"),
    activity_entry=note_change_entry("edited"),
)
async def note_edit(call: Call, args: NoteEditArguments) -> EditResult:
    """Change a part of a note and no other byte. Use it instead of note_write: path, section and content append to that
    section; to @daily or @memory, content alone is logged under the present time. Without search or pattern, replace
    puts content in place of the section's own text, remove takes the whole section."""
    if args.action == "add":
        await store_quota(call).check_size()
    edit = to_edit(args, call.vault.notes.settings.guardrails)
    asked = section_edits.EditRequest(args.path, edit, args.format, args.auto_link, args.suggest_links)
    changed = await section_edits.edit(call.vault, call.actor, asked, _terms(call, args, "note_edit"))
    told = await warn_of_secrets(call, {"content": args.content, "replacement": args.replacement})
    changed.warnings.extend(told)
    return changed


class FrontmatterUpdateArguments(NoteChangeArguments):
    set: Annotated[Properties, Field(description="properties and their new values")] = {}
    unset: Annotated[list[Text], Field(max_length=100, description="properties to remove")] = []
    only_if_missing: Annotated[bool, Field(description="leave properties that are there")] = False


@tool(
    role=Role.WRITER,
    preset="notes",
    head=_head,
    summary="change properties of a note",
    activity_entry=note_change_entry("set properties of"),
)
async def frontmatter_update(call: Call, args: FrontmatterUpdateArguments) -> EditResult:
    """Set and remove properties of a note's frontmatter: use it instead of writing the note anew. Comments, order,
    quotes and every other line stay as they are; a note without frontmatter gets one."""
    asked = frontmatter_edits.FrontmatterRequest(args.path, args.set, args.unset, args.only_if_missing)
    changed = await frontmatter_edits.update_frontmatter(
        call.vault, call.actor, asked, _terms(call, args, "frontmatter_update")
    )
    changed.warnings.extend(await warn_of_secrets(call, {"set": args.set}))
    return changed


class TasksArguments(Arguments):
    action: Annotated[Literal["list", "add", "toggle"], Field(description="what to do")] = "list"
    path: Annotated[
        Text | None, Field(min_length=1, max_length=1100, description="the note; a list may go without")
    ] = None
    folder: Annotated[Text | None, Field(max_length=1024, description="list: notes in it and below")] = None
    status: Annotated[
        Text | None,
        Field(
            min_length=1,
            max_length=20,
            description="open, done, cancelled, in_progress or the character in the box; list: also all, default open",
        ),
    ] = None
    tag: Annotated[Text | None, Field(min_length=1, max_length=200, description="list: tasks with it")] = None
    text: Annotated[
        Text | None,
        Field(
            min_length=1, max_length=4000, description="list: part of the task; add: the task; toggle: the task meant"
        ),
    ] = None
    line: Annotated[int | None, Field(ge=1, le=2**31, description="toggle: line of the task")] = None
    section: Annotated[Text | None, Field(max_length=1000, description="add: heading it goes under")] = None
    due: Annotated[Day | None, Field(description="add: the day, YYYY-MM-DD")] = None
    due_after: Annotated[Day | None, Field(description="list: due from this day on")] = None
    due_before: Annotated[Day | None, Field(description="list: due before this day")] = None
    sort_by: Annotated[task_listing.TaskSort, Field(description="list: order")] = "path"
    limit: Annotated[int, Field(ge=1, le=500, description="list: tasks per page")] = 50
    cursor: Annotated[str | None, Field(max_length=500, description="list: from the page before")] = None
    max_tokens: MaxTokens = 4000
    etag: Etag = None
    dry_run: DryRun = False


TasksResult = Annotated[
    TaskPage | EditResult,
    """A page of tasks; or what became of a note, as of the other tools that change notes.""",
    "tasks total truncated cursor path etag changed change region first_line last_line diff linked warnings",
]

CHANGING_TASKS = Action(Role.WRITER, "change tasks of a note")


def _tasks_head(found: TasksResult) -> str:
    return f"{len(found.tasks)} of {found.total} tasks." if isinstance(found, TaskPage) else describe_change(found)


@tool(
    role=Role.WRITER,
    effect=EDITS,
    preset="notes",
    actions={"list": LOOKS, "add": CHANGING_TASKS, "toggle": CHANGING_TASKS},
    head=_tasks_head,
    activity_entry=note_change_entry("changed a task of"),
)
async def tasks(call: Call, args: TasksArguments) -> TasksResult:
    """List tasks of a note, a folder or all notes; add one to a note; set the status of one when it is done, found by
    its line, its text or both."""
    if args.action == "list":
        return await _list(call, args)
    if args.path is None:
        raise InvalidArgument("path", "is needed: the note of the task")
    terms = EditOptions("tasks", args.etag, args.dry_run, session=call.session.id)
    if args.action == "add":
        new = task_changes.NewTask(args.path, args.text or "", args.section, args.due, args.status or "open")
        changed = await task_changes.add_task(call.vault, call.actor, new, terms)
        changed.warnings.extend(await warn_of_secrets(call, {"text": args.text}))
    else:
        meant = task_changes.ToggleRequest(args.path, args.line, args.text, args.status)
        changed = await task_changes.toggle_task(call.vault, call.actor, meant, terms)
    return changed


async def _list(call: Call, args: TasksArguments) -> TaskPage:
    wanted = task_listing.TaskFilter(
        path=args.path,
        folder=args.folder,
        status=args.status or "open",
        tag=args.tag,
        contains=args.text,
        due_after=args.due_after,
        due_before=args.due_before,
        sort_by=args.sort_by,
    )
    return await task_listing.list_tasks(call.vault, wanted, args.limit, args.max_tokens, args.cursor)
