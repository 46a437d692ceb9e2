"""The tool backup: an admin has an archive made where the operator keeps them, and learns no path of the machine.

Covers ops.backup.requested_runs, ops.backup.turns.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from auth.roles import Role
from ops.backup import back_up
from ops.backup.archive_reader import open_archive
from ops.backup.pace import Pace
from ops.backup.staging import StagedBackup
from server import backup_drills
from server.call import Call, Caller
from server.services import Services
from server.tools import backup as tool
from tests.conftest import Asking, Opening, asker, local
from tests.noted import folder
from tests.people import give_role
from tests.work import PATIENCE_S
from vaults.db.lease import Lease
from vaults.errors import Cancelled, Forbidden


async def test_an_admin_has_an_archive_made(ask: Asking, tmp_path: Path) -> None:
    await ask("remember", content="x")
    assert not (await ask("backup")).content
    said = await ask("backup", action="run")
    assert said.ok, said
    (made,) = said.content["backups"]
    (path,) = (tmp_path / "backups").iterdir()
    assert (made["name"], made["bytes"], made["outcome"]) == (path.name, path.stat().st_size, "ok")
    manifest = open_archive(path).verify()
    assert (manifest.counts["memories"], made["position"]) == (1, manifest.position)
    assert str(tmp_path) not in said.text
    assert (await ask("backup")).content == said.content


async def test_files_that_are_not_in_it_are_named(ask: Asking, tmp_path: Path) -> None:
    notes = folder(tmp_path)
    (notes / "link.md").symlink_to("/etc/hostname")
    said = (await ask("backup", action="run")).content
    assert said["remarks"] == ["link.md: symbolic link"]
    assert "remarks" not in (await ask("backup")).content


async def test_one_that_takes_longer_than_a_call_goes_on_and_is_listed(
    opening: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really, under_way_since = back_up.stage, tool._under_way_since
    begun, go_on = threading.Event(), threading.Event()

    def stage(*rest: Any) -> StagedBackup:
        begun.set()
        go_on.wait()
        return really(*rest)

    async def once_begun(call: Call) -> str | None:
        await asyncio.to_thread(begun.wait)  # before, no file says since when
        return await under_way_since(call)

    monkeypatch.setattr(back_up, "stage", stage)
    monkeypatch.setattr(tool, "_under_way_since", once_begun)
    monkeypatch.setattr(tool, "CALL_SHARE", 0.001)
    async with opening() as services, AsyncExitStack() as held:
        held.callback(go_on.set)
        ask = asker(services)
        said = await ask("backup", action="run")
        assert said.ok, said
        assert said.content["under_way_since"]
        assert not said.content.get("backups")
        assert (await ask("backup")).content == {"under_way_since": said.content["under_way_since"]}
        go_on.set()
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*services.requested_backups._tasks)
        listed = (await ask("backup")).content
        assert [each["outcome"] for each in listed["backups"]] == ["ok"]
        assert "under_way_since" not in listed
        (path,) = (tmp_path / "backups").iterdir()
        open_archive(path).verify()


async def test_one_under_way_ends_with_its_server_and_publishes_nothing(
    opening: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = threading.Event()

    def stage(_subject: object, _scratch: object, pace: Pace, *_: object) -> StagedBackup:
        inside.set()
        while not pace.stopped():
            threading.Event().wait(0.001)
        raise Cancelled("stopped")

    monkeypatch.setattr(back_up, "stage", stage)
    monkeypatch.setattr(tool, "CALL_SHARE", 0.001)
    async with opening() as services:
        assert (await asker(services)("backup", action="run")).ok
        await asyncio.to_thread(inside.wait)
    assert list((tmp_path / "backups").iterdir()) == []


async def test_a_failure_is_listed_by_its_code_alone(opening: Opening, tmp_path: Path) -> None:
    async with opening({"backup.to": str(tmp_path / "not-mounted")}) as services:
        ask = asker(services)
        assert (await ask("backup", action="run")).code == "vault_unavailable"
        (failed,) = (await ask("backup")).content["backups"]
    assert (failed["outcome"], failed.get("name")) == ("vault_unavailable", None)
    assert not (tmp_path / "not-mounted").exists()


async def test_it_goes_where_the_settings_say(opening: Opening, tmp_path: Path) -> None:
    (tmp_path / "to").mkdir()
    async with opening({"backup.to": str(tmp_path / "to")}) as services:
        said = await asker(services)("backup", action="run")
        assert [each.name for each in (tmp_path / "to").iterdir()] == [said.content["backups"][0]["name"]]


async def test_nobody_else_may(opening: Opening, tmp_path: Path) -> None:
    async with opening() as services:
        await give_role(services, "ann")
        writer = asker(services, Caller(local("ann"), "main", Role.WRITER, "http"))
        assert (await writer("backup", action="run")).code == Forbidden.code
    assert not (tmp_path / "backups").exists()


async def test_the_newest_is_proven_by_a_drill_and_told_by_its_name(
    opening: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opening() as services:
        ask = asker(services)
        none = await ask("backup", action="drill")
        assert none.content["drill"]["outcome"] == "no_backup"
        await ask("remember", content="mine alone", visibility="private")
        (made,) = (await ask("backup", action="run")).content["backups"]
        held = (await ask("backup", action="drill")).content["drill"]
        assert (held["outcome"], held["backup"], held["passed"]) == ("ok", made["name"], held["tried"])
        assert held["steps"] == ["archive", "rows", "schema", "verify", "questions"]
        listed = (await ask("backup")).content["drill"]
        assert listed == {name: value for name, value in held.items() if name != "steps"}
        file = tmp_path / "backups" / made["name"]
        file.write_bytes(file.read_bytes()[:-50])
        broken = await ask("backup", action="drill")
        assert (broken.content["drill"]["outcome"], broken.content["drill"]["passed"]) == ("failed", held["passed"])
        assert broken.content["drill"]["failed"]
        assert str(tmp_path) not in broken.text
        monkeypatch.setattr(backup_drills, "WAIT_S", 0.0)
        lease = Lease(services.data / backup_drills.LOCK_FILE)
        assert lease.try_acquire()
        try:
            assert (await ask("backup", action="drill")).code == "conflict"
        finally:
            lease.release()


async def test_what_is_done_unasked_is_told_without_its_place(opening: Opening, tmp_path: Path) -> None:
    (tmp_path / "to").mkdir()
    flags = {
        "backup.to": str(tmp_path / "to"),
        "backup.every": "1d",
        "backup.keep": "7d 4w",
        "backup.drill_every": "7d",
    }
    async with opening(flags) as services:
        said = await asker(services)("backup")
        assert said.content["schedule"] == {"every": "1d", "keep": "7d 4w", "drill_every": "7d", "to": "folder"}
        assert str(tmp_path) not in said.text


async def test_only_admins_have_a_drill_held(services: Services) -> None:
    await give_role(services, "rita", Role.WRITER)
    rita = asker(services, Caller(local("rita"), "main", Role.WRITER, "http"))
    assert (await rita("backup", action="drill")).code == "forbidden"
