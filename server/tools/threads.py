"""Lines of work, and the state each is in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from auth.roles import Role
from server.allowance import store_quota
from server.call import Call
from server.tool_spec import EDITS, LOOKS, Arguments, MaxTokens, tool
from vaults import clock
from vaults.activity_log.entries import ActivityEntry
from vaults.context import run_in
from vaults.domain.actors import GLOBAL, workspace_key
from vaults.domain.continuity import checkpoints
from vaults.domain.continuity import threads as domain
from vaults.domain.continuity.checkpoints import MAX_STATE_KB, Checkpoint, CheckpointVersion, SavedCheckpoint, StateDiff
from vaults.domain.continuity.threads import Thread, ThreadItem, ThreadMemory, ThreadVisit
from vaults.domain.secrets import redaction
from vaults.domain.text.fields import Filled, Label, check_json_size
from vaults.domain.text.plurals import pluralize
from vaults.errors import InvalidArgument
from vaults.search.filters import SearchFilter


class ThreadsArguments(Arguments):
    action: Annotated[Literal["list", "show"], Field(description="what to do")] = "list"
    thread: Annotated[Label | None, Field(description="the one to show")] = None
    limit: Annotated[int, Field(ge=1, le=100, description="of each kind at most")] = 20
    max_tokens: Annotated[MaxTokens, Field(description="a longer state is left out")] = 4000


@dataclass(frozen=True, slots=True)
class ThreadsResult:
    """Threads, the one that changed last first, of ``total``; or one with what it holds. ``diff``: to the current state
    from the one before it. ``truncated``: there is more."""

    threads: list[Thread]
    total: int
    truncated: bool
    memories: list[ThreadMemory] = field(default_factory=list)
    passages: list[ThreadItem] = field(default_factory=list)
    sessions: list[ThreadVisit] = field(default_factory=list)
    checkpoints: list[CheckpointVersion] = field(default_factory=list)
    state: Checkpoint | None = None
    diff: StateDiff | None = None


def _head(found: ThreadsResult) -> str:
    shown = f"{len(found.threads)} of {pluralize(found.total, 'thread')}."
    left_out = found.checkpoints and found.state is None
    return f"{shown} Its state is left out: raise max_tokens to see it." if left_out else shown


@tool(
    role=Role.READER,
    head=_head,
    preset="notes",
    actions={"list": LOOKS, "show": LOOKS},
)
async def threads(call: Call, args: ThreadsArguments) -> ThreadsResult:
    """Lines of work in this vault, or what one of them holds: memories, notes, sessions, its state and how that
    changed. Use it before you go on with work that has a thread."""
    where = call.actor.workspace
    near = tuple(dict.fromkeys((where, GLOBAL))) if where else ()
    only = SearchFilter(call.actor.identity, clock.now(), workspaces=near)
    await call.vault.activity_log.flush()
    if args.action == "list":
        page = await call.vault.db.read(lambda tx: domain.list_threads(tx, only, args.limit))
        return ThreadsResult(page.threads, page.total, truncated=len(page.threads) < page.total)
    name = args.thread
    if name is None:
        raise InvalidArgument("thread", "is needed: the thread to show")
    found = await call.vault.db.read(lambda tx: domain.read_thread(tx, only, name, args.limit))
    fits = found.state is not None and found.state.tokens <= args.max_tokens
    cut = len(found.memories) < found.thread.memories or len(found.versions) < found.thread.checkpoints
    return ThreadsResult(
        [found.thread],
        1,
        truncated=cut or (found.state is not None and not fits),
        memories=found.memories,
        passages=found.parts,
        sessions=found.sessions,
        checkpoints=found.versions,
        state=found.state if fits else None,
        diff=found.diff,
    )


def _state(value: dict[str, Any]) -> dict[str, Any]:
    return check_json_size(value, MAX_STATE_KB)


class CheckpointArguments(Arguments):
    reason: Annotated[Filled, Field(max_length=1000, description="why now, in a sentence")]
    state: Annotated[dict[str, Any], AfterValidator(_state), Field(description="JSON object, ≤ 64 KB: the whole state")]
    thread: Annotated[Label | None, Field(description="line of work it is of")] = None
    workspace: Annotated[Label | None, Field(description="project; default: yours")] = None


@tool(
    role=Role.WRITER,
    effect=EDITS,
    preset="notes",
    summary="keep the state of its work",
    activity_entry=lambda args, saved: ActivityEntry(
        "checkpoint", saved.state_id, "kept a state", threads=(args.thread,) if args.thread else ()
    ),
)
async def checkpoint(call: Call, args: CheckpointArguments) -> SavedCheckpoint:
    """Keep the state of your work as a JSON document, version by version. Use it at milestones and before risky steps:
    whoever goes on starts from it."""
    await store_quota(call).check_size()
    workspace = workspace_key(args.workspace) if args.workspace else call.actor.workspace or GLOBAL
    given = {"reason": args.reason, "state": args.state}
    guarded = await run_in(call.vault.shared.pool, redaction.refuse_or_redact, given, call.vault.shared.hygiene)
    draft = checkpoints.CheckpointDraft(workspace, args.thread, guarded.fields["reason"], guarded.fields["state"])
    return replace(await checkpoints.save(call.vault, call.session, draft), warnings=guarded.warnings)
