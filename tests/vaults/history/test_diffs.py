"""Diffs that apply, and end in time on texts made to be slow."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest

from tests.work import assert_linear
from vaults.history import diffs
from vaults.history.diffs import unified_diff

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n")


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def applied(before: str, diff: str) -> str:
    """What ``patch`` makes of it, strictly: every context line and every position must fit."""
    source, result, at, last = _lines(before), [], 0, ""
    for line in _lines(diff)[2:]:
        hunk = _HUNK.fullmatch(line)
        if hunk:
            start = int(hunk[1]) - (hunk[2] != "0")
            result += source[at:start]
            at = start
            assert len(result) == int(hunk[3]) - (hunk[4] != "0")
        elif line.startswith("\\"):
            result[-1:] = [result[-1].removesuffix("\n")] if last == "+" else result[-1:]
        else:
            last = line[0]
            if last in " -":
                assert source[at].removesuffix("\n") == line[1:].removesuffix("\n")
                at += 1
            if last in " +":
                result.append(source[at - 1] if last == " " else line[1:])
    return "".join(result + source[at:])


@pytest.mark.parametrize("words", [2, 5, 1000])
def test_a_diff_makes_the_second_text_of_the_first(words: int) -> None:
    pick = random.Random(7)
    for _ in range(400):
        size = pick.choice([0, 1, 3, 12, 90])
        vocabulary = [f"{pick.randrange(words)}{pick.choice(['', ' ', chr(13)])}" for _ in range(words)]
        before = "\n".join(pick.choice(vocabulary) for _ in range(size)) + pick.choice(["", "\n"])
        lines = before.split("\n")
        for _ in range(pick.randrange(6)):
            at = pick.randrange(len(lines) + 1)
            lines[at : at + pick.randrange(4)] = [pick.choice(vocabulary) for _ in range(pick.randrange(4))]
        after = "\n".join(lines) + pick.choice(["", "\n"])
        diff = unified_diff(before, after, "a.md", context=pick.randrange(4), limit_lines=10_000)
        assert applied(before, diff) == after
        assert (diff == "") == (before == after)


def test_scattered_edits_of_a_large_text_stay_small() -> None:
    before = "".join(f"line {number}\n" for number in range(20_000))
    after = before.replace("line 5\n", "five\n").replace("line 19000\n", "").replace("line 777\n", "777\n777\n")
    assert len(unified_diff(before, after, "a.md").splitlines()) == 29
    assert applied(before, unified_diff(before, after, "a.md")) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (lambda n: "a\n" * 20 * n, lambda n: "a\n" * 10 * n + "b\n" + "a\n" * 9 * n),
        (lambda n: "a\nb\n" * 10 * n, lambda n: "b\na\nb\n" * 6 * n),
        (lambda n: "".join(f"{k}\n" for k in range(20 * n)), lambda n: "".join(f"{k}\n" for k in range(20 * n, 0, -1))),
        (
            lambda n: "".join(f"u{k}\n" + "a\nb\n" * 15 for k in range(n)),
            lambda n: "".join(f"u{k}\n" + "b\na\n" * 15 for k in range(n)),
        ),
        (lambda n: "x" * 1_500 * n, lambda n: "x" * 1_500 * n + "x"),
    ],
    ids=["a line", "two lines", "turned round", "between anchors", "one line"],
)
def test_texts_made_to_be_slow_are_not(before: Callable[[int], str], after: Callable[[int], str]) -> None:
    assert_linear(lambda texts: unified_diff(*texts, "a.md"), lambda n: (before(n), after(n)), 250)
    diff = unified_diff(before(250), after(250), "a.md")
    assert 0 < len(diff) < 2_000_000
    assert len(diff.splitlines()) <= 402


def test_gaps_beyond_the_budget_are_shown_as_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = "u\na\nb\na\nv\n", "u\nb\na\nb\nv\n"
    assert unified_diff(before, after, "a.md").count("\n-") == 1
    monkeypatch.setattr(diffs, "_ALL_GAPS", 8)
    spent = unified_diff(before, after, "a.md")
    assert spent.count("\n-") == 3
    assert applied(before, spent) == after


def test_a_long_diff_says_what_it_leaves_out() -> None:
    diff = unified_diff("", "x\n" * 1000, "a.md", limit_lines=10)
    assert len(diff.splitlines()) == 11
    assert diff.endswith("\\ 993 more lines of this diff are left out\n")


def test_a_long_line_is_shortened() -> None:
    assert "+" + "x" * 2000 + " […500 more characters]\n" in unified_diff("", "x" * 2500 + "\n", "a.md")


def test_a_path_cannot_start_a_line_of_its_own() -> None:
    assert unified_diff("a\n", "b\n", "x\n+++ b/evil").startswith("--- a/x?+++ b/evil\n+++ b/x?+++ b/evil\n@@")


def test_a_missing_last_newline_is_said() -> None:
    expected = "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"
    assert unified_diff("a\n", "a", "n.md").endswith(expected)
