"""Limits and duplicates by the rows of a vault, at times that are given."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from vaults.db.connection import Database
from vaults.db.migration import migrate
from vaults.domain.social import sent_items
from vaults.errors import Conflict, RateLimited
from vaults.settings import StorageSettings

NOON = "2026-03-01T12:00:00.000Z"


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Database]:
    database = Database(tmp_path / "vault.db", StorageSettings())
    await migrate(database, "vault")
    yield database
    await database.close()


async def test_a_post_that_was_taken_back_was_never_sent(db: Database) -> None:
    number = await db.write(lambda tx: sent_items.reserve_post(tx, None, "Tides", "Nine", NOON))
    with pytest.raises(Conflict):
        await db.write(lambda tx: sent_items.reserve_post(tx, "GENERAL ", "tides", "Ten", NOON))
    with pytest.raises(RateLimited):
        await db.write(lambda tx: sent_items.reserve_post(tx, "birds", "Tides", "Nine", NOON))
    await db.write(lambda tx: sent_items.take_back(tx, number))
    assert await db.write(lambda tx: sent_items.reserve_post(tx, None, "Tides", "Nine", NOON)) > number


async def test_a_clock_that_was_set_back_makes_nobody_wait_longer_than_the_window(db: Database) -> None:
    await db.write(lambda tx: sent_items.reserve_post(tx, None, "Tides", "Nine", "2031-01-01T00:00:00.000Z"))
    with pytest.raises(RateLimited) as refused:
        await db.write(lambda tx: sent_items.reserve_post(tx, None, "Ebb", "Three", NOON))
    assert refused.value.details == {"retry_after_s": 1800}


async def test_of_a_post_no_text_is_kept_and_of_old_comments_nothing(db: Database) -> None:
    await db.write(lambda tx: sent_items.reserve_post(tx, None, "Tides", "Nine", NOON))
    await db.write(lambda tx: sent_items.reserve_comment(tx, NOON))
    await db.write(lambda tx: sent_items.reserve_comment(tx, "2026-03-03T12:00:00.000Z"))
    kept = await db.read(lambda tx: tx.all("SELECT kind, title_hash, sent_at FROM social_sent ORDER BY seq"))
    assert [(kind, at) for kind, _, at in kept] == [("post", NOON), ("comment", "2026-03-03T12:00:00.000Z")]
    assert "tides" not in repr(kept).lower()
    assert kept[0][1] == hashlib.sha256(b"tides").hexdigest()
