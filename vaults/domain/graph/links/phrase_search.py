"""Finding notes that may contain a name, by a phrase search in the word index. Each must still be read: the index
matches stems, and does not know code and links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vaults.db.sql import Reader
from vaults.domain.notes.index.extraction import KIND
from vaults.index import text_index, unspaced_scripts

MAX_NAMES = 20
"""Max names searched for at once."""


def find_notes_holding(tx: Reader, names: Sequence[str], where: str, params: Mapping[str, Any], most: int) -> list[str]:
    """Sorted paths of notes that may contain one of the names and meet the SQL condition ``where`` on ``n``."""
    words, pairs = _to_expressions(names[:MAX_NAMES])
    rows = []
    for table, expression in ((text_index.SHARED_WORDS, words), (text_index.SHARED_PAIRS, pairs)):
        if expression is not None:
            rows += tx.all(
                f"SELECT DISTINCT n.path FROM {text_index.from_passages(table)} JOIN notes n ON n.seq = p.item"
                f" WHERE {text_index.matches(table)} AND p.kind = :kind AND {where} ORDER BY n.path LIMIT :most",
                {**params, "kind": KIND, "most": most, "match": expression},
            )
    return sorted({row[0] for row in rows})[:most]


def _to_expressions(names: Sequence[str]) -> tuple[str, str | None]:
    """Match expressions for the index of words, and for that of scripts without spaces."""
    phrases = " OR ".join('"' + name.replace('"', '""').replace("\0", " ") + '"' for name in names)
    runs = tuple(run for name in names for run in unspaced_scripts.find_runs(name))
    return f"body : ({phrases})", unspaced_scripts.match_expression(runs)
