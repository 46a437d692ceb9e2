"""Paths inside a backup: none leads out of the folder it is written to."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.backup.member_paths import VAULT_ROOTS, check_paths, why_unusable
from vaults.errors import InvalidArgument

BAD = [
    "", "/etc/passwd", "notes/../../x", "notes//a.md", "notes/./a.md", "..", "notes/a\0b", "notes\\..\\x", "notes/",
    "notes/" + "a" * 256, "notes/" + "/".join(["a" * 200] * 21), "notes/\udc80.md",
]  # fmt: skip


@pytest.mark.parametrize("path", BAD)
def test_what_could_lead_out_is_unusable(path: str) -> None:
    assert why_unusable(path)
    with pytest.raises(InvalidArgument):
        check_paths([path], VAULT_ROOTS)


@pytest.mark.parametrize("paths", [["notes/a", "notes/a"], ["notes/a", "notes/a/b"], ["notes/a/b", "notes/a"], ["x"]])
def test_no_two_members_are_in_each_others_way(paths: list[str]) -> None:
    with pytest.raises(InvalidArgument):
        check_paths(paths, VAULT_ROOTS)


def test_a_path_may_hold_what_people_write() -> None:
    check_paths(["vault.db", "settings.json", "notes/Ä b/c: d?.md", "notes/Ä b/e.md", "history/HEAD"], VAULT_ROOTS)


@given(st.text(max_size=60))
def test_what_is_usable_stays_below_its_folder(path: str) -> None:
    if why_unusable(path) is None:
        assert PurePosixPath("/box").joinpath(path).is_relative_to("/box")
        assert ".." not in PurePosixPath(path).parts
        assert str(PurePosixPath(path)) == path
