"""Another name for a vault: what goes by it goes along, and a kill in between leaves the rest to whoever comes next.

Covers ops.vault_life.folder_moves.
"""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from auth.principal import LOCAL, Principal, local_names, owner
from auth.roles import Role
from ops.vault_life import folder_moves, renames
from server import vault_admin
from server.call import Caller
from server.dispatch import CallOutcome
from server.services import Services
from tests.conftest import Opening, asker
from tests.ops.vault_life.life import Killed, control_of, entry_of, give, moves_of, names_in
from vaults import pool as pools
from vaults.errors import AlreadyExists, InvalidArgument, NotFound, VaultUnavailable
from vaults.registry import folder_of
from vaults.settings import StorageSettings
from vaults.transcripts.harvest_state import state_folder
from vaults.vault_gate import VaultGate


async def test_everything_that_names_a_vault_names_it_anew(tmp_path: Path) -> None:
    async with control_of(tmp_path, "old", "other") as control:
        await give(control, tmp_path, "alice", "old", "other")
        state_folder(tmp_path, "old").mkdir(parents=True)
        before = await entry_of(control, "old")
        renamed = await renames.rename(control, tmp_path, "old", "new")
        assert (renamed.vault_id, renamed.name) == (before.vault_id, "new")
        assert await control.read(names_in) == {
            "registry": ["new", "other"], "grants": ["new", "other"], "plans": ["new"], "tokens": ["new", "other"],
        }  # fmt: skip
        assert not folder_of(tmp_path, "old", None).exists()
        assert (folder_of(tmp_path, "new", None) / "vault.db").exists()
        assert state_folder(tmp_path, "new").is_dir()
        assert not state_folder(tmp_path, "old").exists()
        assert not await moves_of(control)


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("none", "new", NotFound),
        ("old", "other", AlreadyExists),
        ("old", "old", AlreadyExists),
        ("old", "../up", InvalidArgument),
        ("old", "left", AlreadyExists),
    ],
)
async def test_what_cannot_be_renamed_stays_as_it_was(
    tmp_path: Path, old: str, new: str, error: type[Exception]
) -> None:
    async with control_of(tmp_path, "old", "other") as control:
        (tmp_path / "vaults" / "left").mkdir()
        with pytest.raises(error):
            await renames.rename(control, tmp_path, old, new)
        assert (await control.read(names_in))["registry"] == ["old", "other"]
        assert (folder_of(tmp_path, "old", None) / "vault.db").exists()


async def test_a_vault_that_others_keep_open_is_not_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renames, "GATE_WAIT_S", 0)
    async with control_of(tmp_path, "old") as control:
        gate = VaultGate(folder_of(tmp_path, "old", None))
        gate.enter()
        with pytest.raises(VaultUnavailable):
            await renames.rename(control, tmp_path, "old", "new")
        gate.leave()
        assert (await control.read(names_in))["registry"] == ["old"]


async def _stop_after_the_commit(monkeypatch: pytest.MonkeyPatch, work: Coroutine[Any, Any, object]) -> None:
    """As a kill would: the registry says it, the folder does not know yet."""

    async def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(folder_moves, "carry_out", die)
        with pytest.raises(Killed):
            await work


async def test_the_next_process_moves_the_folder_that_a_kill_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with control_of(tmp_path, "old") as control:
        await _stop_after_the_commit(monkeypatch, renames.rename(control, tmp_path, "old", "new"))
        assert folder_of(tmp_path, "old", None).exists()
        with pytest.raises(VaultUnavailable, match="still in place"):
            await control.read(lambda tx: folder_moves.refuse_if_moving(tx, "old"))
        await folder_moves.finish_all(control, tmp_path)
        assert (folder_of(tmp_path, "new", None) / "vault.db").exists()
        assert not await moves_of(control)
        await folder_moves.finish_all(control, tmp_path)
        # Now the old name is free again, and a new vault of that name is an empty one.
        again = await vault_admin.register(control, tmp_path, StorageSettings(), "old")
        assert again.vault_id != (await entry_of(control, "new")).vault_id


