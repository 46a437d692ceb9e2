"""Transcripts of conversations with agents, brought in by a client that reads them where they lie."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from auth.roles import Role
from server.allowance import store_quota
from server.call import Call
from server.tool_spec import EDITS, LOOKS, Action, Arguments, tool
from server.tools.imports import MAX_LINES, PushedLines, RejectedLine
from vaults.activity_log.entries import ActivityEntry
from vaults.domain.documents import reading
from vaults.domain.documents.document_model import TRANSCRIPT
from vaults.domain.documents.reading import TranscriptTotals
from vaults.domain.import_export import import_runs
from vaults.domain.import_export.line_import import NumberedLine, import_lines
from vaults.domain.import_export.row_writer import count_outcomes
from vaults.domain.paging import token_budget
from vaults.domain.text.plurals import pluralize
from vaults.errors import InvalidArgument

SOURCE = "transcripts"
"""Name of the runs that pushed lines belong to: one a day, so that a day can be taken back."""

PUSHED_KINDS = ("document", "memory")

PUSHING = Action(Role.WRITER, summary="store transcripts of conversations")


class TranscriptsArguments(Arguments):
    action: Annotated[Literal["status", "list", "push"], Field(description="what to do")] = "status"
    limit: Annotated[int, Field(ge=1, le=100, description="list: transcripts at most")] = 20
    lines: Annotated[
        list[dict[str, Any]],
        Field(max_length=MAX_LINES, description="push: lines of kind document, or of memories made of them"),
    ] = []
    max_tokens: Annotated[int, Field(ge=50, le=100_000, description="tokens of the answer at most")] = 2_000


@dataclass(frozen=True, slots=True)
class TranscriptSummary:
    """One conversation; ``fetch`` opens it by its id."""

    id: str
    title: str
    turns: int
    created_at: str
    modified_at: str
    workspace: str
    author: str | None = None
    thread: str | None = None
    uri: str | None = None
    private: bool = False


@dataclass(frozen=True, slots=True)
class TranscriptsList:
    """The conversations that went on last, newest first."""

    transcripts: list[TranscriptSummary] = field(default_factory=list)


TranscriptsResult = Annotated[
    TranscriptTotals | TranscriptsList | PushedLines,
    "How many transcripts there are, the newest, or what became of lines.",
]


def _head(found: TranscriptTotals | TranscriptsList | PushedLines) -> str:
    match found:
        case TranscriptTotals():
            return f"{pluralize(found.total, 'transcript')}." if found.total else "No transcripts."
        case TranscriptsList():
            return f"{pluralize(len(found.transcripts), 'transcript')}." if found.transcripts else "No transcripts."
        case PushedLines():
            return f"{pluralize(found.done, 'line')} looked at, {len(found.rejected)} not taken."


def _activity_entry(_: TranscriptsArguments, found: object) -> ActivityEntry | None:
    if isinstance(found, PushedLines) and any(set(each) - {"known"} for each in found.counts.values()):
        return ActivityEntry("import", found.run, f"stored {pluralize(found.done, 'line')} of transcripts")
    return None


@tool(
    role=Role.WRITER,
    head=_head,
    effect=EDITS,
    preset="full",
    actions={"status": LOOKS, "list": LOOKS, "push": PUSHING},
    activity_entry=_activity_entry,
)
async def transcripts(call: Call, args: TranscriptsArguments) -> TranscriptsResult:
    """Transcripts of conversations with agents: how many there are, the newest, or store what a harvest read. Use it to
    see which conversations are kept; search with kinds transcript finds what was said in them."""
    match args.action:
        case "status":
            return await call.vault.db.read(lambda tx: reading.count_transcripts(tx, call.actor))
        case "list":
            return await _list(call, args)
        case "push":
            return await _push(call, args)


async def _list(call: Call, args: TranscriptsArguments) -> TranscriptsList:
    found = await call.vault.db.read(lambda tx: reading.list_documents(tx, call.actor, TRANSCRIPT, args.limit))
    rows = [
        TranscriptSummary(
            id=document.id,
            title=document.fields.title,
            turns=turns,
            created_at=document.fields.created_at,
            modified_at=document.fields.modified_at,
            workspace=document.fields.workspace,
            author=document.fields.author,
            thread=document.fields.thread,
            uri=document.fields.uri,
            private=document.fields.visibility == "private",
        )
        for document, turns in found
    ]
    return TranscriptsList(await token_budget.fit_rows(call.vault, rows, args.max_tokens))


async def _push(call: Call, args: TranscriptsArguments) -> PushedLines:
    for number, line in enumerate(args.lines):
        if line.get("kind", "memory") not in PUSHED_KINDS:
            raise InvalidArgument(f"lines.{number}.kind", f"must be one of {', '.join(PUSHED_KINDS)}")
    run = await call.vault.db.write(lambda tx: import_runs.begin_of_day(tx, call.actor, SOURCE))
    lines = [NumberedLine(number, fields) for number, fields in enumerate(args.lines, 1)]
    outcomes = await import_lines(call.vault, call.actor, run, lines, store_quota(call)) if lines else []
    call.vault.start_background_work()
    rejected = [
        RejectedLine(line.number, each.reason or "")
        for line, each in zip(lines, outcomes, strict=False)
        if each.outcome == "rejected"
    ]
    return PushedLines(run.id, len(outcomes), count_outcomes(outcomes), rejected)
