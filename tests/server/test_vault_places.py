"""Where vaults may lie: no folder's notes are served by two, and their state is nobody's to commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from server import vault_admin
from server.services import Services
from vaults.errors import AlreadyExists, InvalidArgument


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("notes")


async def test_a_folder_in_or_around_another_vaults_is_refused(services: Services, outside: Path) -> None:
    inner = outside / "team" / "private"
    inner.mkdir(parents=True)
    await vault_admin.create(services, "team", outside / "team")
    for path in (outside, inner):
        with pytest.raises(AlreadyExists):
            await vault_admin.create(services, "second", path)
    (outside / "team-two").mkdir()
    await vault_admin.create(services, "beside", outside / "team-two")  # begins alike, and lies beside


async def test_a_hidden_folder_inside_is_another_matter(services: Services, outside: Path) -> None:
    (outside / ".archive").mkdir()
    await vault_admin.create(services, "team", outside)
    await vault_admin.create(services, "old", outside / ".archive")


@pytest.mark.parametrize("place", [".", "vaults", ".."])
async def test_the_servers_own_data_are_no_notes(services: Services, place: str) -> None:
    with pytest.raises(InvalidArgument):
        await vault_admin.create(services, "nosy", services.data / place)


async def test_a_link_to_a_served_folder_is_that_folder(services: Services, outside: Path) -> None:
    (outside / "team").mkdir()
    (outside / "link").symlink_to(outside / "team")
    await vault_admin.create(services, "team", outside / "team")
    with pytest.raises(AlreadyExists):
        await vault_admin.create(services, "again", outside / "link")


async def test_git_passes_over_the_state_of_a_folder_served_in_place(services: Services, outside: Path) -> None:
    await vault_admin.create(services, "team", outside)
    assert (outside / ".strongroom" / ".gitignore").read_bytes() == b"*\n"
