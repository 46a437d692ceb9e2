"""Pairs that cannot hold together, and pairs that can: a hint that is wrong costs more than one that is missing."""

from __future__ import annotations

import pytest

from tests.vaults.domain.hygiene import pairs
from tests.work import assert_linear
from vaults.domain.hygiene.contradictions import Statement, contradicted

Pairs = list[tuple[str, str]]


def _why(new: str, old: str) -> str | None:
    return contradicted(Statement("", new), Statement("", old))


@pytest.mark.parametrize("part", ["SEEN", "HELD"])
def test_hints_are_precise_and_find_most(part: str) -> None:
    against: Pairs = getattr(pairs, f"CONTRADICTING_{part}")
    alike: Pairs = getattr(pairs, f"AGREEING_{part}")
    found = [pair for pair in against if _why(*pair)]
    wrong = [pair for pair in alike if _why(*pair)]
    assert len(against) + len(alike) >= 60
    assert len(found) / (len(found) + len(wrong)) >= 0.95, wrong
    assert len(found) / len(against) >= 0.8, [pair for pair in against if pair not in found]


@pytest.mark.parametrize("part", ["SEEN", "HELD"])
def test_it_does_not_matter_which_was_said_first(part: str) -> None:
    every: Pairs = getattr(pairs, f"CONTRADICTING_{part}") + getattr(pairs, f"AGREEING_{part}")
    assert [pair for pair in every if bool(_why(*pair)) != bool(_why(*reversed(pair)))] == []


def test_nothing_contradicts_itself() -> None:
    for one, other in pairs.CONTRADICTING_SEEN + pairs.AGREEING_SEEN:
        assert _why(one, one) is None
        assert _why(other, other) is None


def test_the_reason_names_both_values() -> None:
    why = _why("The API listens on port 8700.", "The API listens on port 9000.")
    assert why == "it says 9000, this 8700"


def test_one_sentence_among_many_is_found() -> None:
    new = "The cluster was set up in May. Node pools are autoscaled. Sessions expire after 30 minutes. Ask Ada."
    old = "Users sign in with passkeys. Sessions expire after 60 minutes."
    assert _why(new, old) == "it says 60, this 30"


def test_a_title_is_the_subject_of_a_content_that_is_only_a_value() -> None:
    assert contradicted(Statement("API port", "8700"), Statement("API port", "9000")) is not None
    assert contradicted(Statement("API port", "8700"), Statement("Metrics port", "9000")) is None


def test_long_texts_are_compared_quickly() -> None:
    text = "Service {0} keeps a list of what {0} was asked for.\n"

    def two(sentences: int) -> list[str]:
        """No two of them contradict each other, so that each is compared with each."""
        return ["".join(text.format(f"{name}{n}") for n in range(sentences)) for name in ("heron", "bittern")]

    assert_linear(lambda texts: _why(*texts), two, 60)
    assert _why(*two(60)) is None
