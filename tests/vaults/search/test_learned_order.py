"""The last stage of ranking: what each feature means, that no candidate is lost, and that only fitted weights count.

Covers vaults.search.answer_signs, vaults.search.learned_lifts, vaults.search.ranking_features,
vaults.search.ranking_weights, vaults.search.word_matches.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Opening, asker
from tests.vaults.search.candidates_by_hand import NOW, about, column, rank, read
from tests.work import examples
from vaults.errors import IndexUnavailable
from vaults.index.passages import ADVERSARIAL, QUESTION
from vaults.index.vector_index import VectorChange, VectorIndex
from vaults.search import answer_signs, learned_lifts, ranking_weights
from vaults.search.filters import SearchFilter
from vaults.search.joined_texts import JoinedTexts
from vaults.search.query import parse_query
from vaults.search.question import SearchQuestion
from vaults.search.ranking_features import HEAD, NAMES, RankingEvidence, read_features
from vaults.search.ranking_weights import RankingWeights, parse_weights, read_weights
from vaults.search.word_matches import find_matches
from vaults.settings import IndexSettings, SearchSettings

EVEN = RankingWeights((0.5,) * len(NAMES), {})
SHIPPED = (ranking_weights.files("vaults.search") / ranking_weights.FILE).read_text(encoding="utf-8")


def test_words_are_found_in_every_form_the_index_holds_as_the_same() -> None:
    found = find_matches(
        JoinedTexts.of(["The runner is happy", "Happiness runs here", "trunk"]), parse_query("running happy"), {}
    )
    assert found.counts.tolist() == [[0, 1], [1, 1], [0, 0]]


def test_rare_words_weigh_more_and_words_left_out_nothing() -> None:
    query = parse_query("ann ferry lagoon")
    found = find_matches(JoinedTexts.of(["ann ferry lagoon"]), query, {"ferry": 0.5, "lagoon": 0.01}, ["ann"])
    assert found.counts.tolist() == [[1, 1]]
    assert found.weights[1] > found.weights[0]
    assert found.weights.sum() == pytest.approx(1)


def test_words_side_by_side_in_order_and_near_each_other_tell_more() -> None:
    far = "token " + "x " * 60 + "budget"
    found = find_matches(
        JoinedTexts.of(["the token budget", "a budget of tokens", far]), parse_query("token budget"), {}
    )
    assert found.pairs[0] > found.pairs[1] == found.pairs[2] == 0
    assert found.nearness[0] >= found.nearness[1] > found.nearness[2]


def test_scripts_without_spaces_are_found_by_pairs() -> None:
    found = find_matches(JoinedTexts.of(["漁船の予算", "予定表"]), parse_query("予算はいくら"), {})
    assert (found.counts @ found.weights)[0] > (found.counts @ found.weights)[1]


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("When did Ann move?", ("time",)),
        ("How long has Ann lived there?", ("time", "number")),
        ("How many boats are there?", ("number",)),
        ("Who sold the boat?", ("name",)),
        ("In which city does Ann live?", ("name",)),
        ("Why did she leave?", ("reason",)),
        ("What is a lagoon?", ()),
        ("Wann ist sie umgezogen?", ()),
        ("", ()),
    ],
)
def test_what_a_question_asks_for_is_told_by_its_words(question: str, kinds: tuple[str, ...]) -> None:
    assert answer_signs.find_asked(question) == kinds


def test_a_text_may_answer_with_what_is_asked_for() -> None:
    def offers(question: str, *texts: str) -> list[bool]:
        (kind, *_) = answer_signs.find_asked(question)
        return answer_signs.find_offers(kind, texts, JoinedTexts.of(texts), answer_signs.words_of(question))

    assert offers("When did she move?", "I moved last week", "I moved", "since 1998") == [True, False, True]
    assert offers("How many boats?", "There are twelve", "There are 12", "There are some") == [True, True, False]
    assert offers("Who sold it?", "it was Paul", "it was he", "it was Who") == [True, False, False]
    assert offers("Why so?", "because of the tide", "the tide") == [True, False]


def test_the_stamp_of_a_line_is_no_answer() -> None:
    said = ["[8 May 2023] Ann: I have some boats", "[8 May 2023] Ann: I have 3 boats"]
    assert column(read("How many boats?", said), "answer", "number") == [0, 1]


def test_a_word_of_a_neighbour_counts_as_around() -> None:
    near = [(0, 0, 2, 3), (0, 1, 3, 0), (1, 2, 0, 0)]
    found = read("ferry lagoon", ["ferry", "lagoon", "so"], near=near)
    assert column(found, "own_words", "held")[2] == 0
    assert column(found, "around", "with_next")[0] == pytest.approx(1)
    assert column(found, "around", "with_two") == pytest.approx([1, 1, 1])


def test_what_follows_a_question_about_the_same_may_answer_it() -> None:
    near = [(0, 0, 2, 0), (0, 1, 0, 0)]
    found = read("where is the ferry", ["Is the ferry here?", "By the pier"], near=near, traits=[QUESTION, 0])
    assert column(found, "around", "replies") == [0, 1]
    assert column(found, "form", "asks") == [1, 0]


def test_meaning_is_the_cosine_for_every_candidate_also_of_words_alone() -> None:
    index = VectorIndex(2, IndexSettings())
    vectors = np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32)
    index.apply([VectorChange(number, row.tobytes()) for number, row in enumerate(vectors, 1)], 1)
    evidence = RankingEvidence({}, np.array([1, 0], dtype=np.float32), index)
    assert column(read("x", ["a", "b", "c"], evidence=evidence), "meaning", "own") == pytest.approx([1, 0, 0.6])


def test_a_date_counts_less_with_every_day_beside_the_time_that_is_named() -> None:
    at = ["2025-03-05T10:00:00.000Z", "2025-04-02T10:00:00.000Z", "2025-06-01T10:00:00.000Z"]
    told = column(read("What happened in March 2025?", ["a", "b", "c"], at=at), "dates", "told")
    assert told[0] == 1 > told[1] > told[2]
    assert column(read("What happened?", ["a", "b", "c"], at=at), "dates", "told") == [0, 0, 0]


def test_who_is_named_first_is_who_a_question_is_about() -> None:
    found = read("What did Ann tell Bob?", ["a", "b", "c"], author=["bob", "ann", None], names=["ann", "bob"])
    assert column(found, "speaker", "named") == [1, 1, 0]
    assert column(found, "speaker", "first_named") == [0, 1, 0]


@settings(max_examples=examples(25))
@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=6))
def test_any_question_and_any_texts_give_finite_features_and_lose_nobody(question: str, texts: list[str]) -> None:
    features, known = read(question, texts), {number: about(number) for number in range(1, len(texts) + 1)}
    assert features.matrix.shape == (len(texts), len(NAMES))
    assert np.isfinite(features.matrix).all()
    lifts = learned_lifts.lift_learned(features, known, EVEN, 1)
    assert all(lift.keys() == set(features.passages) and min(lift.values()) >= 0 for lift in lifts.values())
    assert learned_lifts.lift_learned(read(question, texts), known, EVEN, 1) == lifts


def test_equal_candidates_and_a_single_one_are_not_moved() -> None:
    known = {number: about(number) for number in range(1, 5)}
    same = read("ferry", ["the ferry"] * 4, text_hash=["x"] * 4)
    assert set(learned_lifts.lift_learned(same, known, EVEN, 1)) <= {"meaning"}
    assert learned_lifts.lift_learned(read("ferry", ["the ferry"]), known, EVEN, 1) == {}


def test_what_gives_orders_earns_nothing() -> None:
    features = read("ferry", ["the ferry", "a boat", "so"], traits=[ADVERSARIAL, 0, 0])
    known = {1: about(1, traits=ADVERSARIAL), 2: about(2), 3: about(3)}
    assert all(lift[1] == 0 for lift in learned_lifts.lift_learned(features, known, EVEN, 1).values())


def test_what_holds_a_digit_is_told_apart_whatever_its_title_holds() -> None:
    assert JoinedTexts.of(["one", "2", "", "a 3"], ["7", "", "8", ""]).digits.tolist() == [
        False,
        True,
        False,
        True,
    ]


def test_a_talk_is_as_near_as_its_best_three_candidates() -> None:
    talks = ["a", "b", "a", "a", "a"]
    best = column(read("ferry", ["ferry"] * 5, parent=talks), "talk", "best")
    assert best[0] == best[2] == best[3] == best[4] > 3 * best[1] * 0.9
    assert best[1] == pytest.approx((1 - 2 / 1000) / (1 - 1 / 1000) / 3)


def test_a_talk_opens_where_nothing_stands_before() -> None:
    near = [(0, 0, 2, 0), (0, 1, 0, 0), None]
    assert column(read("ferry", ["ferry"] * 3, near=near), "talk", "opens") == [1, 0, 0]


def test_only_texts_of_the_first_candidates_are_looked_into() -> None:
    facts = [about(number) for number in range(1, 3 * HEAD)]
    asked = SearchQuestion("ferry", "hybrid", SearchFilter("ann", NOW), 10)
    assert len(read_features(rank("ferry", facts), asked, RankingEvidence({})).passages) == HEAD


def test_the_weights_that_come_along_say_what_they_were_fitted_on() -> None:
    told = read_weights()
    assert len(told.values) == len(NAMES)
    assert sum(told.provenance["questions"].values()) > 0
    assert told.of("dates")["told"] > 0


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        (SHIPPED.replace("told = ", "said = "), "dates"),
        (SHIPPED.replace("told = ", "told = true #"), "dates.told"),
        (SHIPPED.replace("told = ", "told = nan #"), "dates.told"),
        (SHIPPED.replace("told = ", "told = 900.5 #"), "dates.told"),
        (SHIPPED.replace("[weights.dates]", "[weights.days]"), "dates"),
        (SHIPPED.replace("[provenance", "[origin"), "provenance"),
        ("[weights", "TOML"),
        ("", "provenance"),
    ],
)
def test_weights_changed_by_hand_into_something_else_are_refused_by_name(changed: str, named: str) -> None:
    with pytest.raises(IndexUnavailable, match=named) as refused:
        parse_weights(changed)
    assert ranking_weights.FIT_BY in (refused.value.hint or "")


async def test_explain_shows_each_groups_share_and_settings_switch_them_off(opening: Opening) -> None:
    texts = ["The token budget is 2000", "A budget of many tokens, they said", "Tokens are counted, and budgets kept"]

    async def shares(**flags: object) -> set[str]:
        async with opening({f"search.{name}": value for name, value in flags.items()}) as services:
            answer = await asker(services)("explain", query="token budget", mode="keyword")
            return {name for each in answer.content["candidates"] for name in each.get("signals", {})}

    async with opening() as services:
        for place, text in enumerate(texts):
            assert (await asker(services)("remember", content=text, parent="talk", position=place)).ok
        found = await asker(services)("search", query="token budget", mode="keyword")
        assert all({*hit["signals"]} == {"keyword"} for hit in found.content["hits"]), "explain alone tells of groups"
    assert "own_words" in await shares()
    assert "own_words" not in await shares(unlearned=["own_words"])
    assert not await shares(learned=0)


def test_only_turns_of_conversations_are_ordered_by_what_was_learned_of_them() -> None:
    turn, part = about(1, parent="talk", near=(0, 0, 2, 0)), about(2, near=(0, 1, 0, 0))
    note = about(3, item=("note", 2), parent="folder", near=(0, 1, 0, 0))
    nine = [about(at, parent="talk", near=(0, 0, 2, 0)) for at in range(10, 19)]
    assert learned_lifts.share_of_turns(rank("x", nine)) == 1
    assert learned_lifts.share_of_turns(rank("x", [*nine, note])) == pytest.approx(0.5)
    assert learned_lifts.share_of_turns(rank("x", [turn, part, note, about(4)])) == 0
    assert learned_lifts.share_of_turns(rank("x", [])) == 0


def test_every_group_can_be_left_out_by_its_name() -> None:
    groups = [group for group, _ in NAMES]
    assert SearchSettings(unlearned=groups).unlearned == tuple(groups)  # type: ignore[arg-type]
