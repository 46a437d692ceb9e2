"""Nobody else on the machine reads databases, logs, locks, snapshots or keys, whatever the umask; notes stay usual.

Covers server.setup.project_vaults, vaults.files.permissions.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from secrets import token_hex

import pytest

from auth.keys import open_key_ring
from server import vault_admin
from server.services import Services, open_services
from server.settings import load
from server.setup.project_vaults import make_state_folder
from server.tools import discover
from tests.conftest import asker
from tests.fakes import HashEmbedder
from tests.noted import until
from vaults.index import projection

OTHERS = 0o077


@pytest.fixture(params=[0o000, 0o022], ids=["umask 0", "umask 022"])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@asynccontextmanager
async def serving(data: Path, path: Path | None = None) -> AsyncIterator[Services]:
    """Over folders that are made here, with all that is kept in them."""
    loaded = load(data, flags={"storage.reserve_mb": 1, "notes.history": "auto"}, environment={})
    async with open_services(loaded.settings, loaded.data, discover(), load_model=HashEmbedder) as services:
        if not services.registry_cache.known("main"):
            await vault_admin.create(services, "main", path)
        open_key_ring(loaded.data / "keys")
        await services.pool.keep_reserves()
        ask = asker(services)
        assert (await ask("remember", content="for nobody else")).ok
        assert (await ask("note_write", path="deep/note.md", content=f"# Plan {token_hex(4)}\n", mode="overwrite")).ok
        assert (await ask("recall", query="nobody")).ok
        await until(services, lambda tx: tx.one("SELECT 1 FROM note_changes WHERE git = ''") is None)
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            await vault.settle()
        yield services


def open_to_others(folder: Path) -> dict[str, str]:
    """Ours that somebody else may read, write or list."""
    found = [folder, *folder.rglob("*")]
    ours = [path for path in found if "notes" not in path.relative_to(folder).parts[:-1]]
    modes = {str(path.relative_to(folder)): path.stat().st_mode for path in ours}
    return {name: oct(mode) for name, mode in modes.items() if mode & OTHERS}


async def test_what_is_made_is_private_while_it_is_served_and_afterwards(
    tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projection, "SNAPSHOT_FROM", 1)
    data = tmp_path / "place" / "data"
    async with serving(data):
        held = {path.name for path in (data / "vaults" / "main").iterdir()} | {path.name for path in data.iterdir()}
        assert {"vault.db-wal", "vault.db-shm", ".lease", "vectors.idx", "history.git", "control.db", "keys"} <= held
        assert open_to_others(data) == {}
        note = data / "vaults" / "main" / "notes" / "deep" / "note.md"
        assert note.stat().st_mode & 0o777 == 0o666 & ~umask, "the user's own"
    assert open_to_others(data) == {}


async def test_what_others_could_read_is_put_right_when_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projection, "SNAPSHOT_FROM", 1)
    data = tmp_path / "data"
    async with serving(data):
        pass
    main = data / "vaults" / "main"
    loose = [data / "control.db", data / "vaults", main, main / "vault.db", main / ".lease", main / "history.git"]
    for path in loose:
        path.chmod(path.stat().st_mode | 0o055)
    async with serving(data):
        assert open_to_others(data) == {}


async def test_a_project_is_as_private_and_its_notes_as_open_as_ever(
    tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projection, "SNAPSHOT_FROM", 1)
    project = tmp_path / "project"
    project.mkdir()
    (project / ".strongroom").mkdir(0o755)
    async with serving(make_state_folder(project), project):
        assert open_to_others(project / ".strongroom") == {}
        assert (project / "deep" / "note.md").stat().st_mode & 0o777 == 0o666 & ~umask
        assert (project / "deep").stat().st_mode & 0o777 == 0o777 & ~umask
