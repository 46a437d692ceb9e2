"""Names that are linked to but that no note goes by: notes somebody thought of and nobody wrote."""

from __future__ import annotations

import re
from dataclasses import dataclass

from vaults.db.sql import Reader

_TEMPLATE = re.compile(r"\$\{|\{\{|[\"<>]")  # filled in by something before it is a link
_FILE = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}\Z")


@dataclass(frozen=True, slots=True)
class UnresolvedName:
    """A name without a note, in one of its spellings. ``links``: how many lead to it, from how many ``notes``."""

    key: str
    name: str
    links: int
    notes: int


def read_unresolved(tx: Reader, most: int) -> list[UnresolvedName]:
    """Such names, most linked first; without names of files that are not notes, and names that several notes share."""
    rows = tx.all(
        "SELECT l.target_key, MIN(l.target), COUNT(*), COUNT(DISTINCT l.note) FROM note_links l"
        " WHERE l.meant IS NULL AND l.target_key <> '' AND l.kind <> 'markdown'"
        " AND NOT EXISTS (SELECT 1 FROM note_names k WHERE k.key = l.target_key)"
        " GROUP BY l.target_key ORDER BY COUNT(DISTINCT l.note) DESC, COUNT(*) DESC, l.target_key LIMIT :limit",
        {"limit": most},
    )
    found = [UnresolvedName(key, name.strip("/ "), int(links), int(notes)) for key, name, links, notes in rows]
    return [each for each in found if not is_file_name(each.name) and not _TEMPLATE.search(each.name)]


def is_file_name(name: str) -> bool:
    """Whether a name looks like that of a picture or another file that is no note."""
    return _FILE.search(name) is not None
