"""Handing work over, and saying who works on what."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from auth.handoff_addresses import is_handoff_address
from auth.roles import Role
from server.call import Call
from server.tool_spec import COMMON_ARGUMENTS, EDITS, LOOKS, UNNAMED, Action, Arguments, MaxTokens, tool
from vaults.activity_log.entries import ActivityEntry
from vaults.domain.actors import GLOBAL
from vaults.domain.continuity import claims as claiming
from vaults.domain.continuity import handoff_transfer
from vaults.domain.continuity.claims import Claim, Resource
from vaults.domain.continuity.handoffs import Handoff, HandoffDraft
from vaults.domain.secrets import redaction
from vaults.domain.text.fields import Filled, Text
from vaults.domain.text.plurals import pluralize
from vaults.errors import InvalidArgument

Point = Annotated[Filled, Field(max_length=500)]
Resources = Annotated[list[Resource], Field(max_length=50)]


def _check_address(text: str) -> str:
    if not is_handoff_address(text):
        raise ValueError("must be a subject, or role:reader, role:writer or role:admin")
    return text


Address = Annotated[str, Field(max_length=255), AfterValidator(_check_address)]


class HandoffCreateArguments(Arguments):
    goal: Annotated[Filled, Field(max_length=1000, description="what it is all for")]
    current_state: Annotated[Filled, Field(max_length=8000, description="what is done, what is not")]
    next_action: Annotated[Filled, Field(max_length=2000, description="the very next step")]
    constraints: Annotated[list[Point], Field(max_length=20, description="what must hold")] = []
    known_unknowns: Annotated[list[Point], Field(max_length=20, description="open questions")] = []
    artifacts: Annotated[list[Point], Field(max_length=50, description="paths, ids, branches")] = []
    stop_conditions: Annotated[list[Point], Field(max_length=20, description="when to stop")] = []
    claims: Annotated[Resources, Field(description="claimed resources that go over")] = []
    to: Annotated[Address | None, Field(description="subject or role:writer; default anyone")] = None
    ttl_days: Annotated[float, Field(gt=0, le=365, allow_inf_nan=False, description="days until it expires")] = 14


@dataclass(frozen=True, slots=True)
class HandoffCreateResult:
    """The handoff as it was left. ``warnings``: secrets that were taken out."""

    handoff: Handoff
    warnings: list[str] = field(default_factory=list)


@tool(
    role=Role.WRITER,
    effect=EDITS,
    head=lambda given: f"Left for {'whom it names' if given.handoff.to else 'anyone'}.",
    summary="leave a handoff",
    hidden_args=("ttl_days",),
    # Who it is not for hears that one was left, as of any work, and not which.
    activity_entry=lambda args, given: ActivityEntry(
        "handoff_created", None if args.to else given.handoff.id, "left a handoff"
    ),
)
async def handoff_create(call: Call, args: HandoffCreateArguments) -> HandoffCreateResult:
    """Hand your work over to another agent or person. Use it when you stop and somebody else is to go on; one who knows
    nothing must be able to."""
    workspace = call.actor.workspace or GLOBAL
    guarded = redaction.refuse_or_redact(args.model_dump(exclude=set(COMMON_ARGUMENTS)), call.vault.shared.hygiene)
    left = await handoff_transfer.create(call.vault, call.session, workspace, HandoffDraft(**guarded.fields))
    return HandoffCreateResult(left, guarded.warnings)


class HandoffLoadArguments(Arguments):
    id: Annotated[Text | None, Field(max_length=64, description="default: newest open one for you")] = None
    accept: Annotated[bool, Field(description="take it over, with its claims")] = False
    max_tokens: MaxTokens = 8000


@dataclass(frozen=True, slots=True)
class HandoffLoadResult:
    """A handoff, if there is one. ``claims``: what you hold of it, now that you have taken it over."""

    handoff: Handoff | None = None
    claims: list[str] | None = None


def _loaded_entry(args: HandoffLoadArguments, loaded: HandoffLoadResult) -> ActivityEntry | None:
    if loaded.handoff is None:
        return None
    if not args.accept:
        return ActivityEntry("handoff_read", None, "read a handoff")
    return ActivityEntry("handoff_accepted", loaded.handoff.id, "took a handoff over")


def _loaded_head(loaded: HandoffLoadResult) -> str:
    handoff = loaded.handoff
    if handoff is None:
        return "No open handoff is waiting for you."
    if loaded.claims is None:
        return "The handoff."
    missing = len(set(handoff.claims) - set(loaded.claims))
    others = f" {pluralize(missing, 'resource')} of it others hold." if missing else ""
    return f"Taken over: it is yours, with {pluralize(len(loaded.claims), 'claim')}.{others}"


@tool(
    role=Role.READER,
    head=_loaded_head,
    actions={UNNAMED: Action(Role.READER, instead={("accept", True): Action(Role.WRITER, "take a handoff over")})},
    hidden_args=("max_tokens",),
    activity_entry=_loaded_entry,
)
async def handoff_load(call: Call, args: HandoffLoadArguments) -> HandoffLoadResult:
    """The work somebody left for you, or for anyone. Use it when you begin; accept it before you go on with it, so
    that nobody else does."""
    recipient = call.recipient
    if not args.accept:
        return HandoffLoadResult(await handoff_transfer.load(call.vault, recipient, args.id))
    done = await handoff_transfer.accept(call.vault, recipient, call.session, args.id)
    return HandoffLoadResult(done.handoff, done.claims)


CLAIMING = Action(Role.WRITER, "claim or release what it works on")


class ClaimsArguments(Arguments):
    action: Annotated[Literal["claim", "release", "release_all", "list"], Field(description="what to do")] = "list"
    resources: Annotated[Resources, Field(description="such as src/db.ts, task:refactor")] = []
    description: Annotated[Text | None, Field(max_length=500, description="what for")] = None


@dataclass(frozen=True, slots=True)
class ClaimsResult:
    """Claims that count now, of ``total``; ``released``: resources that were given back."""

    claims: list[Claim]
    total: int
    released: list[str] | None = None


def _claims_entry(args: ClaimsArguments, found: ClaimsResult) -> ActivityEntry:
    count = len(found.claims if found.released is None else found.released)
    return ActivityEntry("tool_call", None, f"claims {args.action}: {count}")


def _claims_head(found: ClaimsResult) -> str:
    released = f"Released {pluralize(len(found.released), 'resource')}. " if found.released is not None else ""
    if not found.claims:
        return released + ("You hold nothing." if released else "Nothing is claimed.")
    return f"{released}{len(found.claims)} of {pluralize(found.total, 'claim')}."


@tool(
    role=Role.WRITER,
    preset="notes",
    head=_claims_head,
    actions={"claim": CLAIMING, "release": CLAIMING, "release_all": CLAIMING, "list": LOOKS},
    activity_entry=_claims_entry,
)
async def claims(call: Call, args: ClaimsArguments) -> ClaimsResult:
    """Say what you work on, and see what others do. Use it before you change what others may change too. Claims are
    advisory: all resources of a call are yours or, where somebody holds one, none."""
    if args.action == "list":
        held = await claiming.list_claims(call.vault, call.session, args.resources)
    elif args.action == "release_all":
        held = await claiming.release(call.vault, call.session, None)
    elif not args.resources:
        raise InvalidArgument("resources", "must name at least one")
    elif args.action == "claim":
        said = {"resources": args.resources, "description": args.description}
        told = redaction.refuse_or_redact(said, call.vault.shared.hygiene).fields
        held = await claiming.claim(call.vault, call.session, told["resources"], told["description"])
    else:
        held = await claiming.release(call.vault, call.session, args.resources)
    return ClaimsResult(held.claims, held.total, held.released)
