"""What happened to links, newest first: those added and removed, those the server set, and feedback on them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from vaults.db.sql import Reader, Row

LinkEventKind = Literal["added", "gone", "set", "accepted", "rejected", "removed", "kept", "suppressed", "pardoned"]


@dataclass(frozen=True, slots=True)
class LinkEvent:
    """``path``: the note the link stands in ('': of a whole ``folder``); ``entity``: the key of the name it gives.
    ``who``: the name of who did it, if known. ``source`` and ``state`` of one that we set, with its ``change``."""

    at: str
    what: LinkEventKind
    path: str
    entity: str
    who: str | None = None
    source: str | None = None
    state: str | None = None
    change: str | None = None
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class LogPosition:
    """Where a page begins: below these row numbers of the three logs."""

    history: int
    applications: int
    feedback: int


NEWEST = LogPosition(2**62, 2**62, 2**62)


@dataclass(frozen=True, slots=True)
class LinkEventPage:
    """A page of events. ``next``: where the next page begins; None for the last."""

    happenings: list[LinkEvent]
    next: LogPosition | None


def read_page(
    tx: Reader, path: str | None, keys: Collection[str] | None, limit: int, below: LogPosition = NEWEST
) -> LinkEventPage:
    """Events of the links of a note, of links by some names, or of all. Each log is read in its own order, from its
    end; the logs are merged by time."""
    where, params = _to_condition(path, keys)
    params["limit"] = limit
    history = _read_log(tx, _HISTORY, where.replace("entity IN", "target IN"), {**params, "below": below.history})
    applications = _read_log(tx, _APPLICATIONS, where, {**params, "below": below.applications})
    feedback = _read_log(tx, _FEEDBACK, where, {**params, "below": below.feedback})
    logs = [
        [_from_history(row) for row in history],
        [_from_application(row) for row in applications],
        [_from_feedback(row) for row in feedback],
    ]
    taken: list[LinkEvent] = []
    at = [0, 0, 0]
    places = [below.history, below.applications, below.feedback]
    while len(taken) < limit:
        heads = [(log[at[n]][1].at, n) for n, log in enumerate(logs) if at[n] < len(log)]
        if not heads:
            return LinkEventPage(taken, None)
        number = max(heads)[1]
        places[number], event = logs[number][at[number]]
        at[number] += 1
        taken.append(event)
    more = any(at[n] < len(log) or len(log) == limit for n, log in enumerate(logs))
    return LinkEventPage(taken, LogPosition(*places) if more else None)


def _to_condition(path: str | None, keys: Collection[str] | None) -> tuple[str, dict[str, object]]:
    params: dict[str, object] = {"path": path} if path is not None else {}
    clauses = ["path = :path"] if path is not None else []
    if keys is not None:
        named = {f"key{number}": key for number, key in enumerate(keys)}
        clauses.append(f"entity IN ({', '.join(f':{name}' for name in named)})")
        params |= named
    return " AND ".join(clauses) or "TRUE", params


_HISTORY = "SELECT seq, at, path, target, added FROM link_history"
_APPLICATIONS = "SELECT seq, at, path, entity, who, source, state, change FROM link_applications"
_FEEDBACK = "SELECT seq, at, path, entity, who, verdict, folder FROM link_feedback"


def _read_log(tx: Reader, table: str, where: str, params: dict[str, object]) -> list[Row]:
    return tx.all(f"{table} WHERE {where} AND seq < :below ORDER BY seq DESC LIMIT :limit", params)


NumberedEvent = tuple[int, LinkEvent]


def _from_history(row: Row) -> NumberedEvent:
    seq, at, path, entity, added = row
    return int(seq), LinkEvent(at, "added" if added else "gone", path, entity)


def _from_application(row: Row) -> NumberedEvent:
    seq, at, path, entity, who, source, state, change = row
    return int(seq), LinkEvent(
        at=at, what="set", path=path, entity=entity, who=_display_name(who), source=source, state=state, change=change
    )


def _from_feedback(row: Row) -> NumberedEvent:
    seq, at, path, entity, who, verdict, folder = row
    return int(seq), LinkEvent(at, verdict, path, entity, _display_name(who), folder=folder)


def _display_name(who: str) -> str:
    """A principal as people know it, without its issuer."""
    return who.rpartition("|")[2]
