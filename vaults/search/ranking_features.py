"""What the last stage of ranking knows of each candidate: a matrix of figures, most of them 0…1, seen against the other
candidates of the question, so that one set of weights serves every vault.

A figure that a vault has nothing for (no vectors, no authors, no neighbours, no dates) is 0 for every candidate, and so
moves none. ``FEATURES`` names the columns by group; ``docs/search.md`` says what each group is for.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from vaults.index.passages import QUESTION
from vaults.search import answer_signs, date_phrases, word_matches
from vaults.search.candidate_texts import MAX_TEXT, CandidateText
from vaults.search.joined_texts import JoinedTexts
from vaults.search.question import SearchQuestion, SearchRanking
from vaults.search.time_spans import EARLIEST, LATEST, TimeSpan

if TYPE_CHECKING:
    import numpy as np

    from vaults.index.flat_vectors import Ids
    from vaults.index.joined_vectors import JoinedVectors
    from vaults.index.vector_index import VectorIndex
    from vaults.search.word_matches import Figures

HEAD = 100
"""Candidates looked at: what ranks below is not among the first ten for want of order."""

FEATURES: Mapping[str, tuple[str, ...]] = {
    "own_words": ("held", "held_squared", "pairs", "nearness"),
    "around": ("with_next", "with_two", "replies"),
    "meaning": ("own", "before", "beside", "replies"),
    "answer": ("time", "number", "name", "reason"),
    "dates": ("told",),
    "form": ("asks", "digits"),
    "speaker": ("named", "first_named"),
    "talk": ("best", "opens"),
}
"""The columns of the matrix, in order, by group."""

DATE_DAYS = 5.0
"""Days from the time a question names in which a date's worth falls to 0.37."""

NO_NEIGHBOURS = (0, 0, 0, 0)
NO_TEXT = CandidateText("", "", "", "", "")

_ASKING = frozenset("?？؟")

BEST = 3
"""Candidates of a conversation that tell how near it is to the question."""


@dataclass(frozen=True, slots=True)
class RankingEvidence:
    """What ranking may use besides the candidates: the ``shares`` of passages that hold each word, where known, and the
    vector and its index, where there are."""

    shares: Mapping[str, float]
    vector: np.ndarray | None = None
    index: VectorIndex | JoinedVectors | None = None


@dataclass(frozen=True, slots=True)
class CandidateFeatures:
    """A row for each of ``passages``, the first candidates in order; a column for each of ``names`` (group, name)."""

    passages: tuple[int, ...]
    names: tuple[tuple[str, str], ...]
    matrix: Figures


NAMES = tuple((group, name) for group, several in FEATURES.items() for name in several)

_Columns: TypeAlias = Mapping[str, "Figures"]


def read_features(
    found: SearchRanking, asked: SearchQuestion, evidence: RankingEvidence, head: int = HEAD
) -> CandidateFeatures:
    """The features of the first ``head`` candidates of ``found.order``, whose texts are in ``found.texts``."""
    import numpy as np

    passages = tuple([passage for passage, _ in found.order[:head]])
    if not passages:
        return CandidateFeatures((), NAMES, np.zeros((0, len(NAMES))))
    head_of = _Head.of(found, passages)
    groups = {
        **_word_features(head_of, found, evidence),
        "meaning": _meaning_features(head_of, evidence),
        "answer": _answer_features(head_of, asked),
        "dates": {"told": _date_feature(head_of, asked)},
        "form": _form_features(head_of),
        "speaker": _speaker_features(head_of, found),
        "talk": _talk_features(head_of, found),
    }
    matrix = np.array([groups[group][name] for group, name in NAMES]).T
    return CandidateFeatures(passages, NAMES, matrix)


@dataclass(frozen=True, slots=True)
class _Head:
    """The candidates looked at, by column. ``bodies``: their texts without the stamp of a line; ``joined``: these with
    their titles. ``near``: as in ``PassageFacts``. ``neighbours``: of each the passages at -2, -1, +1, +2, 0 for none;
    ``rows``: the rows of these, the one after the last where they are no candidates. ``replying``: 1 where the passage
    just before is a candidate that asks, and so this one may answer it."""

    passages: tuple[int, ...]
    authors: tuple[str | None, ...]
    entities: tuple[str | None, ...]
    parents: tuple[str | None, ...]
    times: tuple[str, ...]
    near: tuple[tuple[int, ...] | None, ...]
    bodies: tuple[str, ...]
    joined: JoinedTexts
    neighbours: Ids
    rows: Ids
    replying: Figures

    @classmethod
    def of(cls, found: SearchRanking, passages: tuple[int, ...]) -> _Head:
        import numpy as np

        # By column, all at once: a hundred candidates asked for each field by name cost a little more.
        _, traits, authors, entities, _, parents, times, near, *_ = zip(
            *map(found.facts.__getitem__, passages), strict=True
        )
        titles, told, *_ = zip(*[found.texts.get(passage, NO_TEXT) for passage in passages], strict=True)
        bodies = answer_signs.drop_stamps([body[:MAX_TEXT] for body in told])
        neighbours = np.array([each or NO_NEIGHBOURS for each in near], dtype=np.int64)
        rows = _find_rows(np.array(passages, dtype=np.int64), neighbours)
        asks = np.append((np.array(traits) & QUESTION) > 0, [False]).astype(float)
        return cls(
            passages=passages,
            authors=authors,
            entities=entities,
            parents=parents,
            times=times,
            near=near,
            bodies=bodies,
            joined=JoinedTexts.of(bodies, titles),
            neighbours=neighbours,
            rows=rows,
            replying=asks[rows[:, 1]],
        )

    def __len__(self) -> int:
        return len(self.passages)


