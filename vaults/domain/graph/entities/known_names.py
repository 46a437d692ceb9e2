"""Everything that has a name in a vault: notes, what memories speak of, what is linked to and not written. Of memories
only those the caller may see: nothing tells that there are others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vaults import clock
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.graph import centrality
from vaults.graph.link_feedback import dismissals
from vaults.graph.links import unresolved_names
from vaults.graph.links.unresolved_names import UnresolvedName
from vaults.graph.names import note_names
from vaults.graph.note_graph import Graph
from vaults.markdown.link_resolution import fold_name, name_key
from vaults.search.filters import SearchFilter
from vaults.vault import Vault

MAX_ROWS = 20_000
"""Memories that are counted, and names without a note; the newest and the most linked."""


@dataclass(frozen=True, slots=True)
class MemoryMentions:
    """Memories by what they speak of: notes by path, and names no note goes by, as they are written first."""

    notes: Mapping[str, int]
    names: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class KnownNames:
    """What there is. ``wanted``: names that are linked to without a note, but for those somebody dismissed."""

    graph: Graph
    hubs: Mapping[int, float]
    spoken: MemoryMentions
    wanted: Sequence[UnresolvedName]


def read_known_names(tx: Reader, vault: Vault, actor: Actor) -> KnownNames:
    """All of it, as the caller may see it."""
    refused = dismissals.read_prospects(tx)
    wanted = [each for each in unresolved_names.read_unresolved(tx, MAX_ROWS) if each.key not in refused]
    return KnownNames(vault.graph_cache.at(tx), centrality.read_scores(tx), count_memory_mentions(tx, actor), wanted)


def count_memory_mentions(tx: Reader, actor: Actor) -> MemoryMentions:
    """How many memories speak of what. A name that one note goes by is that note."""
    where, params = SearchFilter(actor.identity, clock.now()).over_memories()
    linked = f"FROM memory_subjects s JOIN memories m ON m.seq = s.from_memory WHERE {where} AND s.kind"
    rows = tx.all(
        "SELECT 'entity' AS kind, m.entity AS name, m.seq AS seq FROM memories m"
        f" WHERE m.entity IS NOT NULL AND {where}"
        f" UNION SELECT 'entity', s.subject, m.seq {linked} = 'entity'"
        f" UNION SELECT 'note', s.subject, m.seq {linked} = 'note'"
        " ORDER BY seq DESC LIMIT :rows",
        {**params, "rows": MAX_ROWS},
    )
    notes, names = defaultdict[str, set[int]](set), defaultdict[str, set[int]](set)
    first: dict[str, str] = {}
    paths: dict[str, str | None] = {}
    for kind, name, seq in rows:
        if kind == "note":
            notes[name].add(seq)
            continue
        if name not in paths:
            paths[name] = note_names.resolve_to_path(tx, name, "") if name_key(name) else None
        path = paths[name]
        if path is not None:
            notes[path].add(seq)
        else:
            names[first.setdefault(fold_name(name), name)].add(seq)
    return MemoryMentions(
        {path: len(each) for path, each in notes.items()}, {name: len(each) for name, each in names.items()}
    )
