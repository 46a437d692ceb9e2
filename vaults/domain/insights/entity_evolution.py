"""The evolution of a note, or of a name without one: who changed it, which notes began or ceased to link to it, and
memories about it that the caller may see."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from vaults import clock
from vaults.advice import Advice, tool_clause
from vaults.db.sql import Reader, bind_list
from vaults.domain.actors import Actor
from vaults.domain.graph.entities import entity_lookup
from vaults.domain.insights import periods
from vaults.domain.insights.periods import PeriodUnit
from vaults.domain.notes.commit import journal
from vaults.domain.notes.read import change_history
from vaults.domain.text.sanitize import to_one_line
from vaults.errors import NotFound
from vaults.graph.links import link_history, link_queries
from vaults.graph.names import note_names
from vaults.markdown.link_resolution import name_key
from vaults.search.filters import SearchFilter
from vaults.vault import Vault

MAX_ROWS = 5_000
"""Max link events, and max memories, that are counted, newest first."""

MAX_CHANGES = 200
"""Max changes searched for a move."""

MAX_MOVES = 10
"""Max earlier paths of a note that are followed."""

MAX_PERIODS = 24
"""Max periods returned, the last ones in which anything happened."""


@dataclass(frozen=True, slots=True)
class EvolutionEvent:
    """One thing that happened. ``what``: changed, linked, unlinked (another note began or ceased to link to it), links,
    drops (it began or ceased to link to another), remembered. ``ref``: a note's path, a change's or a memory's id."""

    at: str
    what: str
    ref: str
    who: str | None = None
    said: str | None = None


@dataclass(frozen=True, slots=True)
class EvolutionPeriod:
    """What happened in a period. ``mentions``: links that came and memories that speak of it."""

    period: str
    mentions: int = 0
    linked: int = 0
    unlinked: int = 0
    changes: int = 0
    memories: int = 0


@dataclass(frozen=True, slots=True)
class EntityEvolution:
    """``edits``: how often the note was changed since it was first seen; ``by``: changes that tools made, by whom.
    ``linked_from``: links to it now. ``happenings``: the newest first."""

    name: str
    path: str | None = None
    created_at: str | None = None
    modified_at: str | None = None
    edits: int = 0
    linked_from: int = 0
    memories: int = 0
    by: dict[str, int] = field(default_factory=dict)
    spans: list[EvolutionPeriod] = field(default_factory=list)
    happenings: list[EvolutionEvent] = field(default_factory=list)


async def read_evolution(vault: Vault, actor: Actor, entity: str, unit: PeriodUnit, limit: int) -> EntityEvolution:
    """The evolution of a note by its path or any of its names, or of a name that memories carry or notes link to.
    Raises ``NotFound`` and ``Conflict``."""
    path = await entity_lookup.find_note_path(vault, entity)
    changes = (await change_history.list_history(vault, path, min(limit, 100))).changes if path is not None else []
    changed = [EvolutionEvent(each.at, "changed", each.id, each.author, each.summary) for each in changes]

    def read(tx: Reader) -> EntityEvolution:
        of = _find_subject(tx, path) if path is not None else None
        changed.extend(_read_earlier(tx, path, min(limit, 100)) if path is not None else ())
        subject = of or _EvolvingSubject(entity.strip(), {name_key(entity)} - {""}, (entity.strip(),))
        links = _read_links(tx, subject)
        memories = _read_memories(tx, subject, actor)
        if of is None and not (
            links or memories or any(link_queries.count_links_naming(tx, key) for key in subject.keys)
        ):
            raise NotFound(
                f"no entity {to_one_line(entity)}",
                hint=Advice(tool_clause("entities action=list shows what there is", "entities list")),
            )
        return _to_evolution(tx, subject, [*changed, *links, *memories], unit, limit)

    return await vault.db.read(read)


def _read_earlier(tx: Reader, path: str, limit: int) -> list[EvolutionEvent]:
    """Changes to a note while it had another path; the move itself is among those of its present path."""
    found: list[EvolutionEvent] = []
    last: int | None = None
    for _ in range(MAX_MOVES):
        moves = [
            each for each in journal.list_changes(tx, path, MAX_CHANGES, last) if any(f.to == path for f in each.files)
        ]
        if not moves:
            break
        last, path = moves[0].seq, next(f.path for f in moves[0].files if f.to == path)
        for each in journal.list_changes(tx, path, limit, last):
            found.append(EvolutionEvent(each.at, "changed", each.id, each.author, each.summary))
    return found[:limit]


