"""Everything that has a name in a vault: notes, what memories speak of, what is linked to and not written. Of memories
only those the caller may see: nothing tells that there are others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vaults import clock
from vaults.db.sql import Reader
from vaults.domain.memories.memory_model import Actor
from vaults.graph import centrality
from vaults.graph.link_feedback import dismissals
from vaults.graph.links import unresolved_names
from vaults.graph.links.unresolved_names import Wanted
from vaults.graph.names import note_names
from vaults.graph.note_graph import Graph
from vaults.markdown.link_resolution import folded, name_key
from vaults.search.filters import Filter
from vaults.vault import Vault

ROWS = 20_000
"""Memories that are counted, and names without a note; the newest and the most linked."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """Memories by what they speak of: notes by path, and names no note goes by, as they are written first."""

    notes: Mapping[str, int]
    names: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Known:
    """What there is. ``wanted``: names that are linked to without a note, but for those somebody dismissed."""

    graph: Graph
    hubs: Mapping[int, float]
    spoken: Spoken
    wanted: Sequence[Wanted]


def known(tx: Reader, vault: Vault, actor: Actor) -> Known:
    """All of it, as the caller may see it."""
    refused = dismissals.prospects(tx)
    wanted = [each for each in unresolved_names.wanted(tx, ROWS) if each.key not in refused]
    return Known(vault.atlas.at(tx), centrality.hubs(tx), spoken(tx, actor), wanted)


def spoken(tx: Reader, actor: Actor) -> Spoken:
    """How many memories speak of what. A name that one note goes by is that note."""
    where, params = Filter(actor.identity, clock.now()).over_memories()
    linked = f"FROM memory_subjects s JOIN memories m ON m.seq = s.from_memory WHERE {where} AND s.kind"
    rows = tx.all(
        "SELECT 'entity' AS kind, m.entity AS name, m.seq AS seq FROM memories m"
        f" WHERE m.entity IS NOT NULL AND {where}"
        f" UNION SELECT 'entity', s.subject, m.seq {linked} = 'entity'"
        f" UNION SELECT 'note', s.subject, m.seq {linked} = 'note'"
        " ORDER BY seq DESC LIMIT :rows",
        {**params, "rows": ROWS},
    )
    notes, names = defaultdict[str, set[int]](set), defaultdict[str, set[int]](set)
    first: dict[str, str] = {}
    paths: dict[str, str | None] = {}
    for kind, name, seq in rows:
        if kind == "note":
            notes[name].add(seq)
            continue
        if name not in paths:
            paths[name] = note_names.resolved(tx, name, "") if name_key(name) else None
        path = paths[name]
        if path is not None:
            notes[path].add(seq)
        else:
            names[first.setdefault(folded(name), name)].add(seq)
    return Spoken({path: len(each) for path, each in notes.items()}, {name: len(each) for name, each in names.items()})
