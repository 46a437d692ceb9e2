"""Handoffs: what one session leaves for whoever continues, and who may see which."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from uuid_utils import uuid7

from vaults import clock
from vaults.activity_log.sessions import Session
from vaults.db.sql import Params, Reader, Row, Writer, bind_list
from vaults.domain.actors import GLOBAL
from vaults.errors import NotFound

HandoffStatus = Literal["open", "accepted", "expired"]


@dataclass(frozen=True, slots=True)
class HandoffRecipient:
    """Who looks for handoffs."""

    identity: str
    name: str
    addresses: tuple[str, ...]  # names and roles: a handoff addressed to any of them is for this caller
    workspace: str | None = None  # where the caller works; None: everywhere


@dataclass(frozen=True, slots=True)
class HandoffDraft:
    """A handoff to leave. ``to``: a subject or ``role:…``; None: anyone in the vault."""

    goal: str
    current_state: str
    next_action: str
    constraints: Sequence[str] = ()
    known_unknowns: Sequence[str] = ()
    artifacts: Sequence[str] = ()
    stop_conditions: Sequence[str] = ()
    claims: Sequence[str] = ()
    to: str | None = None
    ttl_days: float = 14.0


@dataclass(frozen=True, slots=True)
class HandoffReceipt:
    """Who took a handoff over, in which session, and when."""

    accepted_by: str
    session: str | None
    at: str


@dataclass(frozen=True, slots=True)
class Handoff:
    """A handoff. ``author`` left it, in ``session``; ``claims`` go over to whoever accepts it."""

    id: str
    status: HandoffStatus
    author: str
    session: str | None
    workspace: str = GLOBAL
    goal: str = ""
    current_state: str = ""
    next_action: str = ""
    constraints: list[str] = field(default_factory=list)
    known_unknowns: list[str] = field(default_factory=list)
    artifacts: list[str] = field(default_factory=list)
    stop_conditions: list[str] = field(default_factory=list)
    claims: list[str] = field(default_factory=list)
    to: str | None = None
    created_at: str = ""
    expires_at: str | None = None
    receipt: HandoffReceipt | None = None


@dataclass(frozen=True, slots=True)
class HandoffRow:
    """A handoff with the fields only storage needs."""

    seq: int
    handoff: Handoff
    giver: int | None  # row of the session that left it
    taken_by: str | None  # identity that accepted it
    taken_in: int | None  # row of the session it was accepted in


def insert(tx: Writer, session: Session, row: int, workspace: str, draft: HandoffDraft) -> int:
    """Write a handoff left by a session with this ``row``; returns its ``seq``."""
    lists = ("constraints", "known_unknowns", "artifacts", "stop_conditions", "claims")
    newest = tx.value("SELECT MAX(created_at) FROM handoffs")  # the clock may have been set back
    identity = str(uuid7())
    tx.note_change("handoff", identity, None, "open")
    return tx.insert(
        "INSERT INTO handoffs (id, session, owner, who, workspace, goal, current_state, next_action, constraints,"
        " known_unknowns, artifacts, stop_conditions, claims, addressed_to, created_at, expires_at) VALUES"
        " (:id, :session, :owner, :who, :workspace, :goal, :current_state, :next_action, :constraints,"
        " :known_unknowns, :artifacts, :stop_conditions, :claims, :to, :created_at, :expires_at)",
        {
            "id": identity, "session": row, "owner": session.owner, "who": session.who, "workspace": workspace,
            "goal": draft.goal, "current_state": draft.current_state, "next_action": draft.next_action,
            **{name: json.dumps(list(getattr(draft, name)), ensure_ascii=False) for name in lists},
            "to": draft.to, "created_at": max(clock.now(), newest or ""),
            "expires_at": clock.days_from_now(draft.ttl_days),
        },
    )  # fmt: skip


_NEWEST_FIRST = "h.created_at DESC, h.seq DESC"
"""By their times, because an import may bring older ones later."""

_SELECT = (
    "SELECT h.seq, h.session, h.accepted_by, h.accepted_session, h.id, h.who, s.id, h.workspace, h.goal,"
    " h.current_state, h.next_action, h.constraints, h.known_unknowns, h.artifacts, h.stop_conditions, h.claims,"
    " h.addressed_to, h.created_at, h.expires_at, h.accepted_who, a.id, h.accepted_at FROM handoffs h"
    " LEFT JOIN sessions s ON s.seq = h.session LEFT JOIN sessions a ON a.seq = h.accepted_session"
)


def find_by_id(tx: Reader, recipient: HandoffRecipient, handoff_id: str) -> HandoffRow:
    """A handoff by id, for its recipients, its author and whoever accepted it."""
    addressed, params = _recipient_condition(recipient)
    found = find_one(
        tx,
        f"h.id = :id AND ({addressed} OR h.owner = :identity OR h.accepted_by = :identity)",
        {**params, "id": handoff_id, "identity": recipient.identity},
    )
    if found is None:
        raise NotFound(f"no handoff {handoff_id[:64]}")
    return found


def find_open(tx: Reader, recipient: HandoffRecipient) -> Handoff | None:
    """The newest open handoff the caller may accept; None when there is none."""
    found = find_newest(tx, recipient)
    return found.handoff if found else None


def find_newest(tx: Reader, recipient: HandoffRecipient, *, taken: bool = False) -> HandoffRow | None:
    """The newest one the caller may accept where it works, open or, with ``taken``, accepted already; expired ones are
    neither."""
    addressed, params = _recipient_condition(recipient)
    params["now"] = clock.now()
    state = "h.accepted_by IS NOT NULL" if taken else "h.accepted_by IS NULL"
    where = f"{state} AND {addressed} AND (h.expires_at IS NULL OR h.expires_at > :now)"
    if recipient.workspace is not None:
        where += " AND h.workspace IN (:workspace, 'global')"
        params["workspace"] = recipient.workspace
    return find_one(tx, where, params)


def list_between(tx: Reader, recipient: HandoffRecipient, first: str, end: str, limit: int) -> list[Handoff]:
    """Those made from ``first`` on and before ``end`` that are for the caller, by it or accepted by it, newest
    first."""
    addressed, params = _recipient_condition(recipient)
    rows = tx.all(
        f"{_SELECT} WHERE h.created_at >= :first AND h.created_at < :end"
        f" AND ({addressed} OR h.owner = :identity OR h.accepted_by = :identity) ORDER BY {_NEWEST_FIRST}"
        " LIMIT :limit",
        {**params, "identity": recipient.identity, "first": first, "end": end, "limit": limit},
    )
    return [_from_row(row).handoff for row in rows]


def list_of_sessions(tx: Reader, recipient: HandoffRecipient, sessions: Sequence[str], limit: int) -> list[Handoff]:
    """Those left or taken over in these sessions that are for the caller, by it or accepted by it, newest first."""
    addressed, params = _recipient_condition(recipient)
    among, named = bind_list("session", sessions)
    rows = tx.all(
        f"{_SELECT} WHERE (s.id IN ({among}) OR a.id IN ({among}))"
        f" AND ({addressed} OR h.owner = :identity OR h.accepted_by = :identity) ORDER BY {_NEWEST_FIRST}"
        " LIMIT :limit",
        {**params, **named, "identity": recipient.identity, "limit": limit},
    )
    return [_from_row(row).handoff for row in rows]


def _recipient_condition(recipient: HandoffRecipient) -> tuple[str, dict[str, Any]]:
    addresses, params = bind_list("to", recipient.addresses)
    return f"(h.addressed_to IS NULL OR h.addressed_to IN ({addresses}))", params


def find_one(tx: Reader, where: str, params: Params) -> HandoffRow | None:
    """The newest that satisfies a condition over alias ``h``."""
    row = tx.one(f"{_SELECT} WHERE {where} ORDER BY {_NEWEST_FIRST} LIMIT 1", params)
    return _from_row(row) if row is not None else None


def _from_row(row: Row) -> HandoffRow:
    (
        seq, giver, taken_by, taken_in, handoff_id, author, session, workspace, goal, current_state, next_action,
        constraints, known_unknowns, artifacts, stop_conditions, claims, to, created_at, expires_at, accepted_who,
        accepted_in, accepted_at,
    ) = row  # fmt: skip
    receipt = HandoffReceipt(accepted_who, accepted_in, accepted_at) if taken_by is not None else None
    handoff = Handoff(
        id=handoff_id,
        status=_status(receipt, expires_at),
        author=author,
        session=session,
        workspace=workspace,
        goal=goal,
        current_state=current_state,
        next_action=next_action,
        constraints=json.loads(constraints),
        known_unknowns=json.loads(known_unknowns),
        artifacts=json.loads(artifacts),
        stop_conditions=json.loads(stop_conditions),
        claims=json.loads(claims),
        to=to,
        created_at=created_at,
        expires_at=expires_at,
        receipt=receipt,
    )
    return HandoffRow(int(seq), handoff, giver, taken_by, taken_in)


def _status(receipt: HandoffReceipt | None, expires_at: str | None) -> HandoffStatus:
    if receipt is not None:
        return "accepted"
    return "expired" if expires_at is not None and expires_at <= clock.now() else "open"
