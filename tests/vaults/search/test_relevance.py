"""Relevance: from evidence to an absolute score, and what is never held against a hit.

Covers vaults.search.relevance_evidence, vaults.search.relevance_scores, vaults.search.relevance_weights,
vaults.search.question_words, vaults.search.fitted_weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Asking
from vaults.errors import IndexUnavailable
from vaults.search.query import parse_query
from vaults.search.question import InterpretedQuestion
from vaults.search.question_words import QuestionWords, weigh_words
from vaults.search.relevance import lower_steadily
from vaults.search.relevance_scores import NOT_JUDGED, Relevance, RelevanceEvidence
from vaults.search.relevance_weights import FILE, load_weights
from vaults.settings import EmbeddingSettings, SearchSettings

LIKELY = SearchSettings().likely
NOTHING = RelevanceEvidence(cosine=0.0, own=0.0, around=0.0, unknown=1.0, strange=0.0, words=4, passages=1000)


def weigh(text: str, passages: int = 100, shares: Mapping[str, float] | None = None) -> QuestionWords:
    query = parse_query(text)
    known = dict.fromkeys(query.terms, 0.0) if shares is None else shares
    return weigh_words(InterpretedQuestion(query, text, passages=passages, shares=known))


@given(st.lists(st.floats(0, 1), max_size=30))
def test_scores_never_rise_and_are_some_evidence_or_less(found: list[float]) -> None:
    scores = lower_steadily(found)
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == len(found)
    assert all(score <= max(found[place:]) for place, score in enumerate(scores))


def test_an_answer_that_stands_second_lends_its_relevance_to_the_first() -> None:
    assert lower_steadily([0.1, 0.9, 0.2]) == [0.9, 0.9, 0.2]


def test_a_rare_word_tells_more_than_an_everyday_one() -> None:
    words = weigh("bring kubernetes", shares={"bring": 0.01, "kubernetes": 0.01})
    assert words.share_in(["kubernetes it is"]) > words.share_in(["bring it"])


def test_a_word_in_half_of_a_big_vault_tells_little() -> None:
    words = weigh("project gasket", 10_000, {"project": 0.5, "gasket": 0.0001})
    assert words.share_in(["the project"]) < 0.15


@pytest.mark.parametrize(
    ("text", "is_strange"),
    [
        ("What did Melanie paint?", True),
        ("what did melanie paint?", False),
        ("Wo liegt der Schlüssel für das Bootshaus und die Halle?", False),
        ("Where To Find The Melanie Files", False),
    ],
)
def test_a_name_the_vault_lacks_is_told_by_its_capital(text: str, is_strange: bool) -> None:
    assert (weigh(text).strange() > 0) == is_strange


@pytest.mark.parametrize("text", ["", "what is it about", "?!", "the of and"])
def test_a_question_of_stop_words_is_judged_by_its_meaning_alone(text: str) -> None:
    words = weigh(text)
    assert (words.words, words.unknown(), words.strange(), words.share_in([text])) == ((), 0.0, 0.0, 0.0)


def test_a_sentence_without_spaces_counts_by_its_pairs() -> None:
    words = weigh("備份保存在哪裡", shares={})
    assert 0 < words.share_in(["每晚備份"]) < words.share_in(["備份保存在桶裡"])


def test_a_pasted_page_counts_by_its_beginning() -> None:
    words = weigh("gasket " + " ".join(f"word{n}" for n in range(2_000)))
    assert len(words.words) <= 24
    assert words.share_in(["the gasket"]) > 0


def test_the_bundled_models_cosine_alone_makes_a_likely_answer_in_a_small_vault() -> None:
    """Asked in words of one's own, with none in common."""
    calibration = load_weights().choose(EmbeddingSettings().model, by_meaning=True)
    near = replace(NOTHING, cosine=0.4, passages=5)
    assert calibration.probability(near) > LIKELY
    assert calibration.probability(replace(near, cosine=0.1)) < LIKELY


