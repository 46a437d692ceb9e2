"""Patterns of paths: what they match, what they refuse, how long they take.

Covers vaults.domain.text.regexes.
"""

from __future__ import annotations

import pytest

from tests.work import assert_linear
from vaults.domain.notes.read import path_globs
from vaults.domain.text.regexes import MAX_PATTERN_LENGTH
from vaults.errors import InvalidArgument

PATHS = (
    "plan.md",
    "Plan.md",
    "daily/2026-11-22.md",
    "daily/2025-01-01.md",
    "daily/old/2026-01-01.md",
    "a/b/c.md",
    "log-1.md",
    "log-x.md",
    "what is (this)+.md",
)


def matched(pattern: str) -> list[str]:
    matches = path_globs.compile_matcher(pattern)
    return [path for path in PATHS if matches(path)]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.md", ["plan.md", "Plan.md", "log-1.md", "log-x.md", "what is (this)+.md"]),
        ("daily/2026-*.md", ["daily/2026-11-22.md"]),
        ("daily/**/2026-*.md", ["daily/2026-11-22.md", "daily/old/2026-01-01.md"]),
        ("daily/**", ["daily/2026-11-22.md", "daily/2025-01-01.md", "daily/old/2026-01-01.md"]),
        ("**/*.md", list(PATHS)),
        ("**/c.md", ["a/b/c.md"]),
        ("a/*/c.md", ["a/b/c.md"]),
        ("a/*.md", []),
        ("p?an.md", ["plan.md"]),
        ("[pP]lan.md", ["plan.md", "Plan.md"]),
        ("log-[0-9].md", ["log-1.md"]),
        ("log-[!0-9].md", ["log-x.md"]),
        ("{plan,log-1,a/b/c}.md", ["plan.md", "a/b/c.md", "log-1.md"]),
        ("what is (this)+.*", ["what is (this)+.md"]),
        ("a**c.md", []),
    ],
)
def test_a_pattern_matches_whole_paths_folder_by_folder(pattern: str, expected: list[str]) -> None:
    assert matched(pattern) == expected


def test_normal_forms_do_not_count() -> None:
    assert path_globs.compile_matcher("caf\u00e9-*.md")("cafe\u0301-1.md")
    assert path_globs.compile_matcher("cafe\u0301-*.md")("caf\u00e9-1.md")


@pytest.mark.parametrize(
    "pattern", ["../*.md", "a/../*.md", "/*.md", "./*.md", "[z-a]*.md", "*" * (MAX_PATTERN_LENGTH + 1)]
)
def test_what_leaves_the_vault_or_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidArgument):
        path_globs.compile_matcher(pattern)


def test_names_with_odd_signs_alone_are_no_patterns() -> None:
    assert not path_globs.is_glob("a {b} (c).md")
    assert path_globs.is_glob("[draft] plan.md")


def test_a_pattern_that_makes_others_slow_is_quick() -> None:
    matches = path_globs.compile_matcher("*a" * 400 + "b.md")
    assert not matches("a" * 1000 + ".md")
    assert_linear(matches, lambda length: "a" * length + ".md", 250)
