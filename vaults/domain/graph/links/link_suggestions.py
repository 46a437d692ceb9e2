"""Links a text should have: notes it names, to be linked in place, and notes it does not name that belong to it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.memories.memory_model import Actor
from vaults.errors import EmbeddingUnavailable, Overloaded
from vaults.files.paths import parent
from vaults.graph import co_access_pairs, entity_vectors
from vaults.graph.entity_vectors import Matrix
from vaults.graph.link_feedback.link_trust import Trust, trust
from vaults.graph.names.gazetteer import Gazetteer
from vaults.graph.names.note_names import Meanings
from vaults.graph.note_graph import Graph, Node
from vaults.graph.suggestions import link_candidates, scoring_layers
from vaults.graph.suggestions.link_candidates import Asked, Candidate, Ground
from vaults.graph.suggestions.scoring_layers import MODES, Strictness
from vaults.markdown.links import links
from vaults.markdown.protected_spans import protected_in
from vaults.markdown.scan import Scan, scan
from vaults.vault import Vault

LONGEST = 200_000
"""Characters of a text that are looked at."""

LINKS = 2_000
"""Links of a text that are understood."""

LATELY_DAYS, LATELY = 60, 500
"""Notes changed lately, and how many of them."""

RELATED = 3
"""Notes the text does not name that are suggested at most."""

NO_MODEL = "the model is not to be had: suggestions go by names and links alone"
CUT = f"only the first {LONGEST:,} characters were looked at"

Kind: TypeAlias = Literal["mention", "related"]


@dataclass(frozen=True, slots=True)
class Ask:
    """What is wanted. ``strictness`` None: as the settings say. ``without``: layers that are left out, to see what each
    is worth; ``related``: how many notes that the text does not name."""

    strictness: Strictness | None = None
    limit: int = 20
    related: int = RELATED
    without: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A note to link. ``kind`` mention: ``term`` stands in the text on ``line``, its characters ``start`` to ``end``,
    and may be linked there; related: the text does not name it. ``layers``: points of each, of which ``score`` is the
    sum; ``confidence``: how likely somebody would link it by hand, or, a related one, either of the two the other."""

    kind: Kind
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
class Suggested:
    """``total``: as many as the strictness lets through, of which ``suggestions`` are the likeliest."""

    suggestions: list[Suggestion]
    total: int
    warnings: list[str] = field(default_factory=list)


async def suggest(vault: Vault, actor: Actor, text: str, source: str, ask: Ask) -> list[Suggestion]:
    """Links for a text, likeliest first. ``source``: the path of the note it is or will be; '' for none."""
    return (await suggested(vault, actor, text, source, ask)).suggestions


async def suggested(vault: Vault, actor: Actor, text: str, source: str, ask: Ask) -> Suggested:
    """As ``suggest``, with how many there are and what is to be said of them. Notes are readable by all of a vault, so
    ``actor`` decides nothing yet."""
    del actor
    weighed = await weigh(vault, text, source)
    strictness = ask.strictness or vault.shared.links.strictness
    found = await run_in(vault.shared.pool, chosen, weighed.candidates, text, ask, strictness)
    return Suggested(*found, weighed.warnings)


@dataclass(frozen=True, slots=True)
class Weighed:
    """Every candidate with its evidence, before anybody says how sure it has to be."""

    candidates: list[Candidate]
    warnings: list[str]


async def weigh(vault: Vault, text: str, source: str) -> Weighed:
    """What a text might link, and what speaks for each."""
    read = await run_in(vault.shared.pool, _Text.of, text[:LONGEST])
    found = await vault.db.read(lambda tx: _found(vault, tx, read, source))
    vector, warnings = await _vector(vault, found, read)
    if len(text) > LONGEST:
        warnings.append(CUT)
    return Weighed(await run_in(vault.shared.pool, _candidates, vault, found, read, vector), warnings)


@dataclass(frozen=True, slots=True)
class _Text:
    """A text as it was read."""

    text: str
    scan: Scan
    zones: list[tuple[int, int]]

    @classmethod
    def of(cls, text: str) -> _Text:
        found = scan(text)
        return cls(text, found, protected_in(found, text))

    @property
    def body(self) -> str:
        """Without frontmatter."""
        return self.text[self.scan.body_start :]


@dataclass(frozen=True, slots=True)
class _Found:
    """What the vault says, read in one transaction. ``texts``: what habits are worked out from, where they have to be;
    ``held``: a vector of the text that is kept already."""

    graph: Graph
    gazetteer: Gazetteer
    trust: Trust
    matrix: Matrix
    pairs: dict[str, float]
    days: dict[int, float]
    texts: dict[int, str]
    path: str
    source: Node | None
    linked: frozenset[int]
    about: str
    held: bytes | None


