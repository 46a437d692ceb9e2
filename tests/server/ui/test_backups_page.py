"""Backups: which there are and which is proven; admins make and prove one, and nobody is told of a place."""

from __future__ import annotations

from pathlib import Path

import pytest

from auth.roles import Role
from server.ui.backups_page import kind_of, list_shown
from tests.server.ui.stage import Guest, Stage, forms_of, open_stage

pytestmark = pytest.mark.asyncio(loop_scope="module")

ADDRESS = "/ui/v/main/backups"


async def doings(guest: Guest) -> list[str]:
    return [form.fields["do"] for form in forms_of(await guest.open(ADDRESS)) if "do" in form.fields]


async def test_an_admin_makes_one_and_proves_it(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.remember("The buoy is red", title="Buoy")
        admin = await stage.person("anna", Role.ADMIN)
        page = await admin.open(ADDRESS)
        assert "No backup of this vault was made yet." in page.text
        assert "Nothing: backups are made and proven only when somebody asks." in page.text
        assert "There is no backup to prove." in (await admin.send(page, "drill")).text
        made = await admin.send(page, "run")
        assert "A backup was made:" in made.text.partition('role="status"')[2]
        assert "strongroom restore latest --vault main" in made.text
        proven = (await admin.send(made, "drill")).text
        said = proven.partition('role="status"')[2].partition("</div>")[0]
        assert "The drill passed" in said
        assert said.count("as it should be") == 5
        assert "<time" in proven.partition("<tbody>")[2].partition("</th>")[2].partition("</tr>")[0]
        (file,) = (path for path in tmp_path.rglob("main-*.tar.zst"))
        file.write_bytes(file.read_bytes()[:-50])
        broken = (await admin.send(made, "drill")).text
        assert "The drill did not pass" in broken
        assert "not as it should be" in broken
        assert "The last that passed is of" in broken
        assert str(tmp_path) not in made.text + proven + broken


async def test_others_see_what_there_is_and_are_refused(stage: Stage) -> None:
    await stage.ask("backup", action="run")
    for name, role in (("rosa", Role.READER), ("willi", Role.WRITER)):
        guest = await stage.person(name, role)
        page = await guest.open(ADDRESS)
        assert "archive, in a folder of the server" in page.text
        assert "Upkeep" not in page.text
        assert await doings(guest) == []
        token = forms_of(page)[0].fields["form"]
        for do in ("run", "drill"):
            refused = await guest.http.post(ADDRESS, data={"form": token, "do": do})
            assert refused.status_code == 403
            assert "needs the role admin" in refused.text.partition('role="alert"')[2]
        assert (await guest.http.post(ADDRESS, data={"form": token, "do": "restore_note"})).status_code == 303
    assert len((await stage.ask("backup"))["backups"]) == 1
    assert await doings(await stage.person("anton", Role.ADMIN)) == ["run", "drill"]
    assert (await (await stage.person("nina", None)).open(ADDRESS)).status_code == 404


async def test_what_failed_is_listed_by_its_code_and_stands_beside_the_button(tmp_path: Path) -> None:
    flags = {"backup.to": str(tmp_path / "not-mounted"), "backup.every": "1d", "backup.drill_every": "7d"}
    async with open_stage(tmp_path / "data", **flags) as stage:
        admin = await stage.person("berta", Role.ADMIN)
        page = await admin.open(ADDRESS)
        for said in ("1d", "7d", "a folder of the server"):
            assert said in page.text.partition('id="unasked"')[2]
        refused = await admin.send(page, "run")
        assert refused.status_code == 503
        assert 'role="alert"' in refused.text
        assert "vault_unavailable" in refused.text.partition("<tbody>")[2]
        drilled = await admin.send(page, "drill")
        assert "passed" not in drilled.text.partition('role="status"')[2].partition("</div>")[0]
        assert str(tmp_path) not in refused.text + drilled.text


async def test_where_nothing_is_written_nothing_is_offered(tmp_path: Path) -> None:
    async with open_stage(tmp_path, **{"server.write_mode": "off"}) as stage:
        assert await doings(await stage.person("carl", Role.ADMIN)) == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("main-20261125T030000Z-s15-v0.1.0.tar.zst", "archive"),
        ("main-20261125T030000Z-s15-v0.1.0.tar.zst.age", "encrypted"),
        ("00000001-20261125T030000Z.snapshot", "snapshot"),
        ("", "none"),
    ],
)
async def test_a_name_tells_what_a_backup_is(name: str, kind: str) -> None:
    assert kind_of(name) == kind


async def test_only_the_backup_that_was_drilled_is_proven() -> None:
    runs = [{"name": "b.snapshot"}, {"name": "a.snapshot"}, {"outcome": "storage_full"}]
    drill = {"backup": "a.snapshot", "passed": "2026-11-25T03:00:00Z"}
    assert [each.proven for each in list_shown(runs, drill)] == [None, "2026-11-25T03:00:00Z", None]
    assert [each.proven for each in list_shown(runs, {"outcome": "failed"})] == [None, None, None]
