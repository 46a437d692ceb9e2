"""What is cut off leaves no half of a secret behind."""

from __future__ import annotations

import pytest

from vaults.domain.secrets.redaction import find_secrets, redact
from vaults.transcripts.shortening import MAX_OUTCOME, cut_text, shorten_arguments, shorten_outcome

TOKEN = "ghp_" + "a1B2" * 9
BODY = "\n".join("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ" + f"{number:04}" for number in range(600))
KEY = f"-----BEGIN PRIVATE KEY-----\n{BODY}\n-----END PRIVATE KEY-----"


@pytest.mark.parametrize("before", range(0, 60, 3))
def test_a_word_is_kept_whole_or_not_at_all(before: int) -> None:
    text = "x " * 20 + "y" * before + f" token {TOKEN} after"
    kept = cut_text(text, 80)
    assert TOKEN in kept or "ghp_" not in kept
    assert len(kept) <= 82


def test_a_text_without_words_is_left_out() -> None:
    assert cut_text("x" * 300, 100).strip() == "…"
    assert cut_text("short \0 ") == "short"


def test_the_end_of_an_outcome_does_not_begin_inside_a_key() -> None:
    outcome = shorten_outcome(f"{KEY}\n1 failed\n" + "done " * 10)
    assert outcome.endswith("done")
    kept, secrets = redact(outcome)
    assert "MIIEvQ" not in kept
    assert len(secrets) <= 1
    assert shorten_outcome("-----BEGIN PRIVATE KEY-----\n" + BODY * 9).count("MIIEvQ") < 50
    assert find_secrets(shorten_outcome("-----BEGIN PRIVATE KEY-----\n" + BODY * 9))


def test_a_long_outcome_keeps_its_beginning_and_its_end() -> None:
    outcome = shorten_outcome("begin " + "middle " * 10_000 + "end")
    assert outcome.startswith("begin")
    assert outcome.endswith("end")
    assert len(outcome) <= MAX_OUTCOME + 10


def test_arguments_are_cut_in_every_direction() -> None:
    deep: object = "x"
    for _ in range(50):
        deep = {"a": [deep]}
    arguments = {f"name {number}": number for number in range(50)} | {"long": "word " * 1000}
    short = shorten_arguments({"text": "word " * 1000, "deep": deep, "none": None, "odd": b"x", **arguments})
    assert len(short) == 20
    assert len(short["text"]) <= 1002
    assert short["deep"] == {"a": [{"a": None}]} or short["deep"] == {"a": [None]}
    assert short["odd"] is None
