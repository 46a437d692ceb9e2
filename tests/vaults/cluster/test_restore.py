"""A log that lost an entry, or holds another than was written, is refused by name; and nothing is placed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.vaults.cluster.logged_vault import SETTINGS, LoggedVault, Script
from tests.vaults.cluster.memory_log import VAULT, MemoryLog
from tests.work import examples
from vaults.cluster.failures import LogDamaged
from vaults.cluster.restore import drop_local, refuse_unsound, restore
from vaults.db.connection import open_raw
from vaults.db.replayed_file import ReplayedFile
from vaults.errors import NotFound


async def written(folder: Path, steps: int = 6, first: int = 0) -> LoggedVault:
    vault = LoggedVault(folder)
    await vault.open()
    script = Script(vault)
    await script.begin()
    for seed in range(first, first + steps):
        await script.run("insert", seed)
    await vault.close()
    return vault


async def test_whatever_is_done_to_entries_is_named(tmp_path: Path) -> None:
    vault = await written(tmp_path)
    log, head = vault.log, vault.log.held.head
    whole = list(log.stored)
    into = tmp_path / "r.db"

    def refused() -> int:
        with pytest.raises(LogDamaged) as caught:
            restore(log, VAULT, into, head)
        assert not into.exists()
        assert not list(tmp_path.glob(".restoring-*"))
        assert caught.value.details["vault"] == VAULT
        return int(caught.value.details["seq"])

    for place in range(head):
        log.stored = whole[:place] + whole[place + 1 :]  # lost
        assert refused() == place + 1
        log.stored = whole[: place + 1] + whole[place:]  # doubled
        assert place == head - 1 or refused() == place + 2
        if place:  # exchanged, as they are and under each other's numbers
            one, other = whole[place - 1 : place + 1]
            log.stored = [*whole[: place - 1], other, one, *whole[place + 1 :]]
            assert refused() == place
            swapped = [replace(other, seq=one.seq), replace(one, seq=other.seq)]
            log.stored = [*whole[: place - 1], *swapped, *whole[place + 1 :]]
            assert refused() == place

    @settings(max_examples=examples(80))
    @given(st.integers(0, head - 1), st.integers(0))
    def flip(place: int, bit: int) -> None:
        payload = bytearray(whole[place].payload)
        bit %= len(payload) * 8
        payload[bit // 8] ^= 1 << bit % 8
        log.stored = [*whole[:place], replace(whole[place], payload=bytes(payload)), *whole[place + 1 :]]
        assert refused() == place + 1

    flip()
    log.stored = whole
    restore(log, VAULT, into, head)
    assert into.read_bytes() == vault.image(head)


async def test_a_log_does_not_go_on_from_another_base(tmp_path: Path) -> None:
    vault = await written(tmp_path)
    (tmp_path / "other").mkdir()
    other = await written(tmp_path / "other", steps=2, first=100)
    vault.log.bases = {0: other.log.bases[0]}
    restore(other.log, VAULT, tmp_path / "r.db", other.log.held.head)
    into = tmp_path / "s.db"
    vault.log.stored = other.log.stored[:3] + vault.log.stored[3:]
    with pytest.raises(LogDamaged, match="damaged at 4: it follows another"):
        restore(vault.log, VAULT, into, vault.log.held.head)
    vault.log.bases = {}
    with pytest.raises(LogDamaged, match="no base"):
        restore(vault.log, VAULT, into, vault.log.held.head)


def test_a_log_that_has_not_begun_restores_nothing(tmp_path: Path) -> None:
    into = tmp_path / "r.db"
    into.write_bytes(b"what is there")
    assert restore(MemoryLog(), VAULT, into, 0) is None
    assert into.read_bytes() == b"what is there"


async def test_what_was_before_the_base_is_not_there_any_more(tmp_path: Path) -> None:
    vault = await written(tmp_path)
    await vault.open()
    assert await vault.rebase(is_due=True)
    await vault.close()
    with pytest.raises(NotFound, match=f"begins after entry {vault.log.held.head}"):
        restore(vault.log, VAULT, tmp_path / "r.db", 3)


async def test_what_sqlite_left_beside_the_old_copy_goes_with_it(tmp_path: Path) -> None:
    vault = await written(tmp_path)
    into = tmp_path / "r.db"
    stale = open_raw(into, SETTINGS, writer=True)
    stale.execute("CREATE TABLE stale (w)")
    (tmp_path / "kept-wal").write_bytes((tmp_path / "r.db-wal").read_bytes())
    stale.close()
    (tmp_path / "kept-wal").rename(tmp_path / "r.db-wal")
    head = vault.log.held.head
    found = restore(vault.log, VAULT, into, head, refuse_unsound)
    assert found is not None
    assert (found.base_bytes, found.log_bytes) == (
        sum(map(len, vault.log.bases[0])),
        sum(len(each.payload) for each in vault.log.stored),
    )
    assert sorted(path.name for path in tmp_path.glob("r.db*")) == ["r.db"]
    assert into.read_bytes() == vault.image(head)
    assert into.stat().st_mode & 0o777 == 0o600
    drop_local(into)
    drop_local(into)
    assert not into.exists()


async def test_the_old_copy_stays_until_the_new_one_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = await written(tmp_path)
    before = vault.path.read_bytes()

    def fail(path: Path) -> None:
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        restore(vault.log, VAULT, vault.path, 3, fail)
    assert vault.path.read_bytes() == before
    monkeypatch.setattr(ReplayedFile, "_read", lambda self, number: vault)
    with pytest.raises(TypeError):
        restore(vault.log, VAULT, vault.path, 5)
    assert vault.path.read_bytes() == before


async def test_a_database_that_was_damaged_before_it_was_logged_is_found_by_sqlite(tmp_path: Path) -> None:
    vault = LoggedVault(tmp_path)
    await vault.open()
    script = Script(vault)
    await script.begin()
    await script.run("insert", 1)
    await vault.db.run_on_writer(
        lambda raw: (
            raw.execute("PRAGMA writable_schema=ON"),
            raw.execute("UPDATE sqlite_schema SET rootpage = 9999 WHERE name = 't_w'"),
        )
    )
    await vault.close()
    restore(vault.log, VAULT, tmp_path / "r.db", vault.log.held.head)
    with pytest.raises(LogDamaged, match="SQLite finds"):
        restore(vault.log, VAULT, tmp_path / "s.db", vault.log.held.head, refuse_unsound)
    assert not (tmp_path / "s.db").exists()
