"""``strongroom salvage`` and ``doctor --repair`` as an operator runs them.

Covers ops.salvage.reopening, ops.salvage.source_search, ops.doctor.vaults,
ops.doctor.kept_damage.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests import harmed_vault
from tests.harmed_vault import NAME, read_rows, zero_pages
from tests.server.cli.command import Strongroom


@pytest.fixture
def path(strongroom: Strongroom) -> Path:
    """The database of a vault that is sound so far."""
    shutil.copytree(harmed_vault.whole_data(), strongroom.data)
    return strongroom.data / "vaults" / NAME / "vault.db"


def test_a_damaged_vault_is_built_anew_and_says_what_is_lost(strongroom: Strongroom, path: Path) -> None:
    assert "is sound" in strongroom("salvage", "--vault", NAME).out
    before = read_rows(path)["memories"]
    zero_pages(path)
    told = strongroom("salvage", "--vault", NAME, "--dry-run", "--json")
    assert (told.code, told.json["whole"], told.json["kept_as"]) == (1, False, None)
    ran = strongroom("salvage", "--vault", NAME)
    assert ran.code == 1
    assert "lost" in ran.out
    assert "kept as" in ran.out
    (kept,) = [
        each for each in strongroom("doctor", "--vault", NAME, "--json").json["checks"] if each["name"] == "kept_damage"
    ]
    assert (kept["status"], len(kept["details"])) == ("notice", len(list(path.parent.glob("vault.db.corrupt-*"))))
    after = read_rows(path)["memories"]
    assert after.items() < before.items()
    assert strongroom("verify", "--vault", NAME).code == 0
    assert strongroom("call", "recall", "--vault", NAME, '{"query": "harbour"}').code == 0


def test_a_backup_where_backups_go_makes_it_whole(strongroom: Strongroom, path: Path) -> None:
    assert strongroom("backup", "--vault", NAME).code == 0
    before = read_rows(path)
    zero_pages(path)
    ran = strongroom("doctor", "--repair", "--vault", NAME)
    assert "of a backup" in ran.err
    after = read_rows(path)
    for table in before.keys() - {"vault_info"}:
        assert after[table] == before[table], table
    assert strongroom("verify", "--vault", NAME).code == 0


def test_what_is_no_backup_stops_it_before_anything_is_changed(strongroom: Strongroom, path: Path) -> None:
    zero_pages(path)
    damaged = path.read_bytes()
    letter = strongroom.data / "letter"
    letter.write_text("Dear all")
    ran = strongroom("salvage", "--vault", NAME, "--from", str(letter))
    assert ran.code != 0
    assert path.read_bytes() == damaged
    ran = strongroom("salvage", "--vault", NAME, "--from", str(letter) + "x")
    assert "there is no backup" in ran.err
    assert path.read_bytes() == damaged
