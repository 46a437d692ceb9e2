"""All facts about one note, and notes near it in meaning that it is not linked with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.graph import memory_mentions
from vaults.domain.graph.entities import entity_lookup
from vaults.domain.graph.links import link_suggestions
from vaults.domain.notes.read.note_lookup import open_note
from vaults.domain.schema import reports
from vaults.domain.text.plurals import pluralize
from vaults.files.paths import parent_folder
from vaults.graph import centrality
from vaults.graph.entity_vectors import VectorMatrix
from vaults.graph.links import link_history
from vaults.graph.names import categories
from vaults.graph.note_graph import NO_NOTES, Graph
from vaults.markdown import parser as markdown
from vaults.markdown.link_resolution import name_key
from vaults.vault import Vault

MIN_COSINE = 0.5
"""Min cosine of two notes' vectors to count as near."""

MAX_SIMILAR = 5
"""Max similar notes listed among the facts."""

STALE_DAYS = 180
"""Days without a change after which a note that others rely on should be reviewed."""

MAX_LISTED = 50
"""Max aliases, tags, and missing things listed for one note."""

MAX_VIOLATIONS = 1_000
"""Max violations in a folder that are searched for a note's own."""

NO_VECTORS = "meaning is not known yet: there is no model, or it is still at work; names and links count"

_WORD = re.compile(r"\w+(?:['’-]\w+)*")


@dataclass(frozen=True, slots=True)
class NearNote:
    """A note near in meaning. ``score``: cosine; ``linked``: whether either links the other; ``shared``: notes both are
    linked with."""

    path: str
    title: str
    score: float
    linked: bool
    shared: int


@dataclass(frozen=True, slots=True)
class MissingField:
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
    similar: list[NearNote] = field(default_factory=list)
    missing: list[MissingField] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)


async def read_note_facts(vault: Vault, actor: Actor, entity: str) -> tuple[NoteFacts, list[str]]:
    """The facts about a note by its path or any of its names, and warnings. Raises ``NotFound``."""
    note = await open_note(vault, await entity_lookup.require_note_path(vault, entity))
    parsed = await run_in(vault.shared.pool, _read_text, note.text)
    facts, graph, matrix, number = await vault.db.read(
        lambda tx: _read_rows(tx, vault, actor, (note.path, note.etag, parsed))
    )
    ask = link_suggestions.SuggestionOptions(limit=1)
    offered = await link_suggestions.suggest_with_total(vault, actor, note.text, note.path, ask)
    near = await run_in(vault.shared.pool, rank_near_notes, graph, matrix, number)
    missing = await _find_missing(vault, note.path)
    facts = replace(facts, suggested_links=offered.total, similar=near[:MAX_SIMILAR], missing=missing)
    warnings = [*note.warnings, *offered.warnings] if matrix.notes else [*note.warnings, NO_VECTORS]
    return replace(facts, advice=_give_advice(facts, near)), list(dict.fromkeys(warnings))


async def find_semantic_links(vault: Vault, entity: str, limit: int) -> tuple[str, list[NearNote], list[str]]:
    """The path of a note, notes near it in meaning without a link in either direction, and warnings. Raises
    ``NotFound``."""
    path = await entity_lookup.require_note_path(vault, entity)

    def read(tx: Reader) -> tuple[Graph, VectorMatrix, int]:
        number = int(tx.value("SELECT seq FROM notes WHERE path = :path", {"path": path}) or 0)
        return vault.graph_cache.at(tx), vault.graph_cache.suggestions.matrix(tx), number

    graph, matrix, number = await vault.db.read(read)
    near = await run_in(vault.shared.pool, rank_near_notes, graph, matrix, number)
    apart = [each for each in near if not each.linked][:limit]
    return path, apart, [] if number in matrix.notes else [NO_VECTORS]


def rank_near_notes(graph: Graph, matrix: VectorMatrix, number: int) -> list[NearNote]:
    """Notes near one in meaning, nearest first."""
    if matrix.rows is None or number not in matrix.notes:
        return []
    row = matrix.rows[matrix.notes.index(number)]
    mine = _find_neighbours(graph, number)
    found = []
    for other, cosine in matrix.likeness(row.astype("<f4").tobytes()).items():
        node = graph.nodes.get(other)
        if node is not None and other != number and cosine >= MIN_COSINE:
            shared = len(mine & _find_neighbours(graph, other))
            found.append(NearNote(node.path, node.title, round(min(1.0, cosine), 3), other in mine, shared))
    return sorted(found, key=lambda each: (-each.score, each.path))


