"""A copied vault holds what the first held and goes its own way; a kill leaves a whole one or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from auth.grants import list_grants
from auth.principal import owner
from auth.roles import Role
from ops.backup.turns import turn
from ops.vault_life import copies, folder_moves
from server import vault_admin
from server.call import Caller
from server.dispatch import CallOutcome
from server.services import Services
from tests.conftest import Opening, asker
from tests.ops.vault_life.life import Killed, give, moves_of
from vaults import registry
from vaults.domain.maintenance.verification import verify
from vaults.errors import AlreadyExists, Conflict, InvalidArgument, NotFound, StorageFull
from vaults.registry import VaultRules, folder_of


async def _ask(services: Services, vault: str, tool: str, **arguments: object) -> CallOutcome:
    return await asker(services, Caller(owner("cli"), vault, Role.ADMIN, "cli"))(tool, **arguments)


async def test_a_copy_holds_everything_and_goes_its_own_way(opening: Opening) -> None:
    async with opening(vaults=("main",)) as services:
        assert (await _ask(services, "main", "remember", content="said in the first")).ok
        assert (await _ask(services, "main", "note_write", path="a.md", content="one\n")).ok
        assert (await _ask(services, "main", "note_write", path="a.md", content="two\n", mode="overwrite")).ok
        await give(services.control, services.data, "alice", "main")
        await services.control.write(lambda tx: registry.set_rules(tx, "main", VaultRules(destructive="auto")))
        before = services.registry_cache.entry("main")
        made = await vault_admin.copy(services, "main", "second")
        assert made.vault_id != before.vault_id
        assert made.destructive == "auto"
        assert (await _ask(services, "second", "recall", query="said")).content["hits"]
        assert (await _ask(services, "second", "note_read", path="a.md", part="full")).content["text"] == "two\n"
        log = await _ask(services, "second", "history", action="log", path="a.md")
        assert len(log.content["changes"]) == 2
        async with services.pool.lease(made) as vault:
            assert (await verify(vault)).agrees
        assert (await _ask(services, "second", "remember", content="said in the second")).ok
        listed = (await _ask(services, "main", "memory_list")).content["memories"]
        assert [each["content"] for each in listed] == ["said in the first"]
        assert {each.vault for each in await services.control.read(list_grants)} == {"main"}
        assert not await moves_of(services.control)


async def test_a_folder_served_in_place_is_copied_into_the_data_folder(opening: Opening, tmp_path: Path) -> None:
    notes = tmp_path / "mine"
    notes.mkdir()
    (notes / "a.md").write_text("the user's own\n")
    async with opening(vaults=(), data=tmp_path / "data") as services:
        await vault_admin.create(services, "mine", notes)
        made = await vault_admin.copy(services, "mine", "second")
        assert made.path is None
        assert (folder_of(services.data, "second", None) / "notes" / "a.md").read_text() == "the user's own\n"


@pytest.mark.parametrize(
    ("name", "new", "error"),
    [("none", "x", NotFound), ("main", "main", AlreadyExists), ("main", "../x", InvalidArgument),
     ("main", "left", AlreadyExists)],
)  # fmt: skip
async def test_what_cannot_be_copied_leaves_nothing(
    opening: Opening, tmp_path: Path, name: str, new: str, error: type[Exception]
) -> None:
    async with opening() as services:
        (tmp_path / "vaults" / "left").mkdir()
        with pytest.raises(error):
            await vault_admin.copy(services, name, new)
        assert list(services.registry_cache.names()) == ["main"]


async def test_a_copy_that_fails_or_is_killed_before_its_commit_leaves_nothing(
    opening: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opening() as services:

        def full(*_: object) -> None:
            raise StorageFull("no room")

        with monkeypatch.context() as patched:
            patched.setattr(copies, "_register", full)
            with pytest.raises(StorageFull):
                await vault_admin.copy(services, "main", "second")
        assert not list((tmp_path / "vaults").glob(".copying-*"))
        (tmp_path / "vaults" / ".copying-of-a-killed-process").mkdir()
        await vault_admin.copy(services, "main", "second")
        assert not list((tmp_path / "vaults").glob(".copying-*"))


async def test_a_copy_that_is_killed_after_its_commit_is_put_in_its_place_by_the_next_process(
    opening: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def die(*_: object) -> None:
        raise Killed

    async with opening() as services:
        with monkeypatch.context() as patched:
            patched.setattr(folder_moves, "carry_out", die)
            with pytest.raises(Killed):
                await vault_admin.copy(services, "main", "second")
        await folder_moves.finish_all(services.control, services.data)
        assert (folder_of(tmp_path, "second", None) / "vault.db").exists()
        assert not await moves_of(services.control)
        await services.registry_cache.refresh()
        assert (await _ask(services, "second", "status")).ok


async def test_one_vault_is_copied_at_a_time(opening: Opening, tmp_path: Path) -> None:
    async with opening() as services:
        with turn(tmp_path / "vaults" / ".copying", "copy"), pytest.raises(Conflict, match="being copied"):
            await vault_admin.copy(services, "main", "second")
