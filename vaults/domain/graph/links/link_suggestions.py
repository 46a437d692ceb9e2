"""Suggesting links for a text: notes it names, to be linked in place, and related notes it does not name."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.errors import EmbeddingUnavailable, Overloaded
from vaults.files.paths import parent_folder
from vaults.graph import co_access_pairs, entity_vectors
from vaults.graph.entity_vectors import VectorMatrix
from vaults.graph.link_feedback.link_trust import FolderTrust, read_trust
from vaults.graph.names.gazetteer import Gazetteer
from vaults.graph.names.note_names import LinkResolver
from vaults.graph.note_graph import Graph, Node
from vaults.graph.suggestions import link_candidates, scoring_layers
from vaults.graph.suggestions.link_candidates import LinkCandidate, LinkingContext, LinkingText
from vaults.graph.suggestions.scoring_layers import STRICTNESS_LEVELS, Strictness
from vaults.markdown.links import find_links
from vaults.markdown.protected_spans import find_protected_in_scan
from vaults.markdown.scan import Scan, scan
from vaults.vault import Vault

MAX_CHARACTERS = 200_000
"""Max characters of a text that are examined."""

MAX_LINKS = 2_000
"""Max links of a text that are resolved."""

RECENT_DAYS, MAX_RECENT = 60, 500
"""Max age in days, and max number, of notes that count as recently changed."""

MAX_RELATED = 3
"""Max suggested notes that the text does not name."""

NO_MODEL = "the model is not to be had: suggestions go by names and links alone"
TEXT_CUT = f"only the first {MAX_CHARACTERS:,} characters were looked at"

SuggestionKind: TypeAlias = Literal["mention", "related"]


@dataclass(frozen=True, slots=True)
class SuggestionOptions:
    """What to suggest."""

    strictness: Strictness | None = None  # None: as the settings say
    limit: int = 20
    related: int = MAX_RELATED  # max notes that the text does not name
    without: frozenset[str] = frozenset()  # scoring layers to leave out, for measuring what each contributes


@dataclass(frozen=True, slots=True)
class LinkSuggestion:
    """A note to link. ``kind`` mention: ``term`` stands in the text on ``line``, its characters ``start`` to ``end``,
    and may be linked there; related: the text does not name it. ``layers``: points of each, of which ``score`` is the
    sum; ``confidence``: how likely somebody would link it by hand, or, a related one, either of the two the other."""

    kind: SuggestionKind
    path: str
    title: str
    score: float
    confidence: float
    term: str | None = None
    line: int | None = None
    start: int | None = None
    end: int | None = None
    layers: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LinkSuggestions:
    """``suggestions`` are the likeliest of ``total`` that pass the strictness."""

    suggestions: list[LinkSuggestion]
    total: int
    warnings: list[str] = field(default_factory=list)

    @property
    def truncated(self) -> bool:
        return len(self.suggestions) < self.total


async def suggest_links(
    vault: Vault, actor: Actor, text: str, source: str, options: SuggestionOptions
) -> list[LinkSuggestion]:
    """Suggest links for a text, likeliest first. ``source``: the path of its note, existing or not; '' for none."""
    return (await suggest_with_total(vault, actor, text, source, options)).suggestions


async def suggest_with_total(
    vault: Vault, actor: Actor, text: str, source: str, options: SuggestionOptions
) -> LinkSuggestions:
    """Like ``suggest_links``, with the total and warnings. Everybody in a vault may read its notes, so ``actor`` makes
    no difference yet."""
    del actor
    weighed = await weigh_candidates(vault, text, source)
    strictness = options.strictness or vault.shared.links.strictness
    found = await run_in(vault.shared.pool, choose_suggestions, weighed.candidates, text, options, strictness)
    return LinkSuggestions(*found, weighed.warnings)


@dataclass(frozen=True, slots=True)
class WeighedCandidates:
    """Every candidate with its evidence, before strictness is applied."""

    candidates: list[LinkCandidate]
    warnings: list[str]


async def weigh_candidates(vault: Vault, text: str, source: str) -> WeighedCandidates:
    """Collect what a text might link, with the evidence for each."""
    read = await run_in(vault.shared.pool, _ScannedText.of, text[:MAX_CHARACTERS])
    found = await vault.db.read(lambda tx: _read_vault(vault, tx, read, source))
    vector, warnings = await _read_or_embed(vault, found, read)
    if len(text) > MAX_CHARACTERS:
        warnings.append(TEXT_CUT)
    return WeighedCandidates(await run_in(vault.shared.pool, _find_candidates, vault, found, read, vector), warnings)


@dataclass(frozen=True, slots=True)
class _ScannedText:
    """A text, scanned."""

    text: str
    scan: Scan
    zones: list[tuple[int, int]]

    @classmethod
    def of(cls, text: str) -> _ScannedText:
        found = scan(text)
        return cls(text, found, find_protected_in_scan(found, text))

    @property
    def body(self) -> str:
        """The text without frontmatter."""
        return self.text[self.scan.body_start :]


@dataclass(frozen=True, slots=True)
class _VaultReading:
    """The vault's data, read in one transaction."""

    graph: Graph
    gazetteer: Gazetteer
    trust: FolderTrust
    matrix: VectorMatrix
    pairs: dict[str, float]
    days: dict[int, float]
    texts: dict[int, str]  # to compute linking habits from, if they are outdated
    path: str
    source: Node | None
    linked: frozenset[int]
    about: str  # the text to embed
    held: bytes | None  # its stored vector, if any


