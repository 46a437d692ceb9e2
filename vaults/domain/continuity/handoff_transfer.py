"""Leaving handoffs and accepting them: exactly one caller can accept."""

from __future__ import annotations

from dataclasses import dataclass

from vaults import clock
from vaults.activity_log import stale_sessions
from vaults.activity_log.sessions import Session
from vaults.db.sql import Reader, Writer
from vaults.domain.continuity import claims, handoffs
from vaults.domain.continuity.handoffs import Handoff, HandoffDraft, HandoffRecipient, HandoffRow
from vaults.errors import Conflict, Forbidden, NotFound
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class AcceptedHandoff:
    """An accepted handoff. ``claims``: those of its claims the session now holds; not ``new``: the same session had
    accepted it before."""

    handoff: Handoff
    claims: list[str]
    new: bool


async def create(vault: Vault, session: Session, workspace: str, draft: HandoffDraft) -> Handoff:
    """Leave a handoff. Raises ``Conflict`` with ``held_by`` when it hands over what another session claimed."""
    vault.check_writable()
    row = await claims.refresh_session_row(vault, session)

    def write(tx: Writer) -> Handoff:
        stale_sessions.pause_stale(tx, vault.activity_log.cutoffs())
        claims.check_free(tx, draft.claims, row)
        seq = handoffs.insert(tx, session, row, workspace, draft)
        found = handoffs.find_one(tx, "h.seq = :seq", {"seq": seq})
        assert found is not None
        return found.handoff

    return await vault.db.write(write)


async def load(vault: Vault, recipient: HandoffRecipient, handoff_id: str | None) -> Handoff | None:
    """The handoff with this id, or else the newest open one the caller may accept, if any. Raises ``NotFound`` for an
    id that is absent or not for this caller."""
    if handoff_id is None:
        return await vault.db.read(lambda tx: handoffs.find_open(tx, recipient))
    return (await vault.db.read(lambda tx: handoffs.find_by_id(tx, recipient, handoff_id))).handoff


async def accept(
    vault: Vault, recipient: HandoffRecipient, session: Session, handoff_id: str | None
) -> AcceptedHandoff:
    """Accept a handoff, the newest open one where none is named; exactly one caller can, and the same session may
    repeat it. Raises ``NotFound``; ``Forbidden`` when it is addressed to others; ``Conflict`` when it has expired, or
    somebody else accepted it: the details say who and when."""
    vault.check_writable()
    row = await claims.refresh_session_row(vault, session)

    def write(tx: Writer) -> AcceptedHandoff:
        stale_sessions.pause_stale(tx, vault.activity_log.cutoffs())
        found = handoffs.find_by_id(tx, recipient, handoff_id) if handoff_id is not None else _find_next(tx, recipient)
        new = found.handoff.receipt is None
        if new:
            _mark_accepted(tx, found, recipient, row)
            claims.transfer_claims(tx, found.handoff.claims, found.giver, row)
        else:
            _check_own(found, recipient, row)
        done = handoffs.find_one(tx, "h.seq = :seq", {"seq": found.seq})
        assert done is not None
        return AcceptedHandoff(done.handoff, claims.find_held(tx, found.handoff.claims, row), new)

    done = await vault.db.write(write)
    if done.new:
        claims.record_claim_events(vault, session, "claim", done.claims)
    return done


def _find_next(tx: Reader, recipient: HandoffRecipient) -> HandoffRow:
    """The newest open one, else the newest accepted, so that a second caller learns who came first."""
    found = handoffs.find_newest(tx, recipient) or handoffs.find_newest(tx, recipient, taken=True)
    if found is None:
        raise NotFound("no handoff is waiting for you")
    return found


def _mark_accepted(tx: Writer, found: HandoffRow, recipient: HandoffRecipient, row: int) -> None:
    handoff = found.handoff
    if handoff.to is not None and handoff.to not in recipient.addresses:
        raise Forbidden(f"the handoff is addressed to {handoff.to}")
    if handoff.status == "expired":
        raise Conflict(f"the handoff expired at {handoff.expires_at}", hint="its author can leave another")
    claims.check_active(tx, row)
    tx.note_change("handoff", handoff.id, handoff.status, "accepted")
    tx.run(
        "UPDATE handoffs SET accepted_by = :by, accepted_who = :who, accepted_session = :session, accepted_at = :now"
        " WHERE seq = :seq AND accepted_by IS NULL",
        {"by": recipient.identity, "who": recipient.name, "session": row, "now": clock.now(), "seq": found.seq},
    )


def _check_own(found: HandoffRow, recipient: HandoffRecipient, row: int) -> None:
    receipt = found.handoff.receipt
    if receipt is not None and (found.taken_by, found.taken_in) != (recipient.identity, row):
        raise Conflict(
            f"{receipt.accepted_by} has taken this handoff over at {receipt.at}",
            hint="choose other work, or ask them",
            accepted_by=receipt.accepted_by,
            accepted_at=receipt.at,
            id=found.handoff.id,
        )
