"""Turns share passages only where one speaker goes on, and what is appended changes none before the last."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.domain.documents.document_model import DocumentFields, DocumentPart
from vaults.domain.documents.part_runs import RUN_TOKENS, PartRun, cut_runs

AT = "2026-01-01T10:00:00.000Z"
TALK = DocumentFields("transcript", "transcript", "Paint", AT, AT)
BOOK = DocumentFields("document", "markdown", "Paint", AT, AT, uri="https://example.org/paint.md")


def turn(
    position: int, text: str, role: str = "user", at: str | None = None, *, thinking: bool = False
) -> DocumentPart:
    return DocumentPart(position, text, role=role, at=at, thinking=thinking)


def positions(runs: list[PartRun]) -> list[list[int]]:
    return [[part.position for part in run.parts] for run in runs]


def test_small_turns_of_one_speaker_share_a_passage_and_speakers_do_not() -> None:
    said = [turn(0, "Hello"), turn(1, "Are you there?"), turn(2, "Yes", "assistant"), turn(3, "Good")]
    assert positions(cut_runs(TALK, said, 200)) == [[0, 1], [2], [3]]


def test_reasoning_stands_apart_from_what_is_said() -> None:
    said = [turn(0, "Let me see", "assistant", thinking=True), turn(1, "It is blue", "assistant")]
    assert positions(cut_runs(TALK, said, 200)) == [[0], [1]]


def test_a_long_pause_begins_a_new_passage() -> None:
    said = [turn(0, "Hello", at=AT), turn(1, "Still me", at="2026-01-01T12:00:00.000Z")]
    assert positions(cut_runs(TALK, said, 200)) == [[0], [1]]


def test_a_long_turn_is_cut_and_shares_with_nobody() -> None:
    said = [turn(0, "Hi"), turn(1, "word " * 500), turn(2, "Bye")]
    first, long, last = cut_runs(TALK, said, 100)
    assert positions([first, long, last]) == [[0], [1], [2]]
    assert len(long.passages) >= 5


def test_sections_of_a_document_stand_under_their_headings() -> None:
    parts = [DocumentPart(0, "Salt eats paint.", "Why"), DocumentPart(1, "Use blue.", "What", "page 2")]
    runs = cut_runs(BOOK, parts, 200)
    assert [run.passages[0].title for run in runs] == ["Paint › Why", "Paint › What"]
    assert "paint.md" in runs[0].passages[0].labels
    assert "page 2" in runs[1].passages[0].labels


@pytest.mark.parametrize(
    ("title", "heading", "stands"),
    [
        ("Paint | The Harbour", "Paint", "Paint | The Harbour"),
        ("Paint – The Harbour", "Paint › Why", "Paint – The Harbour › Why"),
        ("The Harbour: Paint", "Paint", "The Harbour: Paint"),
        ("Paint-stripping", "Paint", "Paint-stripping › Paint"),
        ("Paints | The Harbour", "Paint", "Paints | The Harbour › Paint"),
        ("Paint", "", "Paint"),
    ],
)
def test_a_heading_that_the_title_names_beside_the_site_stands_there_once(
    title: str, heading: str, stands: str
) -> None:
    (run,) = cut_runs(replace(BOOK, title=title), [DocumentPart(0, "All.", heading or None)], 200)
    assert run.passages[0].title == stands


def test_a_title_that_is_the_first_heading_stands_there_once() -> None:
    parts = [
        DocumentPart(0, "All.", "Paint"),
        DocumentPart(1, "Blue.", "Paint › What"),
        DocumentPart(2, "Red.", "Paints"),
    ]
    assert [run.passages[0].title for run in cut_runs(BOOK, parts, 200)] == ["Paint", "Paint › What", "Paint › Paints"]


def test_small_parts_at_one_place_under_one_heading_share_a_passage() -> None:
    parts = [
        DocumentPart(0, "Blue.", "What", "page 2"),
        DocumentPart(1, "Or red.", "What", "page 2"),
        DocumentPart(2, "Next page.", "What", "page 3"),
        DocumentPart(3, "Why?", "Why", "page 3"),
        DocumentPart(4, "word " * 100, "Why", "page 3"),
    ]
    assert positions(cut_runs(BOOK, parts, 200)) == [[0, 1], [2], [3], [4]]
    code = replace(BOOK, kind="code")
    assert positions(cut_runs(code, parts[:2], 200)) == [[0], [1]]


TURNS = st.lists(
    st.tuples(st.sampled_from(["Yes", "No", "word " * 40, "word " * 300]), st.sampled_from(["user", "assistant"])),
    max_size=30,
)


@given(TURNS, st.integers(0, 30))
def test_what_follows_changes_no_run_but_the_last(said: list[tuple[str, str]], cut: int) -> None:
    turns = [turn(number, text, role) for number, (text, role) in enumerate(said)]
    whole, part = cut_runs(TALK, turns, 100), cut_runs(TALK, turns[:cut], 100)
    assert part[:-1] == whole[: max(0, len(part) - 1)]
    assert [part.position for run in whole for part in run.parts] == list(range(len(turns)))
    assert all(sum(passage.tokens for passage in run.passages) <= RUN_TOKENS for run in whole if len(run.parts) > 1)
    if part:
        again = cut_runs(TALK, turns[part[-1].parts[0].position :], 100)
        assert part[:-1] + again == whole
