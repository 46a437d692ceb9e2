"""A file's language is known by its name, else by its first line."""

from __future__ import annotations

import pytest

from vaults.code.languages import BY_NAME, find_language


@pytest.mark.parametrize(
    ("name", "text", "language"),
    [
        ("src/a.py", "", "python"),
        ("A.PY", "", "python"),
        ("src\\a.rs", "", "rust"),
        ("a.d.ts", "", "typescript"),
        ("view.tsx", "", "tsx"),
        ("Rakefile", "", "ruby"),
        ("bin/tool", "#!/usr/bin/env python3\n", "python"),
        ("bin/tool", "#!/bin/sh\n", "bash"),
        ("bin/tool", "#!/usr/bin/env -S node --test\n", "javascript"),
        ("lib.h", "int f(void);\n", "c"),
        ("lib.h", "namespace a {\nclass B;\n}\n", "cpp"),
        ("notes.txt", "", None),
        ("Makefile", "all:\n", None),
        (".gitignore", "", None),
        ("", "", None),
    ],
)
def test_a_name_or_a_first_line_tells(name: str, text: str, language: str | None) -> None:
    found = find_language(name, text)
    assert (found.name if found else None) == language


def test_no_two_languages_claim_a_suffix() -> None:
    suffixes = [suffix for language in BY_NAME.values() for suffix in language.suffixes]
    assert len(suffixes) == len(set(suffixes))
