"""What was written, changed, decided and left to others around a date."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from vaults import clock
from vaults.db.sql import Reader
from vaults.domain.continuity import handoffs, sessions
from vaults.domain.continuity.handoffs import Taker
from vaults.domain.memories.memory_model import Actor
from vaults.search.filters import Filter
from vaults.vault import Vault

MOST = 500
"""Things of each kind that are looked at."""

SAID = 300
"""Characters of what somebody said."""

_DAY = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")


@dataclass(frozen=True, slots=True)
class Item:
    """``what``: daily (a note named by the day), created, modified, changed (by a tool), task (due then), session,
    handoff, or the type of a memory, such as decision. ``ref``: a path or an id; ``who``: by whom."""

    at: str
    what: str
    ref: str
    title: str
    who: str | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """A day, and so many days before and after it. UTC."""

    day: date
    days: int

    @property
    def first(self) -> str:
        """Where it begins, as text that is before any time in it."""
        return self._moved(-self.days)

    @property
    def end(self) -> str:
        """Where it is over."""
        return self._moved(self.days + 1)

    def _moved(self, days: int) -> str:
        try:
            return (self.day + timedelta(days=days)).isoformat()
        except OverflowError:
            return "0001-01-01" if days < 0 else "9999-12-31"


def window(day: str, days: int) -> Window:
    """Raises ``InvalidArgument`` for what is no day."""
    return Window(datetime.fromisoformat(clock.parsed(day, "date")).date(), days)


@dataclass(frozen=True, slots=True)
class Found:
    """The nearest in time first chosen, then told in order; ``counts``: of each kind, of what there is."""

    first: str
    last: str
    counts: dict[str, int]
    items: list[Item]


async def around(vault: Vault, actor: Actor, taker: Taker, when: Window, limit: int) -> Found:
    """As much of it as the caller may see."""
    span = sessions.Span(None, when.first, when.end)
    visited, _ = await sessions.history(vault, actor, span, MOST)
    worked = [
        Item(each.started_at, "session", each.id, (each.summary or each.goal or "at work")[:SAID], each.who)
        for each in visited
        if each.summary or each.goal or each.tools
    ]

    def read(tx: Reader) -> list[Item]:
        files = [*_notes(tx, when), *_changes(tx, when), *_tasks(tx, when)]
        return [*files, *_memories(tx, when, actor), *_left(tx, when, taker)]

    found = [*await vault.db.read(read), *worked]
    counts = Counter(each.what for each in found)
    nearest = sorted(found, key=lambda each: (_apart(each, when.day), _RANK.get(each.what, 1), each.at, each.ref))
    chosen = sorted(nearest[:limit], key=lambda each: (each.at, each.what, each.ref))
    last = (date.fromisoformat(when.end) - timedelta(days=1)).isoformat()
    return Found(when.first, last, dict(counts.most_common()), chosen)


_RANK = {"decision": 0, "daily": 0, "handoff": 0, "modified": 2, "changed": 2, "session": 3}


def _apart(item: Item, day: date) -> int:
    try:
        return abs((date.fromisoformat(item.at[:10]) - day).days)
    except ValueError:
        return MOST


def _notes(tx: Reader, when: Window) -> Iterator[Item]:
    bounds = {"first": when.first, "end": when.end, "most": MOST}
    told: set[str] = set()
    for path, title in tx.all("SELECT path, title FROM notes WHERE path LIKE '%____-__-__%' ORDER BY path DESC"):
        day = next((each for each in _DAY.findall(path.rpartition("/")[2]) if when.first <= each < when.end), None)
        if day is not None and len(told) < MOST:
            told.add(path)
            yield Item(day, "daily", path, title)
    for what, column in (("created", "created_at"), ("modified", "modified_at")):
        rows = tx.all(
            f"SELECT {column}, path, title FROM notes WHERE {column} >= :first AND {column} < :end"
            f" ORDER BY {column} DESC LIMIT :most",
            bounds,
        )
        for at, path, title in rows:
            if path not in told:
                told.add(path)
                yield Item(at, what, path, title)


def _changes(tx: Reader, when: Window) -> Iterator[Item]:
    rows = tx.all(
        "SELECT at, id, summary, author FROM note_changes WHERE state = 'done' AND at >= ? AND at < ?"
        " ORDER BY seq DESC LIMIT ?",
        (when.first, when.end, MOST),
    )
    for at, change, summary, author in rows:
        yield Item(at, "changed", change, summary, author)


def _tasks(tx: Reader, when: Window) -> Iterator[Item]:
    rows = tx.all(
        "SELECT t.due, n.path, t.line, t.text FROM note_tasks t JOIN notes n ON n.seq = t.note"
        " WHERE t.due >= ? AND t.due < ? ORDER BY t.due, n.path LIMIT ?",
        (when.first, when.end, MOST),
    )
    for due, path, line, text in rows:
        yield Item(due, "task", f"{path}:{line}", text[:SAID])


def _memories(tx: Reader, when: Window, actor: Actor) -> Iterator[Item]:
    where, params = Filter(actor.identity, clock.now(), since=when.first, until=when.end).over_memories()
    rows = tx.all(
        "SELECT COALESCE(m.occurred_at, m.created_at), m.type, m.id, m.title, m.author FROM memories m"
        f" WHERE {where} ORDER BY m.seq DESC LIMIT :most",
        {**params, "most": MOST},
    )
    for at, kind, memory, title, author in rows:
        yield Item(at, kind, memory, title, author)


def _left(tx: Reader, when: Window, taker: Taker) -> Iterator[Item]:
    for each in handoffs.within(tx, taker, (when.first, when.end), MOST):
        yield Item(each.created_at, "handoff", each.id, each.goal[:SAID], each.author)
