"""A server finishes what was left of renamed and deleted vaults, removes spent keys, and says what it cannot."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from auth.keys import add_key, open_key_ring
from ops.vault_life import folder_moves
from ops.vault_life.folder_moves import FolderMove
from server.http import upkeep
from server.services import Services
from tests.work import PATIENCE_S
from vaults.errors import VaultUnavailable
from vaults.registry import folder_of
from vaults.vault_gate import VaultGate


async def test_what_somebody_kept_open_is_erased_once_it_is_free(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_moves, "FINISH_WAIT_S", 0)
    said: list[tuple[str, Any]] = []
    monkeypatch.setattr(upkeep.log, "warning", lambda event, **about: said.append((event, about)), raising=False)
    folder = folder_of(services.data, "gone", None)
    folder.mkdir()
    await services.control.write(lambda tx: folder_moves.record(tx, FolderMove("id", "erase", "gone")))
    gate = VaultGate(folder)
    gate.enter()
    await upkeep.look_at_vaults(services)
    assert said == [("vaults_not_in_place", {"vaults": "gone"})]
    gate.leave()
    await upkeep.look_at_vaults(services)
    assert not folder.exists()
    assert len(said) == 1


async def test_it_is_seen_to_from_the_start_and_a_failure_ends_nothing(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "EVERY_S", 0.01)
    ring, rounds = open_key_ring(tmp_path / "keys"), asyncio.Queue[int]()
    add_key(ring)
    look = upkeep.look_at_keys

    async def counted(*about: Any) -> None:
        await look(*about)
        rounds.put_nowait(1)
        raise VaultUnavailable("the disk")

    monkeypatch.setattr(upkeep, "look_at_keys", counted)
    async with upkeep.keep_up(services, ring):
        for _ in range(2):
            await asyncio.wait_for(rounds.get(), PATIENCE_S)
