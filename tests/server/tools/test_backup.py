"""The tool backup: an admin has an archive made where the operator keeps them, and learns no path of the machine."""

from __future__ import annotations

from pathlib import Path

from auth.roles import Role
from ops.backup.archive_reader import open_archive
from server.call import Caller
from tests.conftest import Asking, Opening, asker, local
from vaults.errors import Forbidden


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
        row = ("ann", "local", "main", "writer", "2026-01-01T00:00:00Z")
        await services.access_cache.write(lambda tx: tx.run("INSERT INTO grants VALUES (?, ?, ?, ?, ?)", row))
        writer = asker(services, Caller(local("ann"), "main", Role.WRITER, "http"))
        assert (await writer("backup", action="run")).code == Forbidden.code
    assert not (tmp_path / "backups").exists()