def _read_vault(vault: Vault, tx: Reader, read: _ScannedText, path: str) -> _VaultReading:
    graph = vault.graph_cache.at(tx)
    source = graph.at(path) if path else None
    now = clock.now()
    matrix = vault.graph_cache.suggestions.matrix(tx)
    about = entity_vectors.compose_text(source, read.body) if source else read.body[: 2 * entity_vectors.BODY_LENGTH]
    vector = (
        entity_vectors.read_vector(tx, source.number, matrix.model, entity_vectors.hash_text(about)) if source else None
    )
    return _VaultReading(
        graph=graph,
        gazetteer=vault.graph_cache.gazetteer(tx),
        trust=read_trust(tx, parent_folder(path)),
        matrix=matrix,
        pairs=co_access_pairs.read_weights(tx, path, now) if path else {},
        days=_read_recent_changes(tx, now),
        texts=vault.graph_cache.suggestions.texts(tx, graph),
        path=path,
        source=source,
        linked=_find_linked(tx, read, path, source),
        about=about,
        held=vector,
    )


def _find_linked(tx: Reader, read: _ScannedText, path: str, source: Node | None) -> frozenset[int]:
    """Notes that the text already links."""
    meanings, number = LinkResolver(tx), source.number if source else 0
    found = (meanings.of(each, path, number) for each in find_links(read.scan, read.text)[:MAX_LINKS] if each.target)
    return frozenset(each for each in found if each is not None)


def _read_recent_changes(tx: Reader, now: str) -> dict[int, float]:
    """Days since the last change, for recently changed notes."""
    moment = datetime.fromisoformat(now)
    since = clock.to_text(moment - timedelta(days=RECENT_DAYS))
    rows = tx.all(
        "SELECT seq, modified_at FROM notes WHERE modified_at >= :since ORDER BY modified_at DESC LIMIT :limit",
        {"since": since, "limit": MAX_RECENT},
    )
    return {int(seq): (moment - datetime.fromisoformat(at)).total_seconds() / 86_400 for seq, at in rows}


async def _read_or_embed(vault: Vault, found: _VaultReading, read: _ScannedText) -> tuple[bytes | None, list[str]]:
    """The text's vector: the stored one, else from the model if it answers in time; and warnings."""
    if found.held is not None or not found.matrix.notes or not read.body.strip():
        return found.held, []
    embedder = vault.embedder
    if embedder.state().status in ("off", "failed", "hung"):
        return None, [NO_MODEL]
    try:
        async with asyncio.timeout(vault.shared.embedding.write_wait_s):
            rows = await embedder.texts([found.about], urgent=True)
    except (TimeoutError, EmbeddingUnavailable, Overloaded):
        return None, [NO_MODEL]
    identity = embedder.identity
    return (rows[0].tobytes() if identity is not None and identity.key == found.matrix.model else None), []


def _find_candidates(
    vault: Vault, found: _VaultReading, read: _ScannedText, vector: bytes | None
) -> list[LinkCandidate]:
    lexicon, habits = vault.graph_cache.suggestions.at(found.graph, found.texts)
    context = LinkingContext(
        graph=found.graph,
        gazetteer=found.gazetteer,
        lexicon=lexicon,
        habits=habits,
        trust=found.trust,
        matrix=found.matrix,
        pairs=found.pairs,
        days=found.days,
    )
    number = found.source.number if found.source else None
    text = LinkingText(
        content=read.text, zones=read.zones, path=found.path, source=number, linked=found.linked, vector=vector
    )
    return link_candidates.find_link_candidates(context, text)


ScoredCandidate: TypeAlias = tuple[LinkCandidate, dict[str, float], float]
"""A candidate, its points by layer, and their sum."""


def choose_suggestions(
    candidates: Iterable[LinkCandidate], text: str, options: SuggestionOptions, strictness: Strictness
) -> tuple[list[LinkSuggestion], int]:
    """The candidates that are likely enough, and their number: named ones first, each by likelihood. Of several for the
    same words only the likeliest counts, and at most ``ask.related`` are not named in the text. A laxer strictness
    passes all that a stricter one does."""
    found = ((each, points, sum(points.values())) for each, points in _score_candidates(candidates, options))
    ranked = sorted(found, key=lambda one: (-one[2], one[0].node.path))
    mode = STRICTNESS_LEVELS[strictness]
    named = [one for one in _keep_best_per_place(ranked) if one[2] >= mode.named and _similarity_of(one) >= mode.alike]
    related = [one for one in ranked if one[0].place is None][: options.related]
    kept = named + [one for one in related if one[2] >= mode.related]
    return [_to_suggestion(one, text) for one in kept[: options.limit]], len(kept)


def _score_candidates(
    candidates: Iterable[LinkCandidate], options: SuggestionOptions
) -> Iterator[tuple[LinkCandidate, dict[str, float]]]:
    for each in candidates:
        points = scoring_layers.score_layers(each.evidence, options.without)
        if points is not None:
            yield each, points


def _keep_best_per_place(ranked: Iterable[ScoredCandidate]) -> Iterator[ScoredCandidate]:
    """The likeliest candidate at each place."""
    taken: set[tuple[int, int]] = set()
    for one in ranked:
        place = one[0].place
        if place is not None and (place.start, place.end) not in taken:
            taken.add((place.start, place.end))
            yield one


def _similarity_of(one: ScoredCandidate) -> float:
    return one[0].place.alike if one[0].place is not None else 1.0


def _to_suggestion(one: ScoredCandidate, text: str) -> LinkSuggestion:
    each, points, score = one
    node, place = each.node, each.place
    confidence = round(scoring_layers.to_confidence(score, named=place is not None), 2)
    if place is None:
        return LinkSuggestion("related", node.path, node.title, round(score, 1), confidence, layers=points)
    return LinkSuggestion(
        "mention",
        node.path,
        node.title,
        round(score, 1),
        confidence,
        term=text[place.start : place.end],
        line=text.count("\n", 0, place.start) + 1,
        start=place.start,
        end=place.end,
        layers=points,
    )
