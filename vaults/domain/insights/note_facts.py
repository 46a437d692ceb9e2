"""All that is known of one note, and notes near it in meaning that it is not linked with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.graph import memory_mentions
from vaults.domain.graph.entities import entity_lookup
from vaults.domain.graph.links import link_suggestions
from vaults.domain.memories.memory_model import Actor
from vaults.domain.notes.read.note_lookup import opened
from vaults.domain.schema import reports
from vaults.domain.text.plurals import many
from vaults.files.paths import parent
from vaults.graph import centrality
from vaults.graph.entity_vectors import Matrix
from vaults.graph.links import link_history
from vaults.graph.names import categories
from vaults.graph.note_graph import NONE, Graph
from vaults.markdown import parser as markdown
from vaults.markdown.link_resolution import name_key
from vaults.vault import Vault

NEAR = 0.5
"""Cosine of two notes' vectors from which they are told as near."""

SIMILAR = 5
"""Similar notes told beside other facts."""

STALE_DAYS = 180
"""Days after which a note that others rely on should be looked at."""

NAMES = 50
"""Aliases, tags, and things it lacks that are told of one note."""

VIOLATIONS = 1_000
"""Exceptions in a folder that are looked through for a note's own."""

NO_VECTORS = "meaning is not known yet: there is no model, or it is still at work; names and links count"

_WORD = re.compile(r"\w+(?:['’-]\w+)*")


@dataclass(frozen=True, slots=True)
class Near:
    """A note near in meaning. ``score``: cosine; ``linked``: whether either links the other; ``shared``: notes both are
    linked with."""

    path: str
    title: str
    score: float
    linked: bool
    shared: int


@dataclass(frozen=True, slots=True)
class Missing:
    """What a note lacks that those like it have, or that its schema asks for."""

    field: str | None
    reason: str
    suggestion: str | None = None


@dataclass(frozen=True, slots=True)
class NoteFacts:
    """``broken``: links that mean no note; ``hub``: how central it is, 0 to 100; ``suggested_links``: how many
    ``links action=suggest`` would offer; ``memories``: that speak of it, of those the caller may see, 20 at most;
    ``advice``: what to do for it, the most useful first."""

    path: str
    title: str
    category: str
    aliases: list[str]
    tags: list[str]
    etag: str
    created_at: str
    modified_at: str
    days: int
    edits: int
    words: int
    sections: int
    links_in: int
    links_out: int
    broken: list[str]
    hub: float
    tasks_open: int
    tasks_overdue: int
    memories: int
    suggested_links: int = 0
    similar: list[Near] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)


async def note_facts(vault: Vault, actor: Actor, entity: str) -> tuple[NoteFacts, list[str]]:
    """Of a note by its path or any of its names, with what is to be said of the answer. Raises ``NotFound``."""
    note = await opened(vault, await entity_lookup.path_of(vault, entity))
    parsed = await run_in(vault.shared.pool, _read, note.text)
    facts, graph, matrix, number = await vault.db.read(
        lambda tx: _facts(tx, vault, actor, (note.path, note.etag, parsed))
    )
    ask = link_suggestions.Ask(limit=1)
    offered = await link_suggestions.suggested(vault, actor, note.text, note.path, ask)
    near = await run_in(vault.shared.pool, near_to, graph, matrix, number)
    missing = await _missing(vault, note.path)
    facts = replace(facts, suggested_links=offered.total, similar=near[:SIMILAR], missing=missing)
    warnings = [*note.warnings, *offered.warnings] if matrix.notes else [*note.warnings, NO_VECTORS]
    return replace(facts, advice=_advice(facts, near)), list(dict.fromkeys(warnings))


async def semantic_links(vault: Vault, entity: str, limit: int) -> tuple[str, list[Near], list[str]]:
    """The path of a note, notes near it in meaning that neither link it nor are linked by it, and what is to be said of
    the answer. Raises ``NotFound``."""
    path = await entity_lookup.path_of(vault, entity)

    def read(tx: Reader) -> tuple[Graph, Matrix, int]:
        number = int(tx.value("SELECT seq FROM notes WHERE path = ?", (path,)) or 0)
        return vault.atlas.at(tx), vault.atlas.learned.matrix(tx), number

    graph, matrix, number = await vault.db.read(read)
    near = await run_in(vault.shared.pool, near_to, graph, matrix, number)
    apart = [each for each in near if not each.linked][:limit]
    return path, apart, [] if number in matrix.notes else [NO_VECTORS]


