"""The middle of the pipeline: joint scores, lifts, reranking by a cross-encoder, one place for each item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from vaults.db.connection import Database
from vaults.db.sql import Reader
from vaults.embed.cross_encoder import CrossEncoderService
from vaults.errors import EmbeddingUnavailable
from vaults.search import (
    fusion,
    graph_lifts,
    item_groups,
    learned_lifts,
    lifts,
    ranking_features,
    ranking_weights,
    rerank_blend,
)
from vaults.search.candidate_texts import read_texts
from vaults.search.candidates import Scores, SearchCandidates
from vaults.search.lifts import Lift
from vaults.search.passage_facts import PassageFacts
from vaults.search.question import SearchMode, SearchQuestion, SearchRanking
from vaults.search.ranking_features import RankingEvidence
from vaults.settings import SearchSettings


def fuse(words: SearchCandidates, meanings: SearchCandidates, mode: SearchMode, settings: SearchSettings) -> Scores:
    """Both channels' scores as one, 0…1. What only one of them found is never lost."""
    if mode == "hybrid" and settings.fusion == "rrf":
        return fusion.fuse_reciprocal_ranks(words.scores, meanings.scores)
    weight = fusion.FIXED_DENSE_WEIGHT if settings.fusion == "fixed" else settings.dense_weight
    return fusion.fuse_weighted(words.scores, meanings.scores, weight)


def apply_lifts(
    tx: Reader,
    found: SearchRanking,
    asked: SearchQuestion,
    settings: SearchSettings,
    evidence: RankingEvidence | None = None,
) -> SearchRanking:
    """Apply everything that moves a candidate besides its words and meaning; lifts it already has stay. With
    ``evidence`` the first of them are ordered by what was learned of such figures. Links come last: they lift by what
    is on top by then."""
    known = found.facts
    applied = {name: lift for name, lift in found.lifts.items() if name != "links"} | {
        "named": lifts.lift_named(known, found.meant.names, settings.named),
        "entity": graph_lifts.lift_named_notes(tx, known, asked.text, settings.entity),
        "question": lifts.lower_questions(known, settings.question),
        "adversarial": lifts.lower_adversarial(known, settings.adversarial),
        "thread": lifts.lift_thread(known, found.meant.query.terms, settings.thread),
    }
    if asked.recent:
        applied["recency"] = lifts.lift_recent(known, asked.only.now, settings.recency, settings.recency_days)
    before = _order_by_score(found.fused, applied)
    if evidence is not None and settings.learned:
        found, learned = _learn(tx, replace(found, order=before), asked, settings, evidence)
        applied |= learned
        before = _order_by_score(found.fused, applied)
    applied["links"] = graph_lifts.lift_linked(tx, known, before, settings.links, settings.hub)
    order = _order_by_score(found.fused, applied) if applied["links"] else before
    return replace(found, lifts={name: lift for name, lift in applied.items() if lift}, order=order)


def _learn(
    tx: Reader, found: SearchRanking, asked: SearchQuestion, settings: SearchSettings, evidence: RankingEvidence
) -> tuple[SearchRanking, dict[str, Lift]]:
    """The lifts, and the ranking with the texts that were read for them."""
    share = settings.learned * learned_lifts.share_of_turns(found)
    if not share:
        return found, {}
    first = [passage for passage, _ in found.order[: ranking_features.HEAD]]
    found = replace(found, texts=read_texts(tx, first, found.texts))
    features = ranking_features.read_features(found, asked, evidence)
    weights = ranking_weights.read_weights()
    return found, learned_lifts.lift_learned(features, found.facts, weights, share, settings.unlearned)


def _order_by_score(fused: Mapping[int, float], applied: Mapping[str, Lift]) -> list[tuple[int, float]]:
    scores = dict(fused)
    for lift in applied.values():
        for passage, more in lift.items():
            scores[passage] += more
    return fusion.sort_scores(scores)


def needs_rerank(cross: CrossEncoderService, asked: SearchQuestion) -> bool:
    """Whether a cross-encoder reranks: if one is configured, unless the caller says no."""
    return cross.configured and asked.rerank != "off" and bool(asked.text.strip())


async def apply_rerank(db: Database, cross: CrossEncoderService, found: SearchRanking, head: int) -> SearchRanking:
    """Apply the cross-encoder's scores to the first candidates. A failure costs the reranking, not the answer."""
    first = [passage for passage, _ in found.order[:head]]
    found = replace(found, texts=await db.read(lambda tx: read_texts(tx, first, found.texts)))
    texts = [found.texts[passage].titled if passage in found.texts else "" for passage in first]
    try:
        scores = await cross.score(found.meant.query.text, texts)
    except EmbeddingUnavailable as failure:
        return replace(found, warnings=(*found.warnings, f"not reranked: {failure.message}"), provisional=True)
    opinions = dict(zip(first, scores, strict=True))
    return replace(found, order=rerank_blend.blend(found.order, opinions, head), opinions=opinions)


def collapse_to_items(found: SearchRanking, asked: SearchQuestion, settings: SearchSettings) -> SearchRanking:
    """One place for each item, or parent, without repeats, and without items already shown or asked about. An item
    already shown still displaces its repeats."""
    like, by, facts = asked.like, asked.group_by, found.facts
    order = [pair for pair in found.order if like is None or not like.excludes(facts[pair[0]], by)]
    items = item_groups.group_passages(order, found.facts, asked.group_by, settings.several)
    kept, repeats = item_groups.drop_repeated_items(items, found.facts)
    left, ahead = _part_shown(kept, facts, asked)
    top = max(1.0, kept[0][1]) if kept else 1.0
    return replace(found, items=left, ahead=ahead, repeats=repeats, top=top)


def _part_shown(
    kept: list[tuple[int, float]], facts: Mapping[int, PassageFacts], asked: SearchQuestion
) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
    """What was not shown yet, and what was."""
    if not asked.without:
        return kept, []
    by = asked.group_by
    shown = {item_groups.group_key(each, by) for each in facts.values() if each.item in asked.without}
    left = [pair for pair in kept if item_groups.group_key(facts[pair[0]], by) not in shown]
    return left, [pair for pair in kept if item_groups.group_key(facts[pair[0]], by) in shown]
