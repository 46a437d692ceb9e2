"""A disk in the network that goes away while its files are looked at and read: nothing that was found is lost
(vaults.domain.collections.file_reading, vaults.domain.collections.reconciliation)."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from server.services import Services
from tests.conftest import Asking
from tests.vaults.domain.collections.test_following import add, ids, listed, texts, until
from vaults.domain.collections import file_reading


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("srv") / "docs"
    (root / "guides").mkdir(parents=True)
    (root / "a.md").write_text("# Harbour\n\nThe harbour opens at nine.\n")
    (root / "guides" / "b.md").write_text("# Ferry\n\nThe ferry leaves from pier seven.\n")
    return root


@pytest.mark.parametrize("code", [errno.ESTALE, errno.EIO, errno.ENOTCONN, errno.EACCES])
async def test_a_folder_that_cannot_be_listed_any_more_keeps_its_documents(
    services: Services, ask: Asking, folder: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    await add(ask, folder, watch=False)
    scandir, lost = os.scandir, (folder / "guides").stat().st_ino

    def failing(at: int) -> object:
        if os.fstat(at).st_ino == lost:
            raise OSError(code, os.strerror(code))
        return scandir(at)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", failing)
        await ask("collections", action="refresh", name="docs")
        assert len(await ids(services)) == 2
        assert await texts(ask, "ferry")
    await ask("collections", action="refresh", name="docs")
    assert (await listed(ask))["state"] == "ready"


@pytest.mark.parametrize(
    ("code", "left"),
    [
        (errno.ESTALE, ["The ferry leaves from pier seven."]),
        (errno.EIO, ["The ferry leaves from pier seven."]),
        (errno.EMFILE, ["The ferry leaves from pier seven."]),
        (errno.EACCES, []),
    ],
)
async def test_a_file_whose_disk_does_not_answer_keeps_its_document_and_one_that_may_not_be_read_does_not(
    services: Services, ask: Asking, folder: Path, monkeypatch: pytest.MonkeyPatch, code: int, left: list[str]
) -> None:
    await add(ask, folder, watch=False)
    page = folder / "guides" / "b.md"
    page.write_text("# Ferry\n\nThe ferry leaves from pier nine.\n")
    read = file_reading.read_file

    def failing(at: int, name: str, path: str, limit: int) -> object:
        if name == page.name:
            raise OSError(code, os.strerror(code))
        return read(at, name, path, limit)

    with monkeypatch.context() as patch:
        patch.setattr(file_reading, "read_file", failing)
        await ask("collections", action="refresh", name="docs")
        assert await texts(ask, "ferry") == left
        (told,) = (await listed(ask))["examples"]
        assert (told["path"], told["problem"]) == ("guides/b.md", f"cannot be read ({os.strerror(code)})")
    await ask("collections", action="refresh", name="docs")
    assert await texts(ask, "ferry") == ["The ferry leaves from pier nine."]
    assert (await listed(ask))["problems"] == 0


async def test_a_disk_that_goes_while_it_is_looked_at_takes_nothing_along(
    services: Services, ask: Asking, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(ask, folder, watch=False)
    scandir = os.scandir

    def failing(at: int) -> object:
        if folder.exists():  # everything is unmounted after the root was opened
            folder.rename(folder.parent / "away")
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return scandir(at)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", failing)
        await ask("collections", action="refresh", name="docs")
    assert (await listed(ask))["state"] == "unavailable"
    assert len(await ids(services)) == 2
    (folder.parent / "away").rename(folder)

    async def back() -> bool:
        return (await listed(ask))["state"] == "ready"

    await until(back)
