"""What happened to links, newest first: those that came and went, those we set, what was said of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from vaults.db.sql import Reader, Row

What = Literal["added", "gone", "set", "accepted", "rejected", "removed", "kept", "suppressed", "pardoned"]


@dataclass(frozen=True, slots=True)
class Happening:
    """``path``: the note the link stands in ('': of a whole ``folder``); ``entity``: the key of the name it gives.
    ``who``: the name of who did it, if known. ``source`` and ``state`` of one that we set, with its ``change``."""

    at: str
    what: What
    path: str
    entity: str
    who: str | None = None
    source: str | None = None
    state: str | None = None
    change: str | None = None
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page begins: below these rows of the three logs."""

    history: int
    applications: int
    feedback: int


NEWEST = Place(2**62, 2**62, 2**62)


@dataclass(frozen=True, slots=True)
class Page:
    """``next``: where the page after it begins; None where there is none."""

    happenings: list[Happening]
    next: Place | None


def page(tx: Reader, path: str | None, keys: Collection[str] | None, limit: int, below: Place = NEWEST) -> Page:
    """What happened to the links of a note, to links by some names, or to all. Each log is read in its own order, from
    its end; between them time decides."""
    where, params = _where(path, keys)
    logs = [
        [
            _came(row)
            for row in _rows(tx, _HISTORY, where.replace("entity IN", "target IN"), params, below.history, limit)
        ],
        [_set(row) for row in _rows(tx, _APPLICATIONS, where, params, below.applications, limit)],
        [_said(row) for row in _rows(tx, _FEEDBACK, where, params, below.feedback, limit)],
    ]
    taken: list[Happening] = []
    at = [0, 0, 0]
    places = [below.history, below.applications, below.feedback]
    while len(taken) < limit:
        heads = [(log[at[n]][1].at, n) for n, log in enumerate(logs) if at[n] < len(log)]
        if not heads:
            return Page(taken, None)
        number = max(heads)[1]
        places[number], happening = logs[number][at[number]]
        at[number] += 1
        taken.append(happening)
    more = any(at[n] < len(log) or len(log) == limit for n, log in enumerate(logs))
    return Page(taken, Place(*places) if more else None)


def _where(path: str | None, keys: Collection[str] | None) -> tuple[str, dict[str, object]]:
    params: dict[str, object] = {"path": path} if path is not None else {}
    said = ["path = :path"] if path is not None else []
    if keys is not None:
        named = {f"key{number}": key for number, key in enumerate(keys)}
        said.append(f"entity IN ({', '.join(f':{name}' for name in named)})")
        params |= named
    return " AND ".join(said) or "TRUE", params


_HISTORY = "SELECT seq, at, path, target, added FROM link_history"
_APPLICATIONS = "SELECT seq, at, path, entity, who, source, state, change FROM link_applications"
_FEEDBACK = "SELECT seq, at, path, entity, who, verdict, folder FROM link_feedback"


def _rows(tx: Reader, table: str, where: str, params: dict[str, object], below: int, limit: int) -> list[Row]:
    one = f"{table} WHERE {where} AND seq < :below ORDER BY seq DESC LIMIT :limit"
    return tx.all(one, {**params, "below": below, "limit": limit})


Numbered = tuple[int, Happening]


def _came(row: Row) -> Numbered:
    seq, at, path, entity, added = row
    return int(seq), Happening(at, "added" if added else "gone", path, entity)


def _set(row: Row) -> Numbered:
    seq, at, path, entity, who, source, state, change = row
    return int(seq), Happening(at, "set", path, entity, _name(who), source, state, change)


def _said(row: Row) -> Numbered:
    seq, at, path, entity, who, verdict, folder = row
    return int(seq), Happening(at, verdict, path, entity, _name(who), folder=folder)


def _name(who: str) -> str:
    """A principal as people know it, without who vouches for it."""
    return who.rpartition("|")[2]
