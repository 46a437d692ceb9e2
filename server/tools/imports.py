"""Records of other systems, brought in by a client that reads them where they lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from auth.roles import Role
from server.allowance import store_quota
from server.call import Call
from server.tool_spec import EDITS, LOOKS, Action, Arguments, tool
from vaults.activity_log.entries import ActivityEntry
from vaults.domain.import_export import import_runs, run_undo
from vaults.domain.import_export.import_runs import ImportRun
from vaults.domain.import_export.line_import import NumberedLine, import_lines
from vaults.domain.import_export.line_rights import ADMIN_RIGHTS, WRITER_RIGHTS
from vaults.domain.import_export.row_writer import LineOutcome, count_outcomes
from vaults.domain.import_export.run_undo import UndoTally
from vaults.domain.text.fields import Label, Text
from vaults.domain.text.plurals import pluralize
from vaults.errors import InvalidArgument

MAX_LINES = 256
MAX_RUNS = 50
MAX_UNDO_STEPS = 10
"""Steps of one call that takes an import back: it ends within the time a client waits, and is repeated."""

PUSHING = Action(Role.WRITER, summary="store records of another system")
UNDOING = Action(Role.ADMIN, summary="take an import back, which deletes what it brought", destroys=True)  # as a purge


class ImportsArguments(Arguments):
    action: Annotated[Literal["list", "push", "end", "undo"], Field(description="what to do")] = "list"
    run: Annotated[str | None, Field(max_length=64, description="the import; push: absent begins one")] = None
    source: Annotated[Label, Field(description="push: the system the records are from")] = "jsonl"
    path: Annotated[Text, Field(max_length=1024, description="push: where they were read, for people")] = ""
    lines: Annotated[
        list[dict[str, Any]],
        Field(max_length=MAX_LINES, description="push: records, as lines of `strongroom export` have them"),
    ] = []
    first: Annotated[int, Field(ge=1, le=2**53, description="push: number of the first line in its source")] = 1
    max_tokens: Annotated[int, Field(ge=50, le=100_000, description="tokens of the answer at most")] = 20_000


@dataclass(frozen=True, slots=True)
class RejectedLine:
    """A line that was not taken, by its number."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class PushedLines:
    """What became of the first ``done`` lines, by kind and outcome; push the others again."""

    run: str
    done: int
    counts: dict[str, dict[str, int]]
    rejected: list[RejectedLine] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ImportRuns:
    """Imports of the caller, newest first."""

    runs: list[ImportRun]


@dataclass(frozen=True, slots=True)
class EndedRun:
    """An import that was read to its end."""

    run: str


@dataclass(frozen=True, slots=True)
class UndoneRun:
    """What a call took back of an import: records removed, restored and, where somebody changed them since, kept, by
    kind. ``more``: call again, there are more."""

    run: str
    more: bool
    removed: dict[str, int] = field(default_factory=dict)
    restored: dict[str, int] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)


ImportsResult = Annotated[
    PushedLines | ImportRuns | EndedRun | UndoneRun, "What became of records, of a run, or the caller's runs."
]


def _head(found: PushedLines | ImportRuns | EndedRun | UndoneRun) -> str:
    match found:
        case PushedLines():
            return f"{pluralize(found.done, 'record')} looked at, {len(found.rejected)} not taken."
        case ImportRuns():
            return f"{pluralize(len(found.runs), 'import')}." if found.runs else "No imports."
        case EndedRun():
            return "The import is complete."
        case UndoneRun():
            back = f"Took back {pluralize(sum(found.removed.values()) + sum(found.restored.values()), 'record')}"
            return f"{back}; there are more, call again." if found.more else f"{back}, the last of the import."


def _activity_entry(_: ImportsArguments, found: object) -> ActivityEntry | None:
    match found:
        case PushedLines(done=done) if done:
            return ActivityEntry("import", found.run, f"imported {pluralize(done, 'record')}")
        case UndoneRun(more=False):
            return ActivityEntry("import", found.run, "took an import back")
    return None


@tool(
    role=Role.WRITER,
    head=_head,
    effect=EDITS,
    preset="full",
    actions={"list": LOOKS, "push": PUSHING, "end": PUSHING, "undo": UNDOING},
    activity_entry=_activity_entry,
)
async def imports(call: Call, args: ImportsArguments) -> ImportsResult:
    """Bring records from another system in batches, list your imports, or take one back. Use it when you read what that
    system stored; what is known already is left alone, so a batch may be pushed again."""
    match args.action:
        case "list":
            return ImportRuns(await call.vault.db.read(lambda tx: import_runs.list_runs(tx, call.actor, MAX_RUNS)))
        case "push":
            return await _push(call, args)
        case "end":
            run = await _find_run(call, args)
            await call.vault.db.write(lambda tx: import_runs.end(tx, run.seq))
            call.vault.start_background_work()
            return EndedRun(run.id)
        case "undo":
            return await _undo(call, await _find_run(call, args))


async def _find_run(call: Call, args: ImportsArguments) -> ImportRun:
    run_id = args.run
    if run_id is None:
        raise InvalidArgument("run", "is needed: the import")
    return await call.vault.db.read(lambda tx: import_runs.find(tx, call.actor, run_id))


async def _undo(call: Call, run: ImportRun) -> UndoneRun:
    done, more = UndoTally(), True
    for _ in range(MAX_UNDO_STEPS):
        if not (more := await run_undo.undo_some(call.vault, call.actor, run, done)):
            break
    return UndoneRun(run.id, more, dict(done.removed), dict(done.restored), dict(done.kept))


async def _push(call: Call, args: ImportsArguments) -> PushedLines:
    if args.run is None:
        run = await call.vault.db.write(lambda tx: import_runs.begin(tx, call.actor, args.source, args.path))
    else:
        run = await _find_run(call, args)
    lines = [NumberedLine(args.first + at, fields) for at, fields in enumerate(args.lines)]
    rights = ADMIN_RIGHTS if call.caller.role >= Role.ADMIN else WRITER_RIGHTS
    outcomes = await import_lines(call.vault, call.actor, run, lines, store_quota(call), rights) if lines else []
    return to_pushed_lines(run, lines, outcomes)


def to_pushed_lines(run: ImportRun, lines: Sequence[NumberedLine], outcomes: Sequence[LineOutcome]) -> PushedLines:
    """What became of a batch: of all its lines, or of the first of them."""
    rejected = [
        RejectedLine(line.number, each.reason or "")
        for line, each in zip(lines, outcomes, strict=False)
        if each.outcome == "rejected"
    ]
    return PushedLines(run.id, len(outcomes), count_outcomes(outcomes), rejected)
