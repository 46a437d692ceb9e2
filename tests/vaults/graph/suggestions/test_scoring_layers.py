"""Each layer of a suggestion by itself, and what a stricter mode lets through.

Covers vaults.graph.suggestions.evidence, vaults.graph.suggestions.link_candidates,
vaults.graph.suggestions.name_positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.work import examples
from vaults.domain.graph.links.link_suggestions import LinkSuggestion, SuggestionOptions, choose_suggestions
from vaults.graph.names.lexicon import Sighting
from vaults.graph.note_graph import Node
from vaults.graph.suggestions import scoring_layers
from vaults.graph.suggestions.evidence import LinkEvidence, MentionEvidence
from vaults.graph.suggestions.link_candidates import LinkCandidate
from vaults.graph.suggestions.name_positions import read_position
from vaults.graph.suggestions.scoring_layers import LAYERS, score_layers

PLAIN = MentionEvidence(
    "exact", 1.0, 1, 1, spelled=False, capital=False, alone=False, item=False, pointed=False, density=6.0
)
NAMED = LinkEvidence(PLAIN, linked=5)


def given_by(layer: str, evidence: LinkEvidence) -> float:
    return (score_layers(evidence) or {}).get(layer, 0.0)


def said(**how: object) -> LinkEvidence:
    return replace(NAMED, mention=replace(PLAIN, **how))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("layer", "better", "worse"),
    [
        ("exact", said(spelled=True), NAMED),
        ("exact", said(words=2), NAMED),
        ("exact", NAMED, said(namesakes=3)),
        ("stem", said(kind="stem"), said(kind="stem", namesakes=2)),
        ("fuzzy", said(kind="collapsed"), said(kind="fuzzy", alike=0.9)),
        ("fuzzy", said(kind="fuzzy", alike=0.95), said(kind="fuzzy", alike=0.8)),
        ("habit", replace(NAMED, habit=2.0), replace(NAMED, habit=-2.0)),
        ("cooccurrence", replace(NAMED, company=0.5), NAMED),
        ("type", replace(NAMED, category=1.0), NAMED),
        ("context", said(capital=True), NAMED),
        ("context", said(alone=True), NAMED),
        ("context", said(item=True), NAMED),
        ("context", said(pointed=True), NAMED),
        ("context", said(density=12.0), said(density=2.0)),
        ("context", replace(NAMED, same_folder=True), NAMED),
        ("context", replace(NAMED, kin=True), NAMED),
        ("recency", replace(NAMED, days=1.0), replace(NAMED, days=30.0)),
        ("hub", replace(NAMED, linked=100), NAMED),
        ("hub", replace(NAMED, linked=0), NAMED),
        ("feedback", replace(NAMED, feedback=5.0), replace(NAMED, feedback=-5.0)),
        ("semantic", replace(NAMED, likeness=0.6), replace(NAMED, likeness=0.3)),
        ("edge", replace(NAMED, backlink=True), NAMED),
        ("edge", replace(NAMED, pair=3.0), NAMED),
    ],
)
def test_a_layer_says_its_own_and_no_other_does(layer: str, better: LinkEvidence, worse: LinkEvidence) -> None:
    assert given_by(layer, better) > given_by(layer, worse)
    others = [name for name in LAYERS if name != layer]
    assert [given_by(name, better) for name in others] == [given_by(name, worse) for name in others]
    if layer not in scoring_layers.LAYER_OF_MATCH.values():
        assert layer not in (score_layers(better, frozenset([layer])) or {})


def test_who_finds_a_name_is_the_only_one_to_weigh_how() -> None:
    for kind, layer in scoring_layers.LAYER_OF_MATCH.items():
        found = score_layers(said(kind=kind)) or {}
        assert [name for name in ("exact", "stem", "fuzzy") if name in found] == [layer]
        assert score_layers(said(kind=kind), frozenset([layer])) is None


def test_a_note_that_is_not_named_counts_by_nearness_alone() -> None:
    near = LinkEvidence(None, habit=3.0, category=1.0, company=0.5, linked=50, likeness=0.7, backlink=True)
    assert set(score_layers(near) or {}) == {"cooccurrence", "semantic", "edge"}


@pytest.mark.parametrize(
    ("text", "capital", "alone", "item", "pointed"),
    [
        ("the |Space| is", True, False, False, False),
        ("|Space| is", False, False, False, False),
        ("It ends. |Space| is", False, False, False, False),
        ("the |space| is", False, False, False, False),
        ("* |Space|", False, True, False, False),
        ("x\n- [ ] **|Space|**.\ny", False, True, False, False),
        ("* |Space|: where", False, False, True, False),
        ("1. |Space| — where", False, False, True, False),
        ("for more, see |space|", False, False, False, True),
        ("siehe auch |Raum|", True, False, False, True),
        ("see it. Or a |space|", False, False, False, False),
    ],
)
def test_how_a_name_stands(text: str, capital: bool, alone: bool, item: bool, pointed: bool) -> None:
    before, words, after = text.split("|")
    found = read_position(before + words + after, len(before), len(before) + len(words))
    assert (found.capital, found.alone, found.item, found.pointed) == (capital, alone, item, pointed)


def test_a_name_in_an_endless_line_is_looked_at_no_further_than_around_it() -> None:
    assert not read_position("*" * 1000 + "Space" + "*" * 1000, 1000, 1005).alone


mentions = st.builds(
    MentionEvidence,
    st.sampled_from(["exact", "stem", "collapsed", "fuzzy"]),
    st.floats(0.8, 1),
    st.integers(1, 5),
    st.integers(1, 5),
    *[st.booleans()] * 5,
    st.floats(0, 100),
)
evidences = st.builds(
    LinkEvidence,
    st.none() | mentions,
    habit=st.floats(-5, 5),
    category=st.floats(-5, 5),
    company=st.floats(0, 1),
    same_folder=st.booleans(),
    kin=st.booleans(),
    backlink=st.booleans(),
    pair=st.floats(0, 1e6),
    linked=st.integers(0, 10**6),
    days=st.none() | st.floats(-1, 1e4),
    feedback=st.floats(-5, 5),
    likeness=st.floats(0, 1),
)


def candidate(number: int, evidence: LinkEvidence) -> LinkCandidate:
    mention = evidence.mention
    start = number // 2 * 10  # every two go by the same words
    place = Sighting(start, start + 4, (number,), mention.kind, mention.words, mention.alike) if mention else None
    return LinkCandidate(Node(number, f"{number}.md", str(number), (), ""), evidence, place)


def paths(found: Sequence[LinkSuggestion]) -> set[str]:
    return {each.path for each in found}


@settings(deadline=None, max_examples=examples(50), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(evidences, max_size=8))
def test_a_stricter_mode_finds_nothing_a_laxer_one_does_not(several: list[LinkEvidence]) -> None:
    candidates = [candidate(number, each) for number, each in enumerate(several)]
    found = {
        mode: choose_suggestions(candidates, "x" * 1000, SuggestionOptions(limit=100), mode)[0]
        for mode in scoring_layers.STRICTNESS_LEVELS
    }
    assert paths(found["conservative"]) <= paths(found["balanced"]) <= paths(found["aggressive"])
    for each in found["aggressive"]:
        assert each.score == pytest.approx(sum(each.layers.values()), abs=0.11)
        assert 0 <= each.confidence <= 1
    spans = [(each.start, each.end) for each in found["aggressive"] if each.kind == "mention"]
    assert len(spans) == len(set(spans))


def test_of_notes_that_go_by_the_same_words_the_likeliest_is_suggested() -> None:
    sure, less = (
        replace(said(spelled=True, namesakes=2), habit=3.0),
        replace(said(spelled=True, namesakes=2), habit=2.0),
    )
    found, total = choose_suggestions(
        [candidate(0, less), candidate(1, sure)], "Word", SuggestionOptions(), "aggressive"
    )
    assert [each.path for each in found] == ["1.md"]
    assert total == 1


def test_no_more_than_asked_and_those_that_are_named_first() -> None:
    near = LinkEvidence(None, company=1.0, likeness=0.9, backlink=True)
    sure = replace(said(spelled=True), habit=4.0)
    several = [candidate(0, near), candidate(2, sure), candidate(4, near), candidate(6, sure), candidate(8, near)]
    found, total = choose_suggestions(several, "x" * 100, SuggestionOptions(limit=3, related=2), "balanced")
    assert [each.kind for each in found] == ["mention", "mention", "related"]
    assert total == 4
