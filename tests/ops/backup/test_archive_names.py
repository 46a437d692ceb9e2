"""Names of archives: whose, from when, of which schema and version."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ops.backup.archive_names import name_of, parse_name
from tests.ops.backup.staged import staged


def test_a_name_says_whose_when_and_by_what(tmp_path: Path) -> None:
    manifest = staged(tmp_path, {}, "2026-12-31T23:59:59.500Z").manifest
    name = name_of(manifest, encrypted=False)
    assert str(name) == "main-20261231T235959Z-s15-v0.1.0.tar.zst"
    assert parse_name(str(name)) == name
    assert str(name.later()) == "main-20270101T000000Z-s15-v0.1.0.tar.zst"
    closed = replace(name, vault="my-vault-20260101t000000z.x", version="1.0.0+a_1", encrypted=True)
    assert parse_name(str(closed)) == closed


def test_a_version_cannot_lead_anywhere(tmp_path: Path) -> None:
    manifest = staged(tmp_path, {}).manifest.model_copy(update={"version": "../../1-2"})
    assert "/" not in str(name_of(manifest, encrypted=True))


def test_that_of_the_installation_is_no_vaults(tmp_path: Path) -> None:
    manifest = staged(tmp_path, {}).manifest.model_copy(update={"kind": "control", "vault": ""})
    assert str(name_of(manifest, encrypted=True)).startswith("_control-2026")


@pytest.mark.parametrize(
    "name", ["", "main.tar.zst", "main-20261231T235959Z-s15-v0.1.0.tar", "-20261231-s1-v1.tar.zst"]
)
def test_other_files_are_none(name: str) -> None:
    assert parse_name(name) is None