def _find_neighbours(graph: Graph, number: int) -> frozenset[int]:
    return graph.into.get(number, NO_NOTES) | graph.out.get(number, NO_NOTES)


@dataclass(frozen=True, slots=True)
class _ReadText:
    words: int
    note: markdown.ParsedNote


def _read_text(text: str) -> _ReadText:
    parsed = markdown.parse(text)
    return _ReadText(sum(1 for _ in _WORD.finditer(text, parsed.body_start)), parsed)


_ReadNote = tuple[str, str, _ReadText]
"""A note's path, etag and text."""


def _read_rows(tx: Reader, vault: Vault, actor: Actor, note: _ReadNote) -> tuple[NoteFacts, Graph, VectorMatrix, int]:
    path, etag, text = note
    graph, matrix = vault.graph_cache.at(tx), vault.graph_cache.suggestions.matrix(tx)
    row = tx.one("SELECT seq, created_at, modified_at FROM notes WHERE path = :path", {"path": path})
    number, created, modified = row or (0, clock.now(), clock.now())
    node = graph.nodes.get(number)
    today = clock.now()[:10]
    unfinished = [task for task in text.note.tasks if task.status == " "]
    facts = NoteFacts(
        path=path,
        title=node.title if node else text.note.title or path,
        category=categories.infer_category(node) if node else "",
        aliases=list(text.note.aliases[:MAX_LISTED]),
        tags=list(text.note.tags[:MAX_LISTED]),
        etag=etag,
        created_at=created,
        modified_at=modified,
        days=int(clock.age_s(modified) // 86_400),
        edits=link_history.read_edits(tx, path),
        words=text.words,
        sections=len(text.note.headings),
        links_in=len(graph.into.get(number, NO_NOTES)),
        links_out=len(graph.out.get(number, NO_NOTES)),
        broken=_read_broken(tx, number),
        hub=centrality.read_scores(tx).get(number, 0.0),
        tasks_open=len(unfinished),
        tasks_overdue=sum(bool(task.due and task.due[:10] < today) for task in unfinished),
        memories=len(memory_mentions.read_memories_about(tx, node, actor)) if node else 0,
    )
    return facts, graph, matrix, number


def _read_broken(tx: Reader, number: int) -> list[str]:
    rows = tx.all(
        "SELECT DISTINCT target FROM note_links WHERE note = :note AND meant IS NULL AND target_key <> ''"
        " ORDER BY target LIMIT 50",
        {"note": number},
    )
    return [str(target) for (target,) in rows if name_key(target)]


async def _find_missing(vault: Vault, path: str) -> list[MissingField]:
    """Where it differs from its schema, or from the notes in its folder."""
    span = reports.SchemaQuery(parent_folder(path) or None, MAX_VIOLATIONS, 100_000)
    found = await reports.report_violations(vault, span, None)
    return [MissingField(each.field, each.reason, each.suggestion) for each in found.rows if each.path == path][
        :MAX_LISTED
    ]


def _give_advice(facts: NoteFacts, near: list[NearNote]) -> list[str]:
    apart = [each for each in near if not each.linked]
    unlike, stale = len(facts.missing), facts.days > STALE_DAYS and facts.links_in > 2
    reasons: Mapping[str, object] = {
        f"mend {pluralize(len(facts.broken), 'link')} leading nowhere (links action=validate)": facts.broken,
        pluralize(facts.tasks_overdue, "task is overdue", "tasks are overdue"): facts.tasks_overdue,
        "nothing links to it": not facts.links_in,
        "it links to nothing": not facts.links_out,
        f"{pluralize(facts.suggested_links, 'link')} could be set (links action=suggest)": facts.suggested_links,
        f"{pluralize(len(apart), 'note')} near in meaning, not linked (mode=semantic_links)": apart,
        f"{pluralize(unlike, 'thing')} not as in notes like it (schema action=validate)": unlike,
        f"{pluralize(facts.links_in, 'note')} rely on it, unchanged for {pluralize(facts.days, 'day')}": stale,
    }
    return [advice for advice, holds in reasons.items() if holds]
