"""What a salvage found: of each table, how many rows came from where, and what is lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ops.salvage.content_proof import PROOFS, Proof

CONFLICTS_NAMED = 50

_PROOFS: Mapping[Proof, str] = {
    "hash": "proven by a hash",
    "content": "content proven by a hash, other fields by their page",
    "page": "believed by their page alone, which does not show a bit that changed inside a text",
}


@dataclass(slots=True)
class TableReport:
    """Rows of one table. ``from_file`` and ``from_log``: of the damaged database. ``doubtful``: found, but not
    believed. Of those that are there, ``older`` may have been changed or deleted since, and ``unproven`` have fields
    that nothing proves. ``lost``: known to have been there. ``may_miss``: where pages are gone there may have been rows
    that nothing names any more. ``proof``: what its rows are believed by."""

    table: str
    proof: Proof = "page"
    from_file: int = 0
    from_log: int = 0
    from_backup: int = 0
    doubtful: int = 0
    older: int = 0
    unproven: int = 0
    lost: int = 0
    may_miss: bool = False

    @property
    def is_whole(self) -> bool:
        return not (self.lost or self.doubtful or self.older or self.unproven or self.may_miss)

    @property
    def rows(self) -> int:
        """Rows in the new database."""
        return self.from_file + self.from_log + self.from_backup


@dataclass(frozen=True, slots=True)
class SourceReport:
    """One source, and what became of it."""

    name: str
    used: bool
    note: str = ""


@dataclass(slots=True)
class SalvageReport:
    """``sound``: the database is not damaged, and was left as it is. ``whole``: nothing was lost or is in doubt.
    ``log_is_damaged``: commits of the log are gone, so what is there may be older than what was answered.
    ``vectors``: carried over; the others are made anew. ``kept_as``: the damaged database's new name; None on a dry
    run. ``leftovers``: the file of doubtful rows. ``unopened``: why the vault did not open afterwards."""

    vault: str
    at: str
    whole: bool = True
    sound: bool = False
    dry_run: bool = False
    tables: list[TableReport] = field(default_factory=list)
    sources: list[SourceReport] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    memories: int = 0
    vectors: int = 0
    log_is_damaged: bool = False
    kept_as: str | None = None
    leftovers: str | None = None
    unopened: str | None = None

    def note_conflict(self, line: str) -> None:
        """Keep a line on two states of a row, if there are few."""
        if len(self.conflicts) < CONFLICTS_NAMED:
            self.conflicts.append(line)

    def of(self, table: str) -> TableReport:
        """The report of a table, new where there is none."""
        for each in self.tables:
            if each.table == table:
                return each
        self.tables.append(TableReport(table, PROOFS.get(table, "page")))
        return self.tables[-1]

    def to_lines(self) -> list[str]:
        """For people."""
        if self.sound:
            return [f"{self.vault}: its database is sound; nothing was changed"]
        lines = [f"{self.vault}: {'whole' if self.whole else 'not all of it came back'}, {self.memories:,} memories"]
        lines += [
            f"  source {each.name}: {'used' if each.used else 'not used'}{_about(each.note)}" for each in self.sources
        ]
        for each in self.tables:
            if not each.rows and each.is_whole:
                continue
            parts = [f"{each.from_file:,} of the file"]
            parts += [f"{count:,} {what}" for count, what in _counts(each) if count]
            parts += ["pages are gone: there may have been more"] if each.may_miss else []
            lines.append(f"  {each.table}: {', '.join(parts)}")
        lines += self._describe_proofs()
        lines += [f"  conflict: {each}" for each in self.conflicts]
        lines += [f"  the damaged database is kept as {self.kept_as}"] if self.kept_as else []
        lines += [f"  rows that are not believed stand in {self.leftovers}"] if self.leftovers else []
        lines += [f"  the vault did not open: {self.unopened}"] if self.unopened else []
        return lines

    def _describe_proofs(self) -> list[str]:
        """What kinds of rows are believed by what."""
        kinds = {proof: [each.table for each in self.tables if each.rows and each.proof == proof] for proof in _PROOFS}
        return [f"  {_PROOFS[proof]}: {', '.join(tables)}" for proof, tables in kinds.items() if tables]


def _counts(each: TableReport) -> list[tuple[int, str]]:
    return [
        (each.from_log, "of its log"),
        (each.from_backup, "of a backup"),
        (each.doubtful, "in doubt"),
        (each.older, "perhaps of an older version"),
        (each.unproven, "with fields that nothing proves"),
        (each.lost, "lost"),
    ]


def _about(note: str) -> str:
    return f" ({note})" if note else ""
