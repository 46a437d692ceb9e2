"""Who did what in this vault, and whether the record of it is whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from auth.roles import Role
from ops.audit import searching, verification
from ops.audit.entries import StoredEntry
from ops.audit.searching import AuditQuery
from server.call import Call
from server.tool_spec import Action, Arguments, tool
from vaults import clock
from vaults.domain.text.fields import Text

LOOKS_AT_AUDIT = Action(Role.ADMIN)

INDEXED_WITHIN_S = 5.0
"""Seconds for which the first search of a long chain indexes it before it says that this takes longer."""


class AuditArguments(Arguments):
    action: Annotated[Literal["search", "verify"], Field(description="what to do")] = "search"
    subject: Annotated[Text | None, Field(max_length=255, description="only of this caller")] = None
    tool: Annotated[Text | None, Field(max_length=64, description="only of this tool")] = None
    since: Annotated[str | None, Field(max_length=64, description="only from this time on, RFC 3339")] = None
    until: Annotated[str | None, Field(max_length=64, description="only before this time")] = None
    id: Annotated[Text | None, Field(max_length=255, description="only about this id or path")] = None
    outcome: Annotated[Text | None, Field(max_length=64, description="ok, or an error code")] = None
    limit: Annotated[int, Field(ge=1, le=100, description="entries at most, the newest")] = 20
    before: Annotated[int | None, Field(ge=1, description="only older than this entry")] = None


@dataclass(frozen=True, slots=True)
class ItemChange:
    """Something that was changed, and what stands for what it held: a keyed hash, or a state or version; absent where
    there was nothing."""

    kind: str
    id: str
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One call. ``changes``: what it changed; of more than fifty, ``changed`` says how many."""

    seq: int
    at: str
    subject: str
    issuer: str
    role: str | None
    what: str
    outcome: str
    token: str | None = None
    user: str | None = None
    session: str | None = None
    client: str | None = None
    address: str | None = None
    consent: dict[str, str] | None = None
    targets: list[str] = field(default_factory=list)
    changes: list[ItemChange] = field(default_factory=list)
    changed: int | None = None


@dataclass(frozen=True, slots=True)
class FaultyEntry:
    """An entry that is not what was written, and what was done to it."""

    seq: int
    kind: str


@dataclass(frozen=True, slots=True)
class ChainState:
    """``ok``: nothing was removed, changed or forged. ``signed``: up to which entry the server vouches for it."""

    ok: bool
    entries: int
    first: int
    last: int
    signed: int
    faults: list[FaultyEntry] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What was done here, newest first; or the state of the record."""

    entries: list[AuditRecord] = field(default_factory=list)
    chain: ChainState | None = None


@tool(
    role=Role.ADMIN,
    preset="full",
    actions={"search": LOOKS_AT_AUDIT, "verify": LOOKS_AT_AUDIT},
)
async def audit(call: Call, args: AuditArguments) -> AuditResult:
    """Who changed what in this vault, when, in which role, and who agreed to it. Use it to answer for a change; verify
    checks that the record itself was not tampered with."""
    log, chain = call.services.audit, call.vault.entry.vault_id
    if args.action == "verify":
        (report,) = await verification.verify(log, [chain])
        faults = [FaultyEntry(each.seq, each.kind) for each in report.faults]
        return AuditResult(
            chain=ChainState(report.ok, report.entries, report.first, report.last, report.signed, faults)
        )
    query = AuditQuery(
        subject=args.subject,
        tool=args.tool,
        since=clock.parse(args.since, "since") if args.since else None,
        until=clock.parse(args.until, "until") if args.until else None,
        target=args.id,
        outcome=args.outcome,
        limit=args.limit,
        before=args.before,
    )
    found = await searching.search(log, chain, query, INDEXED_WITHIN_S)
    return AuditResult(entries=[_to_record(each) for each in found])


def _to_record(entry: StoredEntry) -> AuditRecord:
    said: dict[str, Any] = entry.fields()
    what = " ".join(filter(None, (said.get("tool"), said.get("action"))))
    copied = ("role", "token", "user", "session", "client", "address", "consent", "changed")
    return AuditRecord(
        seq=entry.seq,
        at=said["at"],
        subject=said.get("subject", ""),
        issuer=said.get("issuer", ""),
        what=what,
        outcome=said["outcome"],
        targets=said.get("targets", []),
        changes=[ItemChange(*each) for each in said.get("changes", ())],
        **{name: said.get(name) for name in copied},
    )