def test_nothing_in_common_is_no_answer_with_or_without_vectors() -> None:
    weights = load_weights()
    for by_meaning in (True, False):
        assert weights.choose(weights.model, by_meaning=by_meaning).probability(NOTHING) < 0.05


def test_more_evidence_never_makes_a_hit_less_likely() -> None:
    weights = load_weights()
    for calibration in (weights.hybrid, weights.keyword):
        for passages in (1, 30, 5_000):
            seen = [
                calibration.probability(replace(NOTHING, passages=passages, own=share, around=share, unknown=0.0))
                for share in (0.0, 0.3, 0.6, 1.0)
            ]
            assert seen == sorted(seen)


def test_cosines_of_another_model_hold_nothing_back() -> None:
    weights = load_weights()
    assert not weights.choose("another", by_meaning=True).fits
    assert weights.choose("another", by_meaning=False).fits, "words are words whatever the model"


def test_what_was_not_judged_counts_as_what_was_asked_for() -> None:
    assert NOT_JUDGED.has_likely
    assert NOT_JUDGED.is_likely(1)
    low = Relevance({1: 0.1}, likely=0.4, settled=False)
    assert not low.has_likely
    assert low.of(7) == 0.1, "further down than was looked: no more than the last"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("ingest", {"name": "ferry.md", "content": "Melanie restored the harbour ferry."}),
        ("remember", {"content": "Melanie restored the harbour ferry.", "visibility": "private"}),
    ],
)
async def test_words_are_known_wherever_what_was_asked_may_find_them(
    ask: Asking, tool: str, arguments: Mapping[str, str]
) -> None:
    """The vocabulary of the vault is that of shared memories and notes: documents and private texts are in none."""
    assert (await ask(tool, **arguments)).ok
    answer = await ask("explain", query="Has Melanie restored the ferry?", mode="keyword")
    evidence = answer.content["candidates"][0]["evidence"]
    assert (evidence["own"], evidence["unknown"], evidence["strange"]) == (pytest.approx(1), 0, 0)


async def test_a_word_counts_by_its_rarity_among_the_documents_searched(ask: Asking) -> None:
    for number in range(30):
        text = f"Melanie spoke of {'gaskets' if not number else f'boat number {number}'}."
        assert (await ask("ingest", name=f"{number}.md", content=text)).ok
    answer = await ask("explain", query="Melanie and the gasket", mode="keyword", kinds=["document"])
    shares = sorted(each["evidence"]["own"] for each in answer.content["candidates"] if each.get("evidence"))
    assert shares[-1] == pytest.approx(1)
    assert shares[0] < 0.2, "the name is in all of them"


def test_the_threshold_asks_of_the_first_hit_and_a_lower_one_of_those_beside_it() -> None:
    found = Relevance({1: 0.6, 2: 0.2, 3: 0.05}, likely=0.3, settled=False)
    assert [found.is_likely(passage) for passage in (1, 2, 3)] == [True, False, False]
    assert [found.belongs_beside(passage) for passage in (1, 2, 3)] == [True, True, False]
    assert replace(found, settled=True).belongs_beside(3)


@pytest.mark.parametrize(
    "change",
    [
        ("cosine = ", "cosine = 1"),
        ("[keyword]\n", "[keyword]\nextra = 1\n"),
        ('digest = "', 'digest = "0'),
        ("[hybrid]", "[hybrid"),
        ("bias = ", "bias = nan #"),
    ],
)
def test_weights_changed_by_hand_are_refused(tmp_path: Path, change: tuple[str, str]) -> None:
    file = tmp_path / "weights.toml"
    text = FILE.read_text(encoding="utf-8")
    file.write_text(text.replace(*change, 1), encoding="utf-8")
    assert file.read_text(encoding="utf-8") != text
    with pytest.raises(IndexUnavailable, match=r"weights\.toml"):
        load_weights(file)


def test_weights_that_are_not_there_are_the_installations_fault(tmp_path: Path) -> None:
    with pytest.raises(IndexUnavailable, match=r"none\.toml cannot be read") as refused:
        load_weights(tmp_path / "none.toml")
    assert "calibration_fit" in (refused.value.hint or "")
