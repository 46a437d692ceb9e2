"""Notes as files: giving them another place, removing them, and taking back what was done to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from auth.roles import Role
from server.call import Call
from server.tool_spec import EDITS, LOOKS, REMOVES, UNNAMED, Action, Arguments, tool
from server.tools._lines import ONLY_SHOWN, describe_change, describe_followed_links
from server.tools._notes import DryRun, Etag, note_change_entry
from vaults.domain.notes.edit import deletions, moves, reversals
from vaults.domain.notes.edit.edit_results import EditResult
from vaults.domain.notes.read import change_history
from vaults.domain.notes.read.change_history import ChangeDiff, HistoryPage
from vaults.domain.notes.read.dated_notes import resolve_path
from vaults.domain.paging import token_budget
from vaults.domain.text.fields import Text
from vaults.domain.text.plurals import pluralize

Path = Annotated[Text, Field(min_length=1, max_length=1024, description="the note")]


class NoteMoveArguments(Arguments):
    path: Path
    to: Annotated[Text, Field(min_length=1, max_length=1024, description="new path, or a folder ending in /")]
    update_backlinks: Annotated[bool, Field(description="spell links to it anew in every note")] = True
    dry_run: DryRun = False
    etag: Etag = None


def _moved_head(done: EditResult) -> str:
    """What became of the note and of the links to it."""
    return ("Moved." if done.changed else describe_change(done)) + describe_followed_links(done)


@tool(
    role=Role.WRITER,
    effect=EDITS,
    preset="notes",
    head=_moved_head,
    summary="move a note and the links to it",
    activity_entry=note_change_entry("moved a note to"),
)
async def note_move(call: Call, args: NoteMoveArguments) -> EditResult:
    """Move or rename a note, and every link to it in the vault with it: use it instead of writing the note anew.
    Headings, block ids and aliases of links stay, and so do links by title. One change, which `history` undoes as a
    whole. Nothing is overwritten."""
    asked = moves.MoveRequest(
        path=args.path,
        to=args.to,
        update_backlinks=args.update_backlinks,
        dry_run=args.dry_run,
        etag=args.etag,
        session=call.session.id,
    )
    return await moves.move(call.vault, call.actor, asked)


class NoteDeleteArguments(Arguments):
    path: Path
    confirmed: Annotated[bool, Field(description="true once a person agreed")] = False
    dry_run: DryRun = False
    etag: Etag = None


def _deleted_head(done: EditResult) -> str:
    return "Deleted." if done.changed else ONLY_SHOWN


@tool(
    role=Role.WRITER,
    effect=REMOVES,
    preset="notes",
    head=_deleted_head,
    actions={UNNAMED: Action(Role.WRITER, "delete a note", destroys=True)},
    activity_entry=note_change_entry("deleted"),
)
async def note_delete(call: Call, args: NoteDeleteArguments) -> EditResult:
    """Delete a note. Use it only when a person wants it gone. Says which links pointed to it; `history` with action
    undo brings it back."""
    asked = deletions.DeleteRequest(args.path, args.confirmed, args.dry_run, args.etag, call.session.id)
    return await deletions.delete(call.vault, call.actor, asked)


HistoryResult = Annotated[
    HistoryPage | ChangeDiff | EditResult,
    """Of log: ``changes``, newest first, and a ``cursor`` if there are more. Of diff: ``ref`` and ``diff``. Of undo and
    restore: what every change of a note answers.""",
    "changes cursor ref diff truncated path etag changed change others warnings",
]

REVERTING = Action(Role.WRITER, "write notes as they were before")


class NoteHistoryArguments(Arguments):
    action: Annotated[Literal["log", "diff", "undo", "restore"], Field(description="what to do")] = "log"
    path: Annotated[Text | None, Field(min_length=1, max_length=1024, description="a note; default all")] = None
    ref: Annotated[
        str | None, Field(min_length=7, max_length=64, description="a change's id, or a commit; default the last")
    ] = None
    version: Annotated[Literal["before", "after"], Field(description="restore: which side of ref")] = "after"
    limit: Annotated[int, Field(ge=1, le=200, description="log: changes at most")] = 20
    before: Annotated[str | None, Field(min_length=7, max_length=64, description="log: cursor of the last page")] = None
    max_tokens: Annotated[int, Field(ge=50, le=50_000, description="tokens at most")] = 2000
    dry_run: DryRun = False
    etag: Etag = None


def _history_head(found: HistoryResult) -> str:
    match found:
        case HistoryPage():
            return f"{pluralize(len(found.changes), 'change')}, newest first."
        case ChangeDiff():
            return "" if found.diff else "No change to show."
        case EditResult():
            return describe_change(found)


@tool(
    role=Role.READER,
    effect=EDITS,
    preset="notes",
    head=_history_head,
    actions={"log": LOOKS, "diff": LOOKS, "undo": REVERTING, "restore": REVERTING},
    activity_entry=note_change_entry("took back a change of"),
)
async def history(call: Call, args: NoteHistoryArguments) -> HistoryResult:
    """What was done to notes, and taking it back: use it when a note is not as you left it. log lists changes, diff
    shows one (default: the last), undo takes one back in all its notes (default: your own last; undo an undo to redo),
    restore writes a note as it was around ref, deleted ones too."""
    path = await resolve_path(call.vault, args.path) if args.path is not None else None
    if args.action == "log":
        listed = await change_history.list_history(call.vault, path, args.limit, args.before)
        shown = await token_budget.fit_rows(call.vault, listed.changes, args.max_tokens)
        if len(shown) == len(listed.changes):
            return listed
        return replace(listed, changes=shown, cursor=shown[-1].id, truncated=True)
    if args.action == "diff":
        return await change_history.diff_change(call.vault, args.ref, path, args.max_tokens)
    governs = call.role >= Role.ADMIN
    asked = reversals.UndoRequest(
        ref=args.ref,
        path=path,
        version=args.version,
        dry_run=args.dry_run,
        etag=args.etag,
        session=call.session.id,
        governs=governs,
    )
    act = reversals.undo if args.action == "undo" else reversals.restore
    return await act(call.vault, call.actor, asked)
