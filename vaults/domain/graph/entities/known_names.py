"""All names in a vault: of notes, of what memories are about, and of links without a note. Only memories that the
caller may see count; nothing reveals that there are others."""

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
"""Max memories counted, newest first, and max names without a note, most linked first."""


@dataclass(frozen=True, slots=True)
class MemoryMentions:
    """Number of memories by what they are about: notes by path, and names without a note, as first spelled."""

    notes: Mapping[str, int]
    names: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class KnownNames:
    """All names in a vault."""

    graph: Graph
    hubs: Mapping[int, float]
    spoken: MemoryMentions
    wanted: Sequence[UnresolvedName]  # linked names without a note, except dismissed ones


def read_known_names(tx: Reader, vault: Vault, actor: Actor) -> KnownNames:
    """All names, as far as the caller may see them."""
    refused = dismissals.read_prospects(tx)
    wanted = [each for each in unresolved_names.read_unresolved(tx, MAX_ROWS) if each.key not in refused]
    return KnownNames(vault.graph_cache.at(tx), centrality.read_scores(tx), count_memory_mentions(tx, actor), wanted)


def count_memory_mentions(tx: Reader, actor: Actor) -> MemoryMentions:
    """Count memories by what they are about. A name that exactly one note has counts as that note."""
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
