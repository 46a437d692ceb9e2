"""Following the files while a vault is open: folders that come and go, failures that must not end it."""

from __future__ import annotations

import asyncio
import functools
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from server.services import Services
from tests.conftest import Opening, asker
from tests.work import PATIENCE_S
from vaults import pool_rounds
from vaults.domain.notes.index import note_rows, reconciliation
from vaults.domain.notes.sync import sync_loop
from vaults.files.watch.folder_watcher import WatchTimes
from vaults.vault import Vault

FLAGS = {"embedding.engine": "off"}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks for the folder often, and does not wait long after a failure. What ended is begun again by the test alone,
    and by no round of the pool."""
    monkeypatch.setattr(pool_rounds, "SWEEP_AFTER_S", 3600.0)
    monkeypatch.setattr(sync_loop, "WatchTimes", functools.partial(WatchTimes, check_s=0.05, debounce_s=0.02))
    monkeypatch.setattr(sync_loop, "RETRY_S", 0.02)
    monkeypatch.setattr(sync_loop, "AGAIN_S", 0.02)


@asynccontextmanager
async def watched(opening: Opening, **flags: Any) -> AsyncIterator[tuple[Services, Vault]]:
    async with (
        opening({**FLAGS, **flags}) as services,
        services.pool.lease(services.registry_cache.entry("main")) as vault,
    ):
        yield services, vault


async def until(true: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not true():  # noqa: ASYNC110  nobody tells
            await asyncio.sleep(0.01)


async def paths(vault: Vault) -> list[str]:
    return sorted(each.path for each in await vault.db.read(note_rows.find_known))


def is_over(vault: Vault) -> bool:
    """Whether the notes are not followed any more, or not yet again."""
    return vault.background.lasting_tasks[0].done()


async def until_paths(vault: Vault, expected: list[str]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await paths(vault) != expected:  # noqa: ASYNC110  nobody tells
            await asyncio.sleep(0.01)


def notes_of(data: Path) -> Path:
    return data / "vaults/main/notes"


async def test_a_folder_missing_at_the_start_is_told_and_followed_once_it_is_there(
    opening: Opening, tmp_path: Path
) -> None:
    async with watched(opening) as (_, vault):
        await until(lambda: vault.notes.now.phase == "ready")
    shutil.rmtree(notes_of(tmp_path))
    async with watched(opening) as (services, vault):
        await until(lambda: vault.notes.now.phase == "unavailable")
        assert "missing" in (vault.notes.now.reason or "")
        refused = await asker(services)("note_write", path="a.md", content="# A\n")
        assert refused.code == "vault_unavailable"
        assert not notes_of(tmp_path).exists()
        notes_of(tmp_path).mkdir()
        (notes_of(tmp_path) / "a.md").write_text("# A\n")
        await until(lambda: vault.notes.now.phase == "ready")
        assert vault.notes.now.reason is None
        await until_paths(vault, ["a.md"])


@pytest.mark.parametrize("mode", ["auto", "poll"])
async def test_a_folder_taken_away_is_told_soon_and_nothing_is_forgotten(
    opening: Opening, tmp_path: Path, mode: str
) -> None:
    async with watched(opening, **{"notes.watch": mode, "notes.poll_s": 0.5}) as (services, vault):
        ask = asker(services)
        await until(lambda: vault.notes.now.phase == "ready")
        for name in ("a", "b"):
            assert (await ask("note_write", path=f"{name}.md", content=f"# {name}\n")).ok
        notes_of(tmp_path).rename(tmp_path / "away")
        await until(lambda: vault.notes.now.phase == "unavailable")
        assert vault.notes.now.reason
        for tool, more in (
            ("note_write", {"path": "c.md", "content": "x"}),
            ("note_edit", {"path": "a.md", "content": "x"}),
        ):
            assert (await ask(tool, **more)).code == "vault_unavailable"
        assert await paths(vault) == ["a.md", "b.md"]
        assert not notes_of(tmp_path).exists()
        (tmp_path / "away").rename(notes_of(tmp_path))
        (notes_of(tmp_path) / "c.md").write_text("# C\n")
        await until(lambda: vault.notes.now.phase == "ready")
        await until_paths(vault, ["a.md", "b.md", "c.md"])
        assert (await ask("note_edit", path="a.md", content="on we go")).ok


async def test_without_a_watcher_there_is_one_look(
    opening: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, everything = 0, reconciliation.reconcile_all

    async def counted(*arguments: Any, **more: Any) -> Any:
        nonlocal looks
        looks += 1
        return await everything(*arguments, **more)

    monkeypatch.setattr(reconciliation, "reconcile_all", counted)
    async with watched(opening, **{"notes.watch": "off"}) as (_, vault):
        await until(lambda: is_over(vault))
        (notes_of(tmp_path) / "late.md").write_text("# Late\n")
        vault.background.resume_lasting_tasks()
        await asyncio.sleep(0.02)
        assert looks == 1
        assert await paths(vault) == []
        assert vault.notes.now.phase == "ready"
        assert vault.notes.now.watching == "off"
    async with watched(opening, **{"notes.watch": "off"}) as (_, vault):
        await until_paths(vault, ["late.md"])


@pytest.mark.parametrize("where", ["reconcile_all", "reconcile_paths"])
async def test_a_fault_in_a_look_is_told_and_following_begins_again(
    opening: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    async with watched(opening) as (_, vault):
        await until(lambda: vault.notes.now.phase == "ready")

        async def broken(*_: Any, **__: Any) -> Any:
            raise RuntimeError("a fault of ours, with /a/path")

        with monkeypatch.context() as patch:
            patch.setattr(reconciliation, where, broken)
            if where == "reconcile_all":
                assert vault.notes.watcher is not None
                vault.notes.watcher._pending.everything()
            else:
                (notes_of(tmp_path) / "a.md").write_text("# A\n")
            await until(lambda: is_over(vault))
            assert vault.notes.now.phase == "unavailable"
            assert "RuntimeError" in (vault.notes.now.reason or "")
            assert "/a/path" not in (vault.notes.now.reason or "")
        vault.background.resume_lasting_tasks()
        await until(lambda: vault.notes.now.phase == "ready")
        assert vault.notes.now.reason is None
        (notes_of(tmp_path) / "b.md").write_text("# B\n")
        await until_paths(vault, ["a.md", "b.md"] if where == "reconcile_paths" else ["b.md"])


async def test_most_notes_gone_are_looked_for_twice(opening: Opening, tmp_path: Path) -> None:
    for number in range(30):
        path = notes_of(tmp_path) / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# N{number}\n")
    async with watched(opening) as (_, vault):
        await until_paths(vault, sorted(f"{number}.md" for number in range(30)))
    for number in range(25):
        (notes_of(tmp_path) / f"{number}.md").unlink()
    async with watched(opening) as (_, vault):
        await until_paths(vault, sorted(f"{number}.md" for number in range(25, 30)))
        await until(lambda: vault.notes.now.phase == "ready")
