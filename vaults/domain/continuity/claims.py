"""Advisory claims: who works on what, so that others choose something else. They never block a write.

A claim belongs to a session and ends with it: when the session pauses, ends or falls silent. Every reader of the vault
sees every claim.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from vaults import clock
from vaults.activity_log import stale_sessions
from vaults.activity_log.entries import ActivityEntry, ActivityRecord
from vaults.activity_log.sessions import Session
from vaults.activity_log.stale_sessions import IS_LIVE, SessionCutoffs
from vaults.db.sql import Reader, Row, Writer, bind_list
from vaults.errors import Conflict, QuotaExceeded
from vaults.vault import Vault

MAX_CLAIMS = 500
"""Max claims of one session."""

MAX_LISTED = 200
"""Max claims shown."""

MAX_NAMED = 3
"""Max holders named in an error's message; its details list them all."""


def validate_one_line(text: str) -> str:
    """A name that people and agents can read on one line. Raises ``ValueError`` when it is blank or has control
    characters."""
    if not text.strip() or not text.isprintable():
        raise ValueError("must be one line of printable characters")
    return text.strip()


Resource = Annotated[str, AfterValidator(validate_one_line), Field(max_length=300)]


@dataclass(frozen=True, slots=True)
class Claim:
    """A resource somebody works on: who, since when, what for. ``yours``: held by the session that asks."""

    resource: str
    who: str
    since: str
    client: str | None = None
    description: str | None = None
    yours: bool = False


@dataclass(frozen=True, slots=True)
class ClaimList:
    """Claims, of ``total``; ``released``: resources that were given up."""

    claims: list[Claim]
    total: int
    released: list[str] | None = None


async def claim(vault: Vault, session: Session, resources: Sequence[str], description: str | None) -> ClaimList:
    """Claim all of ``resources`` for the session, or none: raises ``Conflict`` with ``held_by`` when another session
    holds one. A resource the session already holds keeps its start."""
    vault.check_writable()
    row, wanted = await refresh_session_row(vault, session), tuple(dict.fromkeys(resources))

    def write(tx: Writer) -> ClaimList:
        stale_sessions.pause_stale(tx, vault.activity_log.cutoffs())
        check_active(tx, row)
        check_free(tx, wanted, row)
        insert_claims(tx, row, wanted, description)
        if int(tx.value("SELECT COUNT(*) FROM claims WHERE session = :session", {"session": row})) > MAX_CLAIMS:
            raise QuotaExceeded(f"a session holds at most {MAX_CLAIMS} claims", hint="release what you are done with")
        claims = _find_claims(tx, wanted, row)
        return ClaimList(claims, len(claims))

    done = await vault.db.write(write)
    record_claim_events(vault, session, "claim", wanted)
    return done


async def release(vault: Vault, session: Session, resources: Sequence[str] | None) -> ClaimList:
    """Give up ``resources``, or all the session holds. Resources of the same principal's other sessions may be named
    too: a session that was killed cannot release its own. Raises ``Conflict`` if somebody else holds one, and then
    releases none."""
    vault.disk.check_in_place()
    row = await refresh_session_row(vault, session)

    def write(tx: Writer) -> ClaimList:
        stale_sessions.pause_stale(tx, vault.activity_log.cutoffs())
        found = _find_claims(tx, resources, row) if resources is not None else _find_own(tx, row)
        foreign = [each for each in found if not each.yours and not _is_owned(tx, each.resource, session.owner)]
        if foreign:
            raise _conflict(foreign, "only who holds a claim can give it back")
        released = [each.resource for each in found]
        tx.many("DELETE FROM claims WHERE resource = :resource", [{"resource": each} for each in released])
        for each in released:
            tx.note_change("claim", each, "held", None)
        left = sorted(_find_own(tx, row), key=lambda each: each.resource)
        return ClaimList(left[:MAX_LISTED], len(left), released)

    done = await vault.db.write(write)
    record_claim_events(vault, session, "release", done.released or ())
    return done


async def list_claims(vault: Vault, session: Session, resources: Sequence[str]) -> ClaimList:
    """Claims in force, the session's own first; only those of ``resources``, if any are named."""
    await vault.activity_log.flush()
    cutoffs = vault.activity_log.cutoffs()

    def read(tx: Reader) -> ClaimList:
        where, params = _live_claims(cutoffs, resources)
        total = int(tx.value(f"SELECT COUNT(*) {where}", params))
        return ClaimList(find_current(tx, cutoffs, session.seq, resources), total)

    return await vault.db.read(read)


def find_current(tx: Reader, cutoffs: SessionCutoffs, row: int | None, resources: Sequence[str] = ()) -> list[Claim]:
    """The first ``MAX_LISTED`` claims in force, those of session ``row`` first; only those of ``resources``, if any are
    named. Claims of abandoned sessions do not count, even before a sweep has paused these."""
    where, params = _live_claims(cutoffs, resources)
    rows = tx.all(
        f"SELECT {_COLUMNS} {where} ORDER BY CASE WHEN c.session = :row THEN 0 ELSE 1 END, c.resource LIMIT :listed",
        {**params, "row": row or 0, "listed": MAX_LISTED},
    )
    return [_from_row(each, row) for each in rows]


