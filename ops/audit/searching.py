"""Who did what: entries of a chain by subject, tool, time, id and outcome."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ops.audit import chain_rows
from ops.audit.audit_log import AuditLog
from ops.audit.chain_rows import target_number
from ops.audit.entries import StoredEntry, ids_in, to_milliseconds
from vaults.db.sql import Reader

MAX_LIMIT = 1000
PAGE = 500
FAR = 2**62
"""Later than any entry."""


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """What to look for; None: any. ``since`` and ``until`` are stored moments, the second not included; ``before``:
    only entries with a lower number, for the next page."""

    subject: str | None = None
    tool: str | None = None
    since: str | None = None
    until: str | None = None
    target: str | None = None
    outcome: str | None = None
    limit: int = 100
    before: int | None = None

    def matches(self, entry: StoredEntry, fields: Mapping[str, Any]) -> bool:
        """Whether an entry is one of those."""
        return (
            (self.subject is None or fields.get("subject") == self.subject)
            and (self.tool is None or fields.get("tool") == self.tool)
            and (self.outcome is None or fields.get("outcome") == self.outcome)
            and (self.target is None or self.target in ids_in(fields))
            and (self.before is None or entry.seq < self.before)
            and self._first <= entry.at < self._beyond
        )

    @property
    def _first(self) -> int:
        return 0 if self.since is None else to_milliseconds(self.since)

    @property
    def _beyond(self) -> int:
        return FAR if self.until is None else to_milliseconds(self.until)

    @property
    def driver(self) -> tuple[str, dict[str, Any]]:
        """The statement that lists the numbers of what may match, newest first, and its parameters."""
        params: dict[str, Any] = {"first": self._first, "beyond": self._beyond, "last": self.before or FAR}
        if self.target is not None:
            where, order = "entry_targets t WHERE t.target = :target", "t.seq DESC"
            params["target"] = target_number(self.target)
        elif self.subject is not None or self.tool is not None:
            table, column, name = (
                ("entry_subjects", "subject", self.subject)
                if self.subject is not None
                else ("entry_tools", "tool", self.tool)
            )
            where = (
                f"{table} t WHERE t.{column} = (SELECT number FROM names WHERE name = :name)"
                " AND t.at >= :first AND t.at < :beyond"
            )
            params["name"] = name
            order = "t.at DESC, t.seq DESC"
        else:
            where, order = "entry_times t WHERE t.at >= :first AND t.at < :beyond", "t.at DESC, t.seq DESC"
        return f"SELECT t.seq FROM {where} AND t.seq < :last ORDER BY {order} LIMIT :page OFFSET :skip", params


async def search(log: AuditLog, chain: str, query: AuditQuery) -> list[StoredEntry]:
    """The entries that match, newest first. Those of the last moment are found as well."""
    await log.settle(chain)
    return await log.chain(chain).read(lambda tx: _search(tx, query))


def _search(tx: Reader, query: AuditQuery) -> list[StoredEntry]:
    indexed = int(tx.value("SELECT seq FROM indexed"))
    # Written since, or all of it where the file can only be read.
    found = list(_matching(reversed(chain_rows.read_from(tx, indexed + 1, FAR)), query))[: query.limit]
    sql, params = query.driver
    skip = 0
    while len(found) < query.limit:
        numbers = [int(seq) for (seq,) in tx.all(sql, params | {"page": PAGE, "skip": skip})]
        if not numbers:
            break
        skip += len(numbers)
        known = [seq for seq in numbers if seq <= indexed]
        found.extend(_matching(chain_rows.list_entries(tx, known), query))
    return found[: query.limit]


def _matching(entries: Iterable[StoredEntry], query: AuditQuery) -> Iterable[StoredEntry]:
    for each in entries:
        try:
            fields = each.fields()
        except ValueError:  # the check of the chain tells of it
            continue
        if query.matches(each, fields):
            yield each


async def export(log: AuditLog, chain: str, query: AuditQuery) -> AsyncIterator[StoredEntry]:
    """Every entry that matches, oldest first, without a limit."""
    following = 0
    while page := await log.chain(chain).read(partial(chain_rows.read_from, first=following, limit=PAGE)):
        for each in _matching(page, query):
            yield each
        following = page[-1].seq + 1
