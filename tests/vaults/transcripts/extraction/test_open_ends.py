"""What is left open at the end of a conversation. Covers vaults.transcripts.extraction.open_end_rules."""

from __future__ import annotations

import pytest

from tests.vaults.transcripts.extraction.told import made
from vaults.transcripts.extraction.extracted_memory import ExtractedMemory


def left(*lines: str) -> list[ExtractedMemory]:
    return [each for each in made(*lines) if each.kind == "open"]


@pytest.mark.parametrize(
    "line",
    [
        "A Done. Not covered yet: the calendar export still assumes one room.",
        "A TODO for after the freeze: the same limit in prod.",
        "A I can't reach the host from here, so the cron entry isn't in place.",
        "U I still have to write the limitations section",
        "U leave the import for tomorrow",
        "U should the price be rounded as well?",
        "A Should it reset on wall touch as well?",
        "A Offen ist noch der Export der alten Nummern.",
    ],
)
def test_what_is_left(line: str) -> None:
    (found,) = left("U add it", "A Added.", line)
    assert found.turns[-1] == 2


@pytest.mark.parametrize(
    "line",
    [
        "A Done, nothing is left.",
        "A Would you like me to add tests?",
        "A Is there anything else?",
        "U thanks, that's all",
        "A Next steps:",
    ],
)
def test_what_is_closed(line: str) -> None:
    assert left("U add it", "A Added.", line) == []


def test_what_was_open_long_before_was_gone_on_with() -> None:
    more = [line for n in range(5) for line in (f"U do part {n}", f"A Part {n} is there.")]
    assert left("U add it", "A The export isn't done yet.", *more) == []


def test_words_of_the_person_close_it() -> None:
    assert left("U ship it tomorrow", "A The export isn't done yet.", "U never mind, not needed") == []


def test_a_vague_end_is_told_with_what_it_is_about() -> None:
    (found,) = left("U try it", "A The bucket is not reachable.", "U leave that for tomorrow")
    assert "The bucket is not reachable." in found.content


def test_a_command_that_fails_to_the_last() -> None:
    (found,) = left("U test it", "B make test", "  err: Error: no rule", "A Hm.")
    assert found.rule == "left-failing"
    assert "no rule" in found.content
    assert left("U test it", "B make test", "  err: Error: no rule", "B make test", "  ok: done") == []


def test_who_said_what_fails_is_enough() -> None:
    (found,) = left("U test it", "B make test", "  err: Error: no rule", "A `make test` still fails on main.")
    assert found.rule == "not-done-yet"