def _find_rows(passages: Ids, sought: Ids) -> Ids:
    """The row of each number in ``passages``; the row after the last where it is not there."""
    import numpy as np

    order = np.argsort(passages)
    places = np.minimum(np.searchsorted(passages, sought, sorter=order), len(passages) - 1)
    return np.where(passages[order[places]] == sought, order[places], len(passages))


def _word_features(head: _Head, found: SearchRanking, evidence: RankingEvidence) -> dict[str, _Columns]:
    """Own words, and words around."""
    import numpy as np

    names = {word for name in found.meant.names for word in name.split()}
    matches = word_matches.find_matches(head.joined, found.meant.query, evidence.shares, names)
    held = matches.counts > 0
    own = held @ matches.weights
    reach = np.vstack([held, np.zeros((1, held.shape[1]), bool)])
    next_to = held | reach[head.rows[:, 1]] | reach[head.rows[:, 2]]
    both = next_to | reach[head.rows[:, 0]] | reach[head.rows[:, 3]]
    before = np.append(own, 0.0)[head.rows[:, 1]]
    return {
        "own_words": {"held": own, "held_squared": own**2, "pairs": matches.pairs, "nearness": matches.nearness},
        "around": {
            "with_next": next_to @ matches.weights,
            "with_two": both @ matches.weights,
            "replies": head.replying * before,
        },
    }


def _meaning_features(head: _Head, evidence: RankingEvidence) -> _Columns:
    import numpy as np

    nothing = np.zeros(len(head))
    if evidence.vector is None or evidence.index is None:
        return dict.fromkeys(FEATURES["meaning"], nothing)
    own = np.array(head.passages, dtype=np.int64)[:, None]
    # What is not there is looked up as the passage itself: the index is quicker where every number has a vector.
    table = np.concatenate([own, np.where(head.neighbours > 0, head.neighbours, own)], axis=1)
    numbers, places = np.unique(table, return_inverse=True)
    cosines = (evidence.index.gather(numbers) @ evidence.vector)[places.reshape(table.shape)]
    beside = np.where(head.neighbours > 0, cosines[:, 1:], 0.0)
    in_sequence = np.array([near is not None for near in head.near])
    return {
        "own": _spread(cosines[:, 0]),
        "before": beside[:, 1],
        "beside": np.where(in_sequence, beside.max(axis=1), 0.0),
        "replies": head.replying * beside[:, 1],
    }


def _answer_features(head: _Head, asked: SearchQuestion) -> _Columns:
    import numpy as np

    wanted = answer_signs.find_asked(asked.text)
    words = answer_signs.words_of(asked.text) if wanted else frozenset()
    return {
        kind: np.array(answer_signs.find_offers(kind, head.bodies, head.joined, words), dtype=float)
        if kind in wanted
        else np.zeros(len(head))
        for kind in answer_signs.KINDS
    }


def _date_feature(head: _Head, asked: SearchQuestion) -> Figures:
    """1 within the time that the question names, less with every day beside it."""
    import numpy as np

    if not answer_signs.may_name_time(asked.text):
        return np.zeros(len(head))
    named = date_phrases.find_time_span(asked.text, datetime.fromisoformat(asked.only.now))
    if named is None or named[0].since == EARLIEST or named[0].until == LATEST:
        return np.zeros(len(head))
    return np.array([math.exp(-_days_off(at, named[0]) / DATE_DAYS) for at in head.times])


def _days_off(at: str, span: TimeSpan) -> float:
    moment = datetime.fromisoformat(at)
    return max(0.0, (span.since - moment).total_seconds(), (moment - span.until).total_seconds()) / 86_400


def _form_features(head: _Head) -> _Columns:
    import numpy as np

    return {
        "asks": np.array([body.rstrip()[-1:] in _ASKING for body in head.bodies], dtype=float),
        "digits": head.joined.digits.astype(float),
    }


def _speaker_features(head: _Head, found: SearchRanking) -> _Columns:
    """Whether who speaks, or is spoken of, is named in the question, and named first, as who a question is about."""
    import numpy as np

    names = found.meant.names
    text = found.meant.query.text.lower()
    first = min(names, key=lambda name: (_place_in(text, name), name)) if len(names) > 1 else None
    told = tuple(zip(head.authors, head.entities, strict=True))
    named = [author in names or entity in names for author, entity in told]
    leading = [first in both for both in told] if first is not None else np.zeros(len(head))
    return {"named": np.array(named, dtype=float), "first_named": np.array(leading, dtype=float)}


def _talk_features(head: _Head, found: SearchRanking) -> _Columns:
    """How good the best three candidates of the same conversation are, by joint score; whether it begins here: what is
    new is told first."""
    import numpy as np

    talks = [parent or "" for parent in head.parents]
    scores = defaultdict[str, list[float]](list)
    for talk, (_, score) in zip(talks, found.order, strict=False):
        scores[talk].append(score)
    top = BEST * max(found.order[0][1], 1e-9)
    best = {talk: max(0.0, sum(several[:BEST]) / top) for talk, several in scores.items()}
    opens = [near is not None and not near[1] for near in head.near]
    return {"best": np.array([best[talk] for talk in talks]), "opens": np.array(opens, dtype=float)}


def _place_in(text: str, name: str) -> int:
    at = text.find(name.split(maxsplit=1)[0])
    return at if at >= 0 else len(text)


def _spread(values: Figures) -> Figures:
    """From the least, 0, to the greatest, 1; all 0 where they are equal."""
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low) if high > low else values * 0.0