@dataclass(frozen=True, slots=True)
class _EvolvingSubject:
    """The subject of a query. ``keys``: those of names that mean only this subject."""

    name: str
    keys: set[str]
    names: Sequence[str]
    path: str | None = None
    number: int = 0
    created_at: str | None = None
    modified_at: str | None = None


def _find_subject(tx: Reader, path: str) -> _EvolvingSubject | None:
    row = tx.one("SELECT seq, title, created_at, modified_at FROM notes WHERE path = :path", {"path": path})
    if row is None:
        return None
    number, title, created_at, modified_at = row
    return _EvolvingSubject(
        name=title,
        keys={key for key in note_names.read_keys(tx, number) if len(note_names.find_notes(tx, key)) == 1},
        names=note_names.read_names(tx, number),
        path=path,
        number=number,
        created_at=created_at,
        modified_at=modified_at,
    )


def _read_links(tx: Reader, subject: _EvolvingSubject) -> list[EvolutionEvent]:
    """Links that were added and removed while the index was watching."""
    found = []
    for key in sorted(subject.keys):
        rows = tx.all(
            "SELECT at, path, added FROM link_history WHERE target = :key AND path <> :path"
            " ORDER BY seq DESC LIMIT :most",
            {"key": key, "path": subject.path or "", "most": MAX_ROWS},
        )
        found += [EvolutionEvent(at, "linked" if added else "unlinked", path) for at, path, added in rows]
    if subject.path is not None:
        rows = tx.all(
            "SELECT at, target, added FROM link_history WHERE path = :path ORDER BY seq DESC LIMIT :most",
            {"path": subject.path, "most": MAX_ROWS},
        )
        found += [EvolutionEvent(at, "links" if added else "drops", target) for at, target, added in rows]
    return found


def _read_memories(tx: Reader, subject: _EvolvingSubject, actor: Actor) -> list[EvolutionEvent]:
    """Memories that carry one of its names or are linked to it, as far as the caller may see them."""
    where, params = SearchFilter(actor.identity, clock.now()).over_memories()
    among, names = bind_list("name", map(_lower_ascii, subject.names[:50]))
    rows = tx.all(
        "SELECT COALESCE(m.occurred_at, m.created_at), m.id, m.author, m.title FROM memories m WHERE m.seq IN"
        f" (SELECT seq FROM memories WHERE entity IS NOT NULL AND lower(entity) IN ({among})"
        f" UNION SELECT from_memory FROM memory_subjects WHERE kind = 'note' AND subject = :path"
        f" OR kind = 'entity' AND lower(subject) IN ({among}))"
        f" AND {where} ORDER BY m.seq DESC LIMIT :most",
        {**params, **names, "path": subject.path or "", "most": MAX_ROWS},
    )
    return [EvolutionEvent(at, "remembered", memory, author, title) for at, memory, author, title in rows]


def _lower_ascii(name: str) -> str:
    """Lower-case like SQLite's ``lower``, which only knows the capitals of ASCII."""
    return re.sub("[A-Z]+", lambda found: found[0].lower(), name)


_COUNTED = {"linked": "linked", "unlinked": "unlinked", "changed": "changes", "remembered": "memories"}


def _to_evolution(
    tx: Reader, subject: _EvolvingSubject, happenings: list[EvolutionEvent], unit: PeriodUnit, limit: int
) -> EntityEvolution:
    spans: dict[str, Counter[str]] = defaultdict(Counter)
    for each in happenings:
        if each.what in _COUNTED:
            spans[periods.to_period(each.at, unit)][_COUNTED[each.what]] += 1
    happenings.sort(key=lambda each: (each.at, each.what, each.ref), reverse=True)
    return EntityEvolution(
        name=subject.name,
        path=subject.path,
        created_at=subject.created_at,
        modified_at=subject.modified_at,
        edits=link_history.read_edits(tx, subject.path) if subject.path is not None else 0,
        linked_from=_count_linked_from(tx, subject),
        memories=sum(each.what == "remembered" for each in happenings),
        by=dict(Counter(each.who for each in happenings if each.what == "changed" and each.who).most_common(20)),
        spans=[_to_period(name, spans[name]) for name in sorted(spans)][-MAX_PERIODS:],
        happenings=happenings[:limit],
    )


def _count_linked_from(tx: Reader, subject: _EvolvingSubject) -> int:
    if subject.path is not None:
        return link_queries.count_links_to(tx, subject.number)
    return sum(link_queries.count_links_naming(tx, key) for key in subject.keys)


def _to_period(name: str, counts: Counter[str]) -> EvolutionPeriod:
    return EvolutionPeriod(period=name, mentions=counts["linked"] + counts["memories"], **counts)
