"""Transcripts of conversations with agents, brought in by a client that reads them where they lie."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from auth.roles import Role
from server.allowance import store_quota
from server.call import Call
from server.tool_spec import EDITS, LOOKS, Action, Arguments, tool
from server.tools.imports import MAX_LINES, PushedLines, to_pushed_lines
from vaults.activity_log.entries import ActivityEntry
from vaults.domain.documents import reading
from vaults.domain.documents.document_model import TRANSCRIPT
from vaults.domain.documents.reading import TranscriptTotals
from vaults.domain.import_export.line_import import NumberedLine
from vaults.domain.import_export.line_rights import WRITER_RIGHTS
from vaults.domain.import_export.vault_import import push_of_day
from vaults.domain.paging import token_budget
from vaults.domain.text.plurals import pluralize
from vaults.errors import InvalidArgument, NotFound

PUSHED_KINDS = ("document", "memory")

HARVEST_S = 20.0
"""Seconds of a pass that somebody waits for."""

HARVESTING = Action(Role.WRITER, summary="read this machine's conversations with agents")
PUSHING = Action(Role.WRITER, summary="store transcripts of conversations")


class TranscriptsArguments(Arguments):
    action: Annotated[Literal["status", "list", "push", "harvest"], Field(description="what to do")] = "status"
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


@dataclass(frozen=True, slots=True)
class HarvestedNow:
    """What a pass found: files looked at, turns that are new, lines stored or changed. ``more``: call again."""

    files: int
    new_turns: int
    documents: int
    memories: int
    unreadable: int = 0
    refused: list[str] = field(default_factory=list)
    more: bool = False


TranscriptsResult = Annotated[
    TranscriptTotals | TranscriptsList | PushedLines | HarvestedNow,
    "How many transcripts there are, the newest, what became of lines, or what a harvest found.",
]


def _head(found: TranscriptTotals | TranscriptsList | PushedLines | HarvestedNow) -> str:
    match found:
        case TranscriptTotals():
            return f"{pluralize(found.total, 'transcript')}." if found.total else "No transcripts."
        case TranscriptsList():
            return f"{pluralize(len(found.transcripts), 'transcript')}." if found.transcripts else "No transcripts."
        case PushedLines():
            return f"{pluralize(found.done, 'line')} looked at, {len(found.rejected)} not taken."
        case HarvestedNow():
            return (
                f"{pluralize(found.new_turns, 'new turn')} in {pluralize(found.files, 'transcript')};"
                f" {pluralize(found.memories, 'memory', 'memories')} stored or changed."
                + (" There is more: call again." if found.more else "")
            )


def _activity_entry(_: TranscriptsArguments, found: object) -> ActivityEntry | None:
    if isinstance(found, PushedLines) and any(set(each) - {"known"} for each in found.counts.values()):
        return ActivityEntry("import", found.run, f"stored {pluralize(found.done, 'line')} of transcripts")
    if isinstance(found, HarvestedNow) and found.new_turns:
        return ActivityEntry("import", None, f"harvested {pluralize(found.new_turns, 'turn')} of transcripts")
    return None


@tool(
    role=Role.WRITER,
    head=_head,
    effect=EDITS,
    preset="full",
    actions={"status": LOOKS, "list": LOOKS, "push": PUSHING, "harvest": HARVESTING},
    activity_entry=_activity_entry,
)
async def transcripts(call: Call, args: TranscriptsArguments) -> TranscriptsResult:
    """Transcripts of conversations with agents: how many there are, the newest, store what a harvest read, or harvest
    this machine now. Use it to see which conversations are kept; search with kinds transcript finds what was said."""
    match args.action:
        case "status":
            return await call.vault.db.read(lambda tx: reading.count_transcripts(tx, call.actor))
        case "list":
            return await _list(call, args)
        case "push":
            return await _push(call, args)
        case "harvest":
            return await _harvest(call)


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
    lines = [NumberedLine(number, fields) for number, fields in enumerate(args.lines, 1)]
    run, outcomes = await push_of_day(call.vault, call.actor, lines, store_quota(call), WRITER_RIGHTS)
    return to_pushed_lines(run, lines, outcomes)


async def _harvest(call: Call) -> HarvestedNow:
    home = call.services.home
    if home is None or call.caller.transport == "http":
        raise NotFound(
            "there are no conversations to read where this server runs: it serves several, on a machine of its own",
            hint="where the conversations lie, run: strongroom harvest --url URL --token-file FILE",
        )
    from server.harvests import harvest_for  # with all readers of conversations: a sixth of the start of a server

    found = await harvest_for(call, home, HARVEST_S)
    return HarvestedNow(
        files=found.seen.files,
        new_turns=found.seen.turns,
        documents=found.count("document"),
        memories=found.count("memory"),
        unreadable=len(found.seen.failed),
        refused=found.rejected,
        more=found.more,
    )
