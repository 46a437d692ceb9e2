"""A vault is damaged, or its folder can only be read, under pages that are open: each says so, and none fails.

Covers server.ui.application and server.ui.vault_view.
"""

from __future__ import annotations

import html
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from auth.roles import Role
from server.ui import live_streams
from server.ui.application import VAULT_PAGES
from tests.server.ui.stage import Guest, Stage, forms_of, open_stage
from tests.server.ui.test_events import CHANGE, listening

DAMAGED = "the vault's database is damaged"
NOTE = "# Quay\n\n- [ ] sweep it\n"


class House:
    """One vault with a memory and a note, and its admin's browser with every page of it opened once."""

    def __init__(self, stage: Stage, guest: Guest, memory: str) -> None:
        self.stage, self.guest, self.memory = stage, guest, memory
        self.folder = stage.services.data / "vaults" / "main"
        self.changing = (f"memories/{memory}", "notes/Quay.md")

    async def open_all(self) -> dict[str, httpx2.Response]:
        """Every page of the vault."""
        filled = {"memories/{id}": f"memories/{self.memory}", "notes/{path:path}": "notes/Quay.md"}
        paths = [filled.get(page.path, page.path.replace("{id:path}", "none")) for page in VAULT_PAGES]
        paths += ["search?q=quay", f"items?id={self.memory}", "graph?note=Quay.md"]
        return {path: await self.guest.open(f"/ui/v/main/{path}") for path in paths}

    async def send_all(self, pages: dict[str, httpx2.Response]) -> dict[str, httpx2.Response]:
        """Every form of the pages that changes something in the vault, as it stood there before."""
        sent = {}
        for path, page in pages.items():
            for form in forms_of(page):
                if form.method == "post" and "/ui/v/main/" in form.action:
                    given = {"task": "3 done"} | {name: value or "x" for name, value in form.fields.items()}
                    sent[f"{path} {form.fields.get('do')}"] = await self.guest.http.post(form.action, data=given)
        return sent

    async def close_vault(self) -> None:
        """As where nobody asked for it for long."""
        await self.stage.services.pool.close_vault("main")


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_stage(tmp_path) as stage:
        memory = await stage.remember("The quay is free at night.")
        await stage.ask("note_write", path="Quay.md", content=NOTE)
        yield House(stage, await stage.person("ada", Role.ADMIN), memory)


@contextmanager
def only_readable(folder: Path) -> Iterator[None]:
    """A folder that cannot be written: root writes in any but one on a disk that is mounted so."""
    if os.geteuid() != 0:
        modes = {path: path.stat().st_mode for path in (folder, *folder.rglob("*"))}
        for path in modes:
            path.chmod(0o555 if path.is_dir() else 0o444)
        yield
        for path, mode in modes.items():
            path.chmod(mode)
        return
    if subprocess.run(["mount", "--bind", folder, folder], check=False).returncode:
        pytest.skip("root may do everything here but mount")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def damage(folder: Path) -> None:
    """Write over the database, as a disk does that fails."""
    path = folder / "vault.db"
    path.write_bytes(os.urandom(path.stat().st_size))
    for log in folder.glob("vault.db-*"):
        log.unlink()


async def test_pages_of_a_vault_that_can_only_be_read_are_shown_and_forms_say_why_nothing_was_kept(
    house: House,
) -> None:
    pages = await house.open_all()
    with only_readable(house.folder):
        for _ in range(2):  # as it was open, and opened anew
            shown = await house.open_all()
            assert {path: page.status_code for path, page in shown.items()} == {
                path: page.status_code for path, page in pages.items()
            }
            assert "The quay is free at night." in shown[f"memories/{house.memory}"].text
            refused = await house.send_all(pages)
            assert {do: answer.status_code for do, answer in refused.items() if do.split()[0] in house.changing} == {
                **{f"{house.changing[0]} {do}": 403 for do in ("edit", "supersede", "forget")},
                **{f"{house.changing[1]} {do}": 403 for do in ("save", "tick")},
                f"{house.changing[0]} purge": 409,  # a page that asks first
            }
            assert all("files cannot be written" in each.text for each in refused.values() if each.status_code == 403)
            assert all(each.status_code < 500 for each in refused.values())
            await house.close_vault()
    sent = await house.send_all(pages)
    assert sent[f"{house.changing[0]} edit"].status_code == 303


async def test_what_was_typed_is_given_back_where_it_cannot_be_written(house: House) -> None:
    page = await house.guest.open(f"/ui/v/main/memories/{house.memory}")
    with only_readable(house.folder):
        refused = await house.guest.send(page, "edit", content="The quay is full at night.")
        assert "The quay is full at night." in refused.text
        await house.close_vault()


@pytest.mark.parametrize("is_open", [True, False])
async def test_every_page_of_a_damaged_vault_says_so(house: House, is_open: bool) -> None:
    pages = await house.open_all()
    if not is_open:
        await house.close_vault()
    damage(house.folder)
    needs_no_vault = {"search": 200, "items": 404, f"items?id={house.memory}": 303}
    told_beside = ("connect", "connect/calls")
    for path, page in (await house.open_all()).items():
        assert page.status_code == needs_no_vault.get(path, 200 if path in told_beside else 503), path
        assert path in needs_no_vault or DAMAGED in html.unescape(page.text), path
    for do, answer in (await house.send_all(pages)).items():
        assert (answer.status_code, DAMAGED in html.unescape(answer.text)) == (503, True), do
    assert (await house.guest.open("/ui/")).status_code == 200


async def test_a_page_that_is_open_hears_that_its_vault_is_damaged(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_streams, "HEARTBEAT_S", 0.02)
    async with listening(house.stage, house.guest) as stream:
        damage(house.folder)
        await house.guest.open("/ui/v/main/usage")  # by whoever asks first
        assert await stream.next() == CHANGE
        assert DAMAGED in html.unescape((await house.guest.open("/ui/v/main/work")).text)