async def test_a_name_is_nobody_s_while_the_files_below_it_are_another_vault_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_moves, "FINISH_WAIT_S", 0)
    async with control_of(tmp_path, "old") as control:
        await _stop_after_the_commit(monkeypatch, renames.rename(control, tmp_path, "old", "new"))
        gate = VaultGate(folder_of(tmp_path, "old", None))
        gate.enter()  # somebody has not noticed yet
        with pytest.raises(VaultUnavailable, match="still in place"):
            await vault_admin.register(control, tmp_path, StorageSettings(), "old")
        with pytest.raises(VaultUnavailable, match="still in place"):
            await renames.rename(control, tmp_path, "new", "newer")
        gate.leave()
        await vault_admin.register(control, tmp_path, StorageSettings(), "old")
        assert (folder_of(tmp_path, "new", None) / "vault.db").exists()


async def test_what_a_lost_race_left_under_the_new_name_is_put_aside_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with control_of(tmp_path, "old") as control:
        await _stop_after_the_commit(monkeypatch, renames.rename(control, tmp_path, "old", "new"))
        stray = folder_of(tmp_path, "new", None)
        stray.mkdir()
        (stray / "vault.db").write_bytes(b"of an attempt that failed")
        await folder_moves.finish_all(control, tmp_path)
        (kept,) = (tmp_path / "vaults").glob(".unclaimed-*/vault.db")
        assert kept.read_bytes() == b"of an attempt that failed"
        assert (folder_of(tmp_path, "new", None) / "vault.db").stat().st_size > 100


async def test_a_server_serves_a_renamed_vault_under_its_new_name_and_the_old_one_is_free(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "GATE_LOOK_S", 0.01)
    async with opening(vaults=("old", "other")) as services:
        ask = partial(_ask, services)
        assert (await ask("old", "remember", content="said before the move")).ok
        token = await give(services.control, services.data, "alice", "old")
        await vault_admin.rename(services, "old", "new")
        assert (await ask("new", "recall", query="said")).content["hits"][0]["content"] == "said before the move"
        refused, unknown = [await ask(name, "recall", query="said") for name in ("old", "never")]
        assert (refused.code, refused.text) == (unknown.code, unknown.text)
        bearer = Principal("alice", LOCAL, local_names("alice"), token_id=token, token_vaults=frozenset({"old"}))
        assert services.role_in(bearer, "new") is not None
        await vault_admin.create(services, "old")
        assert not (await ask("old", "recall", query="said")).content["hits"]
        assert (await ask("new", "recall", query="said")).content["hits"]
        assert services.role_in(bearer, "old") is None


async def _ask(services: Services, vault: str, tool: str, **arguments: Any) -> CallOutcome:
    return await asker(services, Caller(owner("cli"), vault, Role.ADMIN, "cli"))(tool, **arguments)


async def test_whoever_asks_for_a_vault_whose_folder_was_left_behind_finds_it(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opening(vaults=("old",)) as services:
        assert (await _ask(services, "old", "remember", content="said before the kill")).ok
        await services.pool.close_vault("old")
        stale = services.registry_cache.entry("old")
        await _stop_after_the_commit(monkeypatch, renames.rename(services.control, services.data, "old", "new"))
        await services.registry_cache.refresh()
        found = await _ask(services, "new", "recall", query="said")
        assert [hit["content"] for hit in found.content["hits"]] == ["said before the kill"]
        await services.pool.close_vault("new")
        with pytest.raises(NotFound, match="no such vault, or no grant for it"):
            async with services.pool.lease(stale):
                pass


async def test_a_server_that_starts_finishes_what_a_killed_process_left(
    opening: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with control_of(tmp_path, "old") as control:
        await _stop_after_the_commit(monkeypatch, renames.rename(control, tmp_path, "old", "new"))
    async with opening(vaults=()) as services:
        assert not await moves_of(services.control)
        assert [path.name for path in (tmp_path / "vaults").iterdir()] == ["new"]