def near_to(graph: Graph, matrix: Matrix, number: int) -> list[Near]:
    """Notes near one in meaning, nearest first."""
    if matrix.rows is None or number not in matrix.notes:
        return []
    row = matrix.rows[matrix.notes.index(number)]
    mine = _beside(graph, number)
    found = []
    for other, cosine in matrix.likeness(row.astype("<f4").tobytes()).items():
        node = graph.nodes.get(other)
        if node is not None and other != number and cosine >= NEAR:
            shared = len(mine & _beside(graph, other))
            found.append(Near(node.path, node.title, round(min(1.0, cosine), 3), other in mine, shared))
    return sorted(found, key=lambda each: (-each.score, each.path))


def _beside(graph: Graph, number: int) -> frozenset[int]:
    return graph.into.get(number, NONE) | graph.out.get(number, NONE)


@dataclass(frozen=True, slots=True)
class _Text:
    words: int
    note: markdown.Note


def _read(text: str) -> _Text:
    parsed = markdown.parse(text)
    return _Text(sum(1 for _ in _WORD.finditer(text, parsed.body_start)), parsed)


_Said = tuple[str, str, _Text]
"""A note's path, etag and text."""


def _facts(tx: Reader, vault: Vault, actor: Actor, said: _Said) -> tuple[NoteFacts, Graph, Matrix, int]:
    path, etag, text = said
    graph, matrix = vault.atlas.at(tx), vault.atlas.learned.matrix(tx)
    row = tx.one("SELECT seq, created_at, modified_at FROM notes WHERE path = ?", (path,))
    number, created, modified = (int(row[0]), str(row[1]), str(row[2])) if row else (0, clock.now(), clock.now())
    node = graph.nodes.get(number)
    today = clock.now()[:10]
    still = [task for task in text.note.tasks if task.status == " "]
    facts = NoteFacts(
        path=path,
        title=node.title if node else text.note.title or path,
        category=categories.category(node) if node else "",
        aliases=list(text.note.aliases[:NAMES]),
        tags=list(text.note.tags[:NAMES]),
        etag=etag,
        created_at=created,
        modified_at=modified,
        days=int(clock.age_s(modified) // 86_400),
        edits=link_history.edits(tx, path),
        words=text.words,
        sections=len(text.note.headings),
        links_in=len(graph.into.get(number, NONE)),
        links_out=len(graph.out.get(number, NONE)),
        broken=_broken(tx, number),
        hub=centrality.hubs(tx).get(number, 0.0),
        tasks_open=len(still),
        tasks_overdue=sum(bool(task.due and task.due[:10] < today) for task in still),
        memories=len(memory_mentions.of(tx, node, actor)) if node else 0,
    )
    return facts, graph, matrix, number


def _broken(tx: Reader, number: int) -> list[str]:
    rows = tx.all(
        "SELECT DISTINCT target FROM note_links WHERE note = ? AND meant IS NULL AND target_key <> ''"
        " ORDER BY target LIMIT 50",
        (number,),
    )
    return [str(target) for (target,) in rows if name_key(target)]


async def _missing(vault: Vault, path: str) -> list[Missing]:
    """Where it does otherwise than its schema, or than the notes beside it."""
    span = reports.Span(parent(path) or None, VIOLATIONS, 100_000)
    found = await reports.violations(vault, span, None)
    return [Missing(each.field, each.reason, each.suggestion) for each in found.rows if each.path == path][:NAMES]


def _advice(facts: NoteFacts, near: list[Near]) -> list[str]:
    apart = [each for each in near if not each.linked]
    unlike, stale = len(facts.missing), facts.days > STALE_DAYS and facts.links_in > 2
    said: Mapping[str, object] = {
        f"mend {many(len(facts.broken), 'link')} leading nowhere (links action=validate)": facts.broken,
        many(facts.tasks_overdue, "task is overdue", "tasks are overdue"): facts.tasks_overdue,
        "nothing links to it": not facts.links_in,
        "it links to nothing": not facts.links_out,
        f"{many(facts.suggested_links, 'link')} could be set (links action=suggest)": facts.suggested_links,
        f"{many(len(apart), 'note')} near in meaning, not linked (mode=semantic_links)": apart,
        f"{many(unlike, 'thing')} not as in notes like it (schema action=validate)": unlike,
        f"{many(facts.links_in, 'note')} rely on it, unchanged for {many(facts.days, 'day')}": stale,
    }
    return [advice for advice, holds in said.items() if holds]
