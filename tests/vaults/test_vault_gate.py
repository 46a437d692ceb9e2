"""Serving a folder together, and having it alone.

Covers vaults.pool.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import Opening, asker
from tests.work import PATIENCE_S
from vaults import pool as pools
from vaults import pool_slots
from vaults.errors import ReadOnly, VaultUnavailable
from vaults.files.writes.renames import FolderEntry, exchange
from vaults.vault import Vault
from vaults.vault_gate import INTENT_FILE, VaultGate, hold_exclusively

HOLDER = """
import asyncio, sys
from pathlib import Path
from vaults.vault_gate import hold_exclusively
async def hold():
    async with hold_exclusively(Path(sys.argv[1]), 30):
        print("alone", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
asyncio.run(hold())
"""


@contextmanager
def _another_process(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Have the folder alone, in another process; its first line says when."""
    command = [sys.executable, "-c", HOLDER, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _wait_until_alone(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "alone\n"


async def test_many_serve_a_folder_together(tmp_path: Path) -> None:
    one, other = VaultGate(tmp_path), VaultGate(tmp_path)
    one.enter()
    other.enter()
    assert one.held
    assert other.held
    assert not one.is_wanted()


async def test_a_folder_that_others_serve_is_not_had_alone(tmp_path: Path) -> None:
    gate = VaultGate(tmp_path)
    gate.enter()
    with pytest.raises(VaultUnavailable, match="others keep"):
        async with hold_exclusively(tmp_path, 0):
            pass
    assert not gate.is_wanted()
    gate.leave()
    async with hold_exclusively(tmp_path, 0):
        pass


async def test_nobody_enters_a_folder_that_is_had_alone_or_only_wanted(tmp_path: Path) -> None:
    inside, late = VaultGate(tmp_path), VaultGate(tmp_path)
    async with hold_exclusively(tmp_path, 0):
        with pytest.raises(VaultUnavailable, match="restored or moved"):
            late.enter()
    inside.enter()
    wanting = asyncio.create_task(_take_and_leave(tmp_path))
    async with asyncio.timeout(PATIENCE_S):
        while not inside.is_wanted():  # noqa: ASYNC110  nobody tells
            await asyncio.sleep(0)
    with pytest.raises(VaultUnavailable):
        late.enter()
    assert not late.held
    inside.leave()
    await wanting
    late.enter()
    assert not (tmp_path / INTENT_FILE).exists()


async def _take_and_leave(folder: Path) -> None:
    async with hold_exclusively(folder, PATIENCE_S):
        pass


async def test_two_who_want_a_folder_get_it_one_after_the_other(tmp_path: Path) -> None:
    inside = 0

    async def alone() -> None:
        nonlocal inside
        async with hold_exclusively(tmp_path, PATIENCE_S):
            inside += 1
            assert inside == 1
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(alone() for _ in range(5)))


async def test_whoever_waited_for_a_folder_that_was_exchanged_gets_the_one_that_is_there_now(tmp_path: Path) -> None:
    folder, scratch = tmp_path / "vault", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    place = os.open(tmp_path, os.O_RDONLY)
    waiting = None
    async with hold_exclusively(folder, 0):
        waiting = asyncio.create_task(_mark(folder))
        await asyncio.sleep(0)
        assert exchange(FolderEntry(place, "vault"), FolderEntry(place, "scratch"))
    await waiting
    os.close(place)
    assert (folder / "mine").exists()
    assert not (scratch / "mine").exists()
    assert not (scratch / INTENT_FILE).exists()


async def _mark(folder: Path) -> None:
    async with hold_exclusively(folder, PATIENCE_S):
        assert (folder / INTENT_FILE).exists()
        (folder / "mine").touch()


async def test_the_intent_of_a_dead_process_keeps_nobody_out(tmp_path: Path) -> None:
    gate = VaultGate(tmp_path)
    with _another_process(tmp_path) as holder:
        await asyncio.to_thread(_wait_until_alone, holder)
        with pytest.raises(VaultUnavailable):
            gate.enter()
    assert (tmp_path / INTENT_FILE).exists()
    gate.enter()
    assert not gate.is_wanted()


async def test_a_folder_without_locks_has_no_gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int, _operation: int) -> None:
        raise OSError(38, "not here")

    gate = VaultGate(tmp_path)
    monkeypatch.setattr("vaults.vault_gate.fcntl.flock", refuse)
    gate.enter()
    assert not gate.held
    with pytest.raises(ReadOnly):
        async with hold_exclusively(tmp_path, 0):
            pass


async def test_a_missing_folder_is_nobody_s(tmp_path: Path) -> None:
    gate = VaultGate(tmp_path / "none")
    gate.enter()
    assert not gate.held
    with pytest.raises(VaultUnavailable, match="not there"):
        async with hold_exclusively(tmp_path / "none", 0):
            pass


async def test_an_open_vault_is_given_up_for_another_process_and_served_again_afterwards(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "GATE_LOOK_S", 0.01)
    monkeypatch.setattr(pool_slots, "CALLS_END_S", PATIENCE_S)
    async with opening() as services:
        ask, entry = asker(services), services.registry_cache.entry("main")
        assert (await ask("remember", content="kept through it all")).ok
        folder = services.pool.folder_of(entry)
        lease = services.pool.lease(entry)
        vault = await lease.__aenter__()
        with _another_process(folder) as holder:
            alone = asyncio.create_task(asyncio.to_thread(_wait_until_alone, holder))
            await _wait_until_closed(vault)
            assert (await ask("recall", query="kept")).code == "vault_unavailable"
            assert not alone.done(), "the folder was handed over while a call still had the vault"
            await lease.__aexit__(None, None, None)
            await alone
            assert (await ask("recall", query="kept")).code == "vault_unavailable"
        assert (await ask("recall", query="kept")).content["hits"]


async def _wait_until_closed(vault: Vault) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await _is_readable(vault):  # noqa: ASYNC110  nobody tells
            await asyncio.sleep(0.01)


async def _is_readable(vault: Vault) -> bool:
    try:
        await vault.db.read(lambda tx: tx.value("SELECT 1"))
    except VaultUnavailable:
        return False
    return True


async def test_calls_that_do_not_end_keep_the_folder_only_so_long(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "GATE_LOOK_S", 0.01)
    monkeypatch.setattr(pool_slots, "CALLS_END_S", 0.01)
    async with opening() as services:
        entry = services.registry_cache.entry("main")
        async with services.pool.lease(entry), hold_exclusively(services.pool.folder_of(entry), PATIENCE_S):
            assert not services.pool.open_count


async def test_a_vault_that_does_not_close_well_keeps_its_folder_from_nobody(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "GATE_LOOK_S", 0.01)
    close = Vault.close

    async def fail(vault: Vault) -> None:
        await close(vault)
        raise OSError(5, "the disk")

    async with opening() as services:
        entry = services.registry_cache.entry("main")
        async with services.pool.lease(entry):
            pass
        with monkeypatch.context() as patched:
            patched.setattr(Vault, "close", fail)
            async with hold_exclusively(services.pool.folder_of(entry), PATIENCE_S):
                assert not services.pool.open_count
