"""Which rows of another system's table were superseded by which, in a form that lines can say.

A line names one older memory that came before it. Whatever else there is becomes a link between the two: a second older
one, one that was written later, and with it each circle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vaults.sources.sqlite_file import SqliteFile


@dataclass(frozen=True, slots=True)
class Superseded:
    """``newer``: what took its place. ``said``: whether the line of the newer one says so."""

    newer: Any
    said: bool


class Supersessions:
    """The superseded rows of a table. ``own`` is the column of its ids, ``by`` that of the newer one's id."""

    def __init__(self, file: SqliteFile, table: str, own: str, by: str) -> None:
        self._file = file
        file.note(
            "replaced",
            "SELECT older, newer, in_order AND ROW_NUMBER() OVER (PARTITION BY newer ORDER BY in_order DESC, place) = 1"
            f" AS said FROM (SELECT o.{own} AS older, n.{own} AS newer, o.rowid < n.rowid AS in_order, o.rowid AS place"
            f" FROM {table} o JOIN {table} n ON n.{own} = o.{by} WHERE o.rowid <> n.rowid AND o.{by} <> '')",
            ("older", "newer", "said"),
        )

    def older_of(self, newer: Any) -> Any | None:
        """What the line of ``newer`` supersedes."""
        return next(
            (row[0] for row in self._file.query("SELECT older FROM replaced WHERE newer = ? AND said", (newer,))), None
        )

    def newer_of(self, older: Any) -> Superseded | None:
        """What superseded ``older``; None for nothing, or nothing that is still there."""
        found = self._file.query("SELECT newer, said FROM replaced WHERE older = ?", (older,))
        return next((Superseded(newer, bool(said)) for newer, said in found), None)
