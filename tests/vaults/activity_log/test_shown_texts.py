"""What callers were shown, as digests: bounded, quick, each caller's own."""

from __future__ import annotations

from tests.work import python_steps
from vaults.activity_log.shown_texts import MAX_KEPT, MAX_LENGTH, ShownTexts

TEXT = "The deploy of the ledger runs every night at two"


def test_case_spaces_quotes_and_markdown_do_not_hide_a_text() -> None:
    held = ShownTexts()
    held.note("ada", [(TEXT, "m1")])
    for said in (TEXT, f"> **{TEXT.upper()}**", TEXT.replace(" ", "\n"), f"“{TEXT}”…"):
        assert held.find_shown_source("ada", said, 60) == "m1", said
    for other in (TEXT + " or three", TEXT.replace("two", "2"), TEXT[:-4]):
        assert held.find_shown_source("ada", other, 60) is None, other


def test_a_text_is_known_to_who_was_shown_it_for_as_long_as_asked() -> None:
    held = ShownTexts()
    held.note("ada", [(TEXT, "m1")])
    assert held.find_shown_source("bob", TEXT, 60) is None
    assert held.find_shown_source("ada", TEXT, -1) is None
    held.clear()
    assert held.find_shown_source("ada", TEXT, 60) is None


def test_the_oldest_go_first_and_short_and_huge_texts_are_not_kept() -> None:
    held = ShownTexts()
    held.note("ada", [(f"{TEXT} {number}", str(number)) for number in range(MAX_KEPT + 10)])
    assert held.find_shown_source("ada", f"{TEXT} 9", 60) is None
    assert held.find_shown_source("ada", f"{TEXT} 10", 60) == "10"
    held.note("ada", [("Thanks!", "m2"), ("long " * MAX_LENGTH, "m3")])
    assert held.find_shown_source("ada", "Thanks!", 60) is None
    assert held.find_shown_source("ada", "long " * MAX_LENGTH, 60) is None


def test_what_a_call_pays_does_not_grow_with_what_is_held() -> None:
    held = ShownTexts()
    held.note("ada", [(f"{TEXT} {number}", str(number)) for number in range(MAX_KEPT)])
    hits = [(f"{TEXT} {number} " * 6, str(number)) for number in range(10)]
    assert python_steps(lambda: held.note("ada", hits)) < 600  # 30 µs on a quiet machine