def _found(vault: Vault, tx: Reader, read: _Text, path: str) -> _Found:
    graph = vault.atlas.at(tx)
    source = graph.at(path) if path else None
    now = clock.now()
    matrix = vault.atlas.learned.matrix(tx)
    about = entity_vectors.text_of(source, read.body) if source else read.body[: 2 * entity_vectors.BODY]
    held = entity_vectors.held(tx, source.number, matrix.model, entity_vectors.hash_of(about)) if source else None
    return _Found(
        graph,
        vault.atlas.gazetteer(tx),
        trust(tx, parent(path)),
        matrix,
        co_access_pairs.weights(tx, path, now) if path else {},
        _lately(tx, now),
        vault.atlas.learned.texts(tx, graph),
        path,
        source,
        _linked(tx, read, path, source),
        about,
        held,
    )


def _linked(tx: Reader, read: _Text, path: str, source: Node | None) -> frozenset[int]:
    """Notes the text links already."""
    meanings, number = Meanings(tx), source.number if source else 0
    found = (meanings.of(each, path, number) for each in links(read.scan, read.text)[:LINKS] if each.target)
    return frozenset(each for each in found if each is not None)


def _lately(tx: Reader, now: str) -> dict[int, float]:
    """Days since notes were changed, of those that were lately."""
    moment = datetime.fromisoformat(now)
    since = clock.text(moment - timedelta(days=LATELY_DAYS))
    rows = tx.all(
        "SELECT seq, modified_at FROM notes WHERE modified_at >= ? ORDER BY modified_at DESC LIMIT ?", (since, LATELY)
    )
    return {int(seq): (moment - datetime.fromisoformat(at)).total_seconds() / 86_400 for seq, at in rows}


async def _vector(vault: Vault, found: _Found, read: _Text) -> tuple[bytes | None, list[str]]:
    """What the text is about: as kept, else from the model, if it answers in time."""
    if found.held is not None or not found.matrix.notes or not read.body.strip():
        return found.held, []
    if vault.shared.embedder.state().status in ("off", "failed", "hung"):
        return None, [NO_MODEL]
    try:
        async with asyncio.timeout(vault.shared.embedding.write_wait_s):
            rows = await vault.shared.embedder.texts([found.about], urgent=True)
    except (TimeoutError, EmbeddingUnavailable, Overloaded):
        return None, [NO_MODEL]
    identity = vault.shared.embedder.identity
    return (rows[0].tobytes() if identity is not None and identity.key == found.matrix.model else None), []


def _candidates(vault: Vault, found: _Found, read: _Text, vector: bytes | None) -> list[Candidate]:
    lexicon, habits = vault.atlas.learned.at(found.graph, found.texts)
    ground = Ground(found.graph, found.gazetteer, lexicon, habits, found.trust, found.matrix, found.pairs, found.days)
    number = found.source.number if found.source else None
    asked = Asked(read.text, read.zones, found.path, number, found.linked, vector)
    return link_candidates.candidates(ground, asked)


Scored: TypeAlias = tuple[Candidate, dict[str, float], float]
"""A candidate, its points by layer, and all of them together."""


def chosen(
    candidates: Iterable[Candidate], text: str, ask: Ask, strictness: Strictness
) -> tuple[list[Suggestion], int]:
    """The candidates that are likely enough, those that are named before others and the likeliest first, and how many
    they are: of several that go by the same words the likeliest one, and no more than ``ask.related`` that are not
    named. What a mode lets through a laxer one does too."""
    found = ((each, points, sum(points.values())) for each, points in _pointed(candidates, ask))
    ranked = sorted(found, key=lambda one: (-one[2], one[0].node.path))
    mode = MODES[strictness]
    named = [one for one in _one_a_place(ranked) if one[2] >= mode.named and _alike(one) >= mode.alike]
    related = [one for one in ranked if one[0].place is None][: ask.related]
    kept = named + [one for one in related if one[2] >= mode.related]
    return [_suggestion(one, text) for one in kept[: ask.limit]], len(kept)


def _pointed(candidates: Iterable[Candidate], ask: Ask) -> Iterator[tuple[Candidate, dict[str, float]]]:
    for each in candidates:
        points = scoring_layers.points(each.evidence, ask.without)
        if points is not None:
            yield each, points


def _one_a_place(ranked: Iterable[Scored]) -> Iterator[Scored]:
    """The likeliest of those that stand at each place."""
    taken: set[tuple[int, int]] = set()
    for one in ranked:
        place = one[0].place
        if place is not None and (place.start, place.end) not in taken:
            taken.add((place.start, place.end))
            yield one


def _alike(one: Scored) -> float:
    return one[0].place.alike if one[0].place is not None else 1.0


def _suggestion(one: Scored, text: str) -> Suggestion:
    each, points, score = one
    node, place = each.node, each.place
    confidence = round(scoring_layers.confidence(score, named=place is not None), 2)
    if place is None:
        return Suggestion("related", node.path, node.title, round(score, 1), confidence, layers=points)
    return Suggestion(
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
