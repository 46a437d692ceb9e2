"""What is wrong in memory and notes, and what is right."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from auth.roles import Role
from server.allowance import store_quota
from server.call import Call
from server.tool_spec import EDITS, LOOKS, Action, Arguments, tool
from vaults.activity_log.entries import ActivityEntry
from vaults.context import run_in
from vaults.domain.memories import corrections as domain
from vaults.domain.memories.corrections import Correction, CorrectionDraft, CorrectionKind
from vaults.domain.paging import token_budget
from vaults.domain.secrets import redaction
from vaults.domain.text.fields import Filled
from vaults.domain.text.plurals import pluralize
from vaults.errors import InvalidArgument

WRITING = Action(Role.WRITER, "record or settle a correction")

Side = Annotated[Filled, Field(max_length=2_000)]


class CorrectionsArguments(Arguments):
    action: Annotated[Literal["record", "list", "resolve", "undo"], Field(description="what to do")] = "list"
    wrong: Annotated[Side | None, Field(description="record: what is said or done, and wrong")] = None
    right: Annotated[Side | None, Field(description="record: what is right instead")] = None
    kind: Annotated[CorrectionKind, Field(description="record: what is wrong")] = "fact"
    subject: Annotated[
        Filled | None,
        Field(max_length=1_024, description="note's path, memory's id or name it is about; list: only of it"),
    ] = None
    id: Annotated[str | None, Field(min_length=1, max_length=64, description="resolve, undo: the correction")] = None
    resolution: Annotated[Filled | None, Field(max_length=2_000, description="resolve: what was done")] = None
    status: Annotated[Literal["open", "resolved", "all"], Field(description="list: only these")] = "open"
    limit: Annotated[int, Field(ge=1, le=100, description="list: corrections at most")] = 20
    cursor: Annotated[str | None, Field(max_length=5_000, description="from the page before")] = None


@dataclass(frozen=True, slots=True)
class CorrectionsResult:
    """The one that was recorded, resolved or taken back, or those listed, newest first, of ``total``."""

    corrections: list[Correction]
    total: int
    truncated: bool = False
    cursor: str | None = None
    warnings: list[str] = field(default_factory=list)


def _activity_entry(args: CorrectionsArguments, found: CorrectionsResult) -> ActivityEntry | None:
    if args.action == "list":
        return None
    verb = {"record": "recorded", "resolve": "resolved", "undo": "took back"}[args.action]
    [each] = found.corrections
    if each.kind == "memory":  # seen by those who may see the memory
        return ActivityEntry("memory_corrected", each.subject, f"{verb} a correction of a memory")
    return ActivityEntry("correction", each.id, f"{verb} a correction of kind {each.kind}")


@tool(
    role=Role.READER,
    head=lambda found: (
        f"{len(found.corrections)} of {pluralize(found.total, 'correction')}."
        if found.corrections
        else ("No corrections.")
    ),
    effect=EDITS,
    preset="notes",
    actions={"record": WRITING, "list": LOOKS, "resolve": WRITING, "undo": WRITING},
    activity_entry=_activity_entry,
)
async def corrections(call: Call, args: CorrectionsArguments) -> CorrectionsResult:
    """Say what is wrong in memory, in notes or in how agents work here, and what is right: use it when somebody
    corrects you. Open ones are told in briefs and beside what they are about; resolve one when it is put right."""
    if args.action == "list":
        page = await domain.list_corrections(
            call.vault, call.actor, args.status, args.subject, (args.limit, args.cursor)
        )
        fits = len(await token_budget.fit_rows(call.vault, page.corrections, args.max_tokens))
        if fits < len(page.corrections):
            page = await domain.list_corrections(call.vault, call.actor, args.status, args.subject, (fits, args.cursor))
        return CorrectionsResult(page.corrections, page.total, page.cursor is not None, page.cursor)
    if args.action == "record":
        return await _record(call, args)
    if args.id is None:
        raise InvalidArgument("id", "is needed: the correction")
    if args.action == "undo":
        return CorrectionsResult([await domain.undo(call.vault, call.actor, args.id)], 1)
    fields = {"resolution": args.resolution}
    guarded = await run_in(call.vault.shared.pool, redaction.refuse_or_redact, fields, call.vault.shared.hygiene)
    done = await domain.resolve(call.vault, call.actor, args.id, guarded.fields["resolution"])
    return CorrectionsResult([done], 1, warnings=guarded.warnings)


async def _record(call: Call, args: CorrectionsArguments) -> CorrectionsResult:
    if args.wrong is None or args.right is None:
        raise InvalidArgument("wrong" if args.wrong is None else "right", "is needed to record a correction")
    await store_quota(call).check_size()
    given = {"wrong": args.wrong, "right": args.right, "subject": args.subject}
    guarded = await run_in(call.vault.shared.pool, redaction.refuse_or_redact, given, call.vault.shared.hygiene)
    draft = CorrectionDraft(args.kind, **guarded.fields)
    return CorrectionsResult([await domain.record(call.vault, call.actor, draft)], 1, warnings=guarded.warnings)
