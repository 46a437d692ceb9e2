"""What of a question goes to the model and what to the index, by what the vault's words weigh.

Covers vaults.search.question.
"""

from __future__ import annotations

from typing import Any

import pytest

from vaults.search import interpretation
from vaults.search.query import parse_query
from vaults.search.question import InterpretedQuestion
from vaults.search.vocabulary import VocabularyWord
from vaults.settings import SearchSettings

SETTINGS = SearchSettings(common_from=1000)


def meant(text: str, passages: int = 100, **words: VocabularyWord) -> InterpretedQuestion:
    return interpretation.interpret_known(parse_query(text), words, passages, SETTINGS)


def test_words_that_stand_everywhere_are_kept_from_the_model_not_from_the_index() -> None:
    read = meant(
        "Where does the project keep its keys?",
        project=VocabularyWord(0.31),
        keys=VocabularyWord(0.3),
        the=VocabularyWord(0.9),
    )
    assert read.embedded_text == "Where does the  keep its keys?"
    assert read.query.terms == ("project", "keep", "keys")


def test_names_are_kept_from_the_model_and_lift() -> None:
    words: dict[str, Any] = {"mary": VocabularyWord(0.01, ("mary jane",)), "ann": VocabularyWord(0.01, ("ann",))}
    read = meant("Which book did Mary lend to ann?", **words)
    assert read.names == {"mary jane", "ann"}
    assert read.embedded_text == "Which book did  lend to ?"
    assert meant("which book did mary lend?", **words).names == frozenset(), "her first name needs its capital"
    assert meant("Which book has Mary jane?", jane=VocabularyWord(0.01), **words).names == {"mary jane"}


@pytest.mark.parametrize("text", ["Project?", "Who is Ann?", "what is the project"])
def test_a_question_of_nothing_else_is_told_whole(text: str) -> None:
    assert meant(text, project=VocabularyWord(0.5), ann=VocabularyWord(0.1, ("ann",))).embedded_text == text


def test_the_first_word_is_no_name_for_its_capital() -> None:
    assert meant("Mary said what?", mary=VocabularyWord(0.01, ("mary jane",))).names == frozenset()


COMMON = {
    "harbour": VocabularyWord(0.5),
    "tide": VocabularyWord(0.03),
    "quay": VocabularyWord(0.01),
    "ship": VocabularyWord(0.021),
}


@pytest.mark.parametrize(
    ("text", "passages", "searched", "dropped"),
    [
        ("harbour tide quay", 999, ("harbour", "tide", "quay"), ()),
        ("harbour tide quay", 1000, ("quay",), ("harbour", "tide")),
        ("harbour tide ship", 1000, ("ship",), ("harbour", "tide")),
        ("harbour", 1000, ("harbour",), ()),
        ("harbour unheard", 1000, ("unheard",), ("harbour",)),
        ("?!", 1000, (), ()),
        ("harbour AND tide", 1000, ("harbour", "tide"), ()),
    ],
)
def test_common_words_are_dropped_in_a_big_vault_but_never_all(
    text: str, passages: int, searched: tuple[str, ...], dropped: tuple[str, ...]
) -> None:
    read = meant(text, passages, **COMMON)
    assert (read.query.terms, read.common) == (searched, dropped)


def test_slips_are_corrected_in_the_index_and_said() -> None:
    read = meant("where is the harbuor", harbuor=VocabularyWord(0, meant="harbour"))
    assert read.query.terms == ("harbuor", "harbour")
    assert read.embedded_text == "where is the harbuor"
    assert '"harbuor"' in read.query.warnings[0]


def test_beginnings_of_words_are_not_looked_up_and_names_are() -> None:
    assert interpretation.words_to_look_up(parse_query("config* of Will Smith")) == ("smith", "will")


def test_loosened_is_the_same_words_without_what_operators_ask_for() -> None:
    strict = meant('"north harbour" AND tide')
    loose = interpretation.drop_operators(strict)
    assert strict.query.must is not None
    assert loose.query.must is None
    assert set(loose.query.terms) >= {"north", "harbour", "tide"}
    assert "searched for the words alone" in loose.query.warnings[-1]
