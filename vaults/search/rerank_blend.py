"""Blending the order of retrieval with a cross-encoder's opinion on its head. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

BANDS = ((3, 0.75), (10, 0.60))
REST_SHARE = 0.40
"""Share of the retrieval score up to each rank, and beyond the last: what both channels put first is rarely wrong, and
further down the model sees more than they do."""

MAX_RERANKED = 30
"""Passages the model scores: it runs once for each pair of query and text."""


def retrieval_share(rank: int) -> float:
    """Weight of the retrieval score of the passage at ``rank``, from 1."""
    return next((share for last, share in BANDS if rank <= last), REST_SHARE)


def blend(
    retrieved: Sequence[tuple[int, float]], reranked: Mapping[int, float], head: int = MAX_RERANKED
) -> list[tuple[int, float]]:
    """Reorder the first ``head`` of ``retrieved`` (passage, score; best first) by both scores.

    Both are min-max normalised over the head and mixed by ``retrieval_share``; the mix is scaled back to the range of
    the head's retrieval scores. So the result holds the same passages, scores fall from first to last, passages below
    the head keep place and score, no score leaves its old bounds, and a model that agrees changes nothing. If all
    scores of the head were equal they stay so: then only the list's order says what the model thinks.

    A passage of the head that ``reranked`` lacks counts with its retrieval score alone; if it lacks all, nothing
    changes.
    """
    top, rest = retrieved[: max(0, head)], retrieved[max(0, head) :]
    opinions = {passage: reranked[passage] for passage, _ in top if passage in reranked}
    if not opinions:
        return list(retrieved)
    high, low = top[0][1], top[-1][1]
    least, most = min(opinions.values()), max(opinions.values())
    mixed: list[tuple[float, int]] = []
    for rank, (passage, score) in enumerate(top, 1):
        found = _normalize(score, low, high)
        opinion = _normalize(opinions[passage], least, most) if passage in opinions else found
        share = retrieval_share(rank)
        mixed.append((share * found + (1 - share) * opinion, passage))
    mixed.sort(key=lambda pair: -pair[0])  # stable: equals stay in retrieval order
    return [(passage, min(high, low + mix * (high - low))) for mix, passage in mixed] + list(rest)


def _normalize(value: float, low: float, high: float) -> float:
    """Where ``value`` lies between ``low`` (0) and ``high`` (1); 1 when they are the same."""
    return (value - low) / (high - low) if high > low else 1.0
