"""What was written, changed, decided and handed off around a date."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from vaults import clock
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.continuity import handoffs, sessions
from vaults.domain.continuity.handoffs import HandoffRecipient
from vaults.search.filters import SearchFilter
from vaults.vault import Vault

MAX_ROWS = 500
"""Max items examined of each kind."""

MAX_CHARACTERS = 300
"""Max characters of a text in an item."""

_DAY = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")


@dataclass(frozen=True, slots=True)
class ContextItem:
    """``what``: daily (a note named by the day), created, modified, changed (by a tool), task (due then), session,
    handoff, or the type of a memory, such as decision. ``ref``: a path or an id; ``who``: by whom."""

    at: str
    what: str
    ref: str
    title: str
    who: str | None = None


@dataclass(frozen=True, slots=True)
class DateWindow:
    """A day, and a number of days before and after it, in UTC."""

    day: date
    days: int

    @property
    def first(self) -> str:
        """The start, as text that sorts before any time in the window."""
        return self._moved(-self.days)

    @property
    def end(self) -> str:
        """The end, exclusive."""
        return self._moved(self.days + 1)

    @property
    def bounds(self) -> dict[str, str | int]:
        """Parameters of a query for what is in the window, ``MAX_ROWS`` at most."""
        return {"first": self.first, "end": self.end, "most": MAX_ROWS}

    def _moved(self, days: int) -> str:
        try:
            return (self.day + timedelta(days=days)).isoformat()
        except OverflowError:
            return "0001-01-01" if days < 0 else "9999-12-31"


def to_window(day: str, days: int) -> DateWindow:
    """The window around a day. Raises ``InvalidArgument`` for an invalid day."""
    return DateWindow(datetime.fromisoformat(clock.parse(day, "date")).date(), days)


@dataclass(frozen=True, slots=True)
class DateContext:
    """The nearest in time first chosen, then told in order; ``counts``: of each kind, of what there is."""

    first: str
    last: str
    counts: dict[str, int]
    items: list[ContextItem]


async def read_date_context(
    vault: Vault, actor: Actor, recipient: HandoffRecipient, window: DateWindow, limit: int
) -> DateContext:
    """Read the context of a date, as far as the caller may see it."""
    span = sessions.SessionFilter(None, window.first, window.end)
    visited, _ = await sessions.history(vault, actor, span, MAX_ROWS)
    worked = [
        ContextItem(
            each.started_at, "session", each.id, (each.summary or each.goal or "at work")[:MAX_CHARACTERS], each.who
        )
        for each in visited
        if each.summary or each.goal or each.tools
    ]

    def read(tx: Reader) -> list[ContextItem]:
        files = [*_read_notes(tx, window), *_read_changes(tx, window), *_read_tasks(tx, window)]
        return [*files, *_read_memories(tx, window, actor), *_read_handoffs(tx, window, recipient)]

    found = [*await vault.db.read(read), *worked]
    counts = Counter(each.what for each in found)
    nearest = sorted(
        found, key=lambda each: (_days_apart(each, window.day), _RANK.get(each.what, 1), each.at, each.ref)
    )
    chosen = sorted(nearest[:limit], key=lambda each: (each.at, each.what, each.ref))
    last = (date.fromisoformat(window.end) - timedelta(days=1)).isoformat()
    return DateContext(window.first, last, dict(counts.most_common()), chosen)


_RANK = {"decision": 0, "daily": 0, "handoff": 0, "modified": 2, "changed": 2, "session": 3}


def _days_apart(item: ContextItem, day: date) -> int:
    try:
        return abs((date.fromisoformat(item.at[:10]) - day).days)
    except ValueError:
        return MAX_ROWS


def _read_notes(tx: Reader, window: DateWindow) -> Iterator[ContextItem]:
    seen: set[str] = set()
    for path, title in tx.all("SELECT path, title FROM notes WHERE path LIKE '%____-__-__%' ORDER BY path DESC"):
        day = next((each for each in _DAY.findall(path.rpartition("/")[2]) if window.first <= each < window.end), None)
        if day is not None and len(seen) < MAX_ROWS:
            seen.add(path)
            yield ContextItem(day, "daily", path, title)
    for what, column in (("created", "created_at"), ("modified", "modified_at")):
        rows = tx.all(
            f"SELECT {column}, path, title FROM notes WHERE {column} >= :first AND {column} < :end"
            f" ORDER BY {column} DESC LIMIT :most",
            window.bounds,
        )
        for at, path, title in rows:
            if path not in seen:
                seen.add(path)
                yield ContextItem(at, what, path, title)


def _read_changes(tx: Reader, window: DateWindow) -> Iterator[ContextItem]:
    rows = tx.all(
        "SELECT at, id, summary, author FROM note_changes WHERE state = 'done' AND at >= :first AND at < :end"
        " ORDER BY seq DESC LIMIT :most",
        window.bounds,
    )
    for at, change, summary, author in rows:
        yield ContextItem(at, "changed", change, summary, author)


def _read_tasks(tx: Reader, window: DateWindow) -> Iterator[ContextItem]:
    rows = tx.all(
        "SELECT t.due, n.path, t.line, t.text FROM note_tasks t JOIN notes n ON n.seq = t.note"
        " WHERE t.due >= :first AND t.due < :end ORDER BY t.due, n.path LIMIT :most",
        window.bounds,
    )
    for due, path, line, text in rows:
        yield ContextItem(due, "task", f"{path}:{line}", text[:MAX_CHARACTERS])


def _read_memories(tx: Reader, window: DateWindow, actor: Actor) -> Iterator[ContextItem]:
    where, params = SearchFilter(actor.identity, clock.now(), since=window.first, until=window.end).over_memories()
    rows = tx.all(
        "SELECT COALESCE(m.occurred_at, m.created_at), m.type, m.id, m.title, m.author FROM memories m"
        f" WHERE {where} ORDER BY m.seq DESC LIMIT :most",
        {**params, "most": MAX_ROWS},
    )
    for at, kind, memory, title, author in rows:
        yield ContextItem(at, kind, memory, title, author)


def _read_handoffs(tx: Reader, window: DateWindow, recipient: HandoffRecipient) -> Iterator[ContextItem]:
    for each in handoffs.list_between(tx, recipient, window.first, window.end, MAX_ROWS):
        yield ContextItem(each.created_at, "handoff", each.id, each.goal[:MAX_CHARACTERS], each.author)
