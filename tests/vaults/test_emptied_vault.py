"""A registered vault whose database holds nothing any more is damaged, and stays as it was found."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.conftest import Opening, asker


def _cut(path: Path) -> None:
    path.write_bytes(b"")


def _blank(path: Path) -> None:
    path.unlink()
    raw = sqlite3.connect(path)
    raw.execute("PRAGMA user_version=1")
    raw.close()


@pytest.mark.parametrize("harm", [_cut, _blank])
async def test_an_emptied_database_is_damaged_and_never_made_anew(
    opening: Opening, tmp_path: Path, harm: object
) -> None:
    async with opening() as services:
        assert (await asker(services)("remember", content="a bittern")).ok
    file = tmp_path / "vaults" / "main" / "vault.db"
    harm(file)  # type: ignore[operator]
    async with opening() as services:
        refused = await asker(services)("recall", query="bittern")
        assert (refused.code, refused.content["error"]["details"]["reason"]) == ("vault_quarantined", "damaged")
    raw = sqlite3.connect(file)
    assert raw.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    raw.close()


async def test_a_log_beside_an_empty_database_is_left_for_the_operator(opening: Opening, tmp_path: Path) -> None:
    async with opening():
        pass
    file = tmp_path / "vaults" / "main" / "vault.db"
    _cut(file)
    log = file.with_name("vault.db-wal")
    log.write_bytes(b"kept")
    async with opening() as services:
        assert (await asker(services)("recall", query="x")).code == "vault_quarantined"
    assert (file.stat().st_size, log.read_bytes()) == (0, b"kept")
