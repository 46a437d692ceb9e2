"""Names that are linked to and have no note yet: notes that several people expect to find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vaults.db.sql import Reader
from vaults.graph import dangling, dismissals
from vaults.graph.dangling import Wanted

HIGH, MEDIUM = 3, 2
"""Notes that link to a name for it to be wanted much, or somewhat."""

MOST = 5000
"""Names looked at, most linked first."""

NAMED = 5
"""Notes of a stub that are told."""

Wish = Literal["high", "medium", "low"]


@dataclass(frozen=True, slots=True)
class Stub:
    """A name without a note: linked to by ``references`` notes, of which ``paths`` are some; how much it is wanted."""

    name: str
    key: str
    references: int
    links: int
    wanted: Wish
    paths: list[str]


@dataclass(frozen=True, slots=True)
class Stubs:
    """The most wanted of ``total``."""

    stubs: list[Stub]
    total: int


def wish(references: int) -> Wish:
    """How much a name is wanted that so many notes link to."""
    return "high" if references >= HIGH else "medium" if references >= MEDIUM else "low"


def stubs(tx: Reader, limit: int, first: int = 0) -> Stubs:
    """Names without a note that at least two notes link to, but for those somebody dismissed, from the ``first`` on."""
    refused = dismissals.prospects(tx)
    found = [each for each in dangling.wanted(tx, MOST) if each.notes >= MEDIUM and each.key not in refused]
    return Stubs([_stub(tx, each) for each in found[first : first + limit]], len(found))


def _stub(tx: Reader, each: Wanted) -> Stub:
    rows = tx.all(
        "SELECT DISTINCT s.path FROM note_links l JOIN notes s ON s.seq = l.note"
        " WHERE l.target_key = ? AND l.meant IS NULL ORDER BY s.path LIMIT ?",
        (each.key, NAMED),
    )
    return Stub(each.name, each.key, each.notes, each.links, wish(each.notes), [row[0] for row in rows])