_COLUMNS = "c.resource, s.who, c.claimed_at, s.client, c.description, c.session"
_FROM_CLAIMS = "FROM claims c JOIN sessions s ON s.seq = c.session"


def _live_claims(cutoffs: SessionCutoffs, resources: Sequence[str]) -> tuple[str, dict[str, str]]:
    among, params = bind_list("resource", resources)
    where = f"{_FROM_CLAIMS} WHERE {IS_LIVE}" + (f" AND c.resource IN ({among})" if resources else "")
    return where, params | cutoffs.params


async def refresh_session_row(vault: Vault, session: Session) -> int:
    """The session's row, marked as seen just now, so that a following sweep leaves it alone."""
    await vault.activity_log.flush()
    return await vault.activity_log.refresh_row(session)


def check_free(tx: Reader, resources: Iterable[str], row: int) -> None:
    """Raises ``Conflict`` when a session other than ``row`` holds one of them."""
    others = [each for each in _find_claims(tx, resources, row) if not each.yours]
    if others:
        raise _conflict(others, "nothing was claimed; choose other work, ask its holder, or try later")


def insert_claims(tx: Writer, row: int, resources: Iterable[str], description: str | None) -> None:
    """Claim for session ``row`` resources nobody else holds."""
    now, resources = clock.now(), list(resources)
    for each in resources:
        tx.note_change("claim", each, None, "held")
    tx.many(
        "INSERT INTO claims (resource, session, description, claimed_at)"
        " VALUES (:resource, :session, :description, :now)"
        " ON CONFLICT (resource) DO UPDATE SET description = COALESCE(excluded.description, claims.description)"
        " WHERE claims.session = excluded.session",
        [{"resource": each, "session": row, "description": description, "now": now} for each in resources],
    )


def transfer_claims(tx: Writer, resources: Sequence[str], giver: int | None, row: int) -> None:
    """Give session ``row`` those of ``resources`` that ``giver`` holds or nobody does."""
    now = clock.now()
    for resource in resources:
        moved = tx.run(
            "UPDATE claims SET session = :taker, claimed_at = :now"
            " WHERE resource = :resource AND session = :giver AND session <> :taker",
            {"taker": row, "now": now, "resource": resource, "giver": giver},
        )
        if not moved:
            insert_claims(tx, row, [resource], None)


def check_active(tx: Reader, row: int) -> None:
    """Raises ``Conflict`` for a session that has ended: its claims would lapse at once."""
    if tx.value("SELECT status FROM sessions WHERE seq = :session", {"session": row}) != "active":
        raise Conflict("this session has ended", hint="leave out session: a new one begins with your next call")


def find_held(tx: Reader, resources: Iterable[str], row: int) -> list[str]:
    """Those of ``resources`` that session ``row`` holds."""
    return [each.resource for each in _find_claims(tx, resources, row) if each.yours]


def record_claim_events(
    vault: Vault, session: Session, event_type: Literal["claim", "release"], resources: Collection[str]
) -> None:
    """Record an event for each resource, besides that of the call."""
    verb = {"claim": "claimed", "release": "released"}[event_type]
    for resource in resources:
        entry = ActivityEntry(event_type, resource, f"{verb} {resource}")
        vault.activity_log.record(
            ActivityRecord(
                at=clock.now(),
                session=session.id,
                owner=session.owner,
                tool="claims",
                activity_entry=entry,
                outcome="ok",
                ms=0.0,
                tokens_in=0,
                tokens_out=0,
            )
        )


def _find_claims(tx: Reader, resources: Iterable[str], row: int) -> list[Claim]:
    one = f"SELECT {_COLUMNS} {_FROM_CLAIMS} WHERE c.resource = :resource"
    found = (tx.one(one, {"resource": each}) for each in resources)
    return [_from_row(each, row) for each in found if each is not None]


def _find_own(tx: Reader, row: int) -> list[Claim]:
    rows = tx.all(f"SELECT {_COLUMNS} {_FROM_CLAIMS} WHERE c.session = :session", {"session": row})
    return [_from_row(each, row) for each in rows]


def _from_row(row: Row, asking: int | None) -> Claim:
    resource, who, since, client, description, session = row
    return Claim(resource, who, since, client, description, yours=session == asking)


def _is_owned(tx: Reader, resource: str, owner: str) -> bool:
    owned = f"SELECT 1 {_FROM_CLAIMS} WHERE c.resource = :resource AND s.owner = :owner"
    return tx.one(owned, {"resource": resource, "owner": owner}) is not None


def _conflict(others: Sequence[Claim], hint: str) -> Conflict:
    named = "; ".join(describe_claim(each) for each in others[:MAX_NAMED])
    more = f"; and {len(others) - MAX_NAMED} more" if len(others) > MAX_NAMED else ""
    return Conflict(f"held by others: {named}{more}", hint=hint, held_by=[_to_details(each) for each in others])


def _to_details(each: Claim) -> dict[str, str]:
    values = {name: value for name, value in asdict(each).items() if value is not None}
    del values["yours"]
    return values


def describe_claim(each: Claim) -> str:
    """One claim in words; its holder's own stand in quotation marks."""
    reason = f", for {json.dumps(each.description[:100], ensure_ascii=False)}" if each.description else ""
    return f"{each.resource} ({each.who} since {each.since}{reason})"
