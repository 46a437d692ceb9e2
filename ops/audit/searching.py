"""Who did what: entries of a chain by subject, tool, time, id and outcome.

Found are entries in the order of the clock, the newest first; of one moment, that with the higher number. Every page
is read by itself: a search that finds little is left with its caller, and holds nothing up.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ops.audit import chain_rows
from ops.audit.audit_log import AuditLog
from ops.audit.chain import AuditChain
from ops.audit.chain_rows import FAR, target_number
from ops.audit.entries import StoredEntry, ids_in, to_milliseconds
from vaults.db.sql import Reader
from vaults.errors import IndexUnavailable

MAX_LIMIT = 1000
PAGE = 500
MAX_LATE = 20_000
"""Entries that are not indexed and are looked at one by one all the same."""

Place = tuple[int, int]
"""Clock and number of an entry: what orders them."""


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """What to look for; None: any. ``since`` and ``until`` are stored moments, the second not included; ``before``: the
    number of an entry, of which only older ones are wanted: the next page."""

    subject: str | None = None
    tool: str | None = None
    since: str | None = None
    until: str | None = None
    target: str | None = None
    outcome: str | None = None
    limit: int = 100
    before: int | None = None

    def matches(self, fields: Mapping[str, Any]) -> bool:
        """Whether an entry that says this is one of those, whenever it was."""
        return (
            (self.subject is None or fields.get("subject") == self.subject)
            and (self.tool is None or fields.get("tool") == self.tool)
            and (self.outcome is None or fields.get("outcome") == self.outcome)
            and (self.target is None or self.target in ids_in(fields))
        )

    @property
    def first(self) -> int:
        """The earliest moment that counts, in milliseconds since 1970."""
        return 0 if self.since is None else to_milliseconds(self.since)

    @property
    def beyond(self) -> int:
        """The earliest moment after it that does not."""
        return FAR if self.until is None else to_milliseconds(self.until)

    @property
    def driver(self) -> tuple[str, dict[str, Any]]:
        """The rows of an index that may match, and the parameters of that."""
        if self.target is not None:
            # Few entries are about one thing, so their times are looked up.
            table = "(SELECT e.at, e.seq FROM entry_targets i JOIN entries e ON e.seq = i.seq WHERE i.target = :target)"
            return f"{table} t WHERE TRUE", {"target": target_number(self.target)}
        if self.subject is not None:
            return f"entry_subjects t WHERE t.subject = {_NUMBER}", {"name": self.subject}
        if self.tool is not None:
            return f"entry_tools t WHERE t.tool = {_NUMBER}", {"name": self.tool}
        return "entry_times t WHERE TRUE", {}


_NUMBER = "(SELECT number FROM names WHERE name = :name)"


@dataclass(frozen=True, slots=True)
class _Span:
    """What is indexed, up to which number; how many entries are not; and from where to begin."""

    indexed: int
    late: int
    start: Place


async def search(log: AuditLog, chain: str, query: AuditQuery, within_s: float = math.inf) -> list[StoredEntry]:
    """The entries that match, newest first. Those of the last moment are found as well. Raises ``IndexUnavailable``
    where more is to be indexed first than can be in that time."""
    where = log.chain(chain)
    if not where.exists:
        return []
    await log.settle(chain, within_s)
    span = await where.read(partial(_find_span, query=query))
    if span.late > MAX_LATE and within_s < math.inf:
        raise IndexUnavailable(
            "the audit is indexed for the first time",
            hint=f"{span.late:,} entries are left: ask again in some minutes, or search on the command line",
        )
    found = await _find_late(where, query, span)
    found += await _find_indexed(where, query, span)
    return sorted(found, key=_place, reverse=True)[: query.limit]


def _find_span(tx: Reader, query: AuditQuery) -> _Span:
    indexed, last = chain_rows.read_indexed(tx), int(tx.value("SELECT COALESCE(MAX(seq), 0) FROM entries"))
    start = (query.beyond, 0)
    if query.before is not None and query.before <= last:
        at = tx.value("SELECT at FROM entries WHERE seq = :before", {"before": query.before})
        start = min(start, (0 if at is None else int(at), query.before))  # one that is not kept any more was older
    return _Span(indexed, max(0, last - indexed), start)


async def _find_late(chain: AuditChain, query: AuditQuery, span: _Span) -> list[StoredEntry]:
    """What was written since it was indexed, or all there is where the file can only be read."""
    found: list[StoredEntry] = []
    following = span.indexed + 1
    while page := await chain.read(partial(chain_rows.read_from, first=following, limit=PAGE)):
        some = (each for each in _matching(page, query) if _place(each) < span.start)
        found = heapq.nlargest(query.limit, [*found, *some], key=_place)
        following = page[-1].seq + 1
    return found


async def _find_indexed(chain: AuditChain, query: AuditQuery, span: _Span) -> list[StoredEntry]:
    found: list[StoredEntry] = []
    place: Place | None = span.start
    while place is not None and len(found) < query.limit:
        page, place = await chain.read(partial(_read_page, query=query, place=place, indexed=span.indexed))
        found.extend(_matching(page, query))
    return found


def _read_page(tx: Reader, query: AuditQuery, place: Place, indexed: int) -> tuple[Sequence[StoredEntry], Place | None]:
    """The next entries that may match, and where the page after them begins."""
    where, params = query.driver
    rows = tx.all(
        f"SELECT t.at, t.seq FROM {where} AND t.at >= :first AND (t.at, t.seq) < (:at, :seq)"
        " ORDER BY t.at DESC, t.seq DESC LIMIT :page",
        params | {"first": query.first, "at": place[0], "seq": place[1], "page": PAGE},
    )
    entries = chain_rows.list_entries(tx, [int(seq) for _, seq in rows if seq <= indexed])
    return entries, (int(rows[-1][0]), int(rows[-1][1])) if len(rows) == PAGE else None


def _place(entry: StoredEntry) -> Place:
    return entry.at, entry.seq


def _matching(entries: Iterable[StoredEntry], query: AuditQuery) -> Iterable[StoredEntry]:
    first, beyond = query.first, query.beyond
    for each in entries:
        if not first <= each.at < beyond:
            continue
        try:
            wanted = query.matches(each.fields())
        except (ValueError, TypeError):  # forged: the check of the chain tells of it
            continue
        if wanted:
            yield each


async def export(log: AuditLog, chain: str, query: AuditQuery) -> AsyncIterator[StoredEntry]:
    """Every entry of that time, oldest first, without a limit; also what is forged."""
    where, following = log.chain(chain), 0
    first, beyond = query.first, query.beyond
    while where.exists and (page := await where.read(partial(chain_rows.read_from, first=following, limit=PAGE))):
        for each in page:
            if first <= each.at < beyond:
                yield each
        following = page[-1].seq + 1
