"""An installation joins the cluster's database and comes out of it the same.

Covers server.cluster.join, server.cluster.export, server.cluster.control_moves, server.cluster.chain_moves,
server.cluster.table_rows, server.cluster.proofs and server.cluster.installation_adoption.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from auth.principal import owner
from auth.roles import Role
from ops.audit import verification as audit_verification
from ops.backup.backup_runs import BackupRun, record
from server import vault_admin
from server.call import Caller
from server.cluster import control_moves
from server.cluster.export import ExportReport, export_cluster
from server.cluster.join import JoinReport, join_cluster
from server.cluster_settings import ClusterSettings
from server.running_server import hold_serving
from server.services import Services
from server.settings import Settings, load
from tests.cluster.open_servers import OpenServers
from tests.cluster.postgres_server import PostgresServer
from tests.conftest import Opening, asker, local
from tests.noted import folder
from tests.people import person
from tests.vaults.domain.notes.kept_notes import files_below
from vaults.cluster.control.postgres_control import PostgresControl
from vaults.cluster.postgres.connections import DatabaseLogin
from vaults.cluster.postgres.schema import open_database
from vaults.domain.maintenance.verification import verify
from vaults.errors import AlreadyExists, Conflict, InvalidArgument, NotFound, VaultUnavailable
from vaults.settings import StorageSettings

VAULTS = tuple(f"vault{n}" for n in range(6))
STORAGE = StorageSettings(reserve_mb=0)
QUIET = {"notes.watch": "off", "embedding.engine": "off"}


def settings_in(data: Path, url: str, **flags: Any) -> Settings:
    loaded = load(data, flags={"storage.reserve_mb": 0, "cluster.url": url, **flags}, environment={})
    return loaded.settings


def note_nothing(done: int, total: int, what: str) -> None:
    pass


async def fill(services: Services, vaults: tuple[str, ...] = VAULTS) -> None:
    for name in vaults:
        ann = await person(services, "ann", vault=name)
        for n in range(3):
            assert (await ann("remember", content=f"harbour {name} number {n}")).ok
            assert (await ann("note_write", path=f"deep/{name}-{n}.md", content=f"# {n}\n\n[[{name}-0]]\n")).ok


async def joined(data: Path, url: str) -> JoinReport:
    return await join_cluster(settings_in(data, url), data, note_nothing)


async def exported(url: str, into: Path, vault: str | None = None) -> ExportReport:
    return await export_cluster(ClusterSettings(url=url), STORAGE, into, note_nothing, vault)


@pytest.fixture
def database(postgres: PostgresServer) -> str:
    """Of a database in which nothing is."""
    return postgres.create_database()


async def test_what_joined_and_was_exported_is_the_same_and_verifies(
    opening: Opening, database: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = tmp_path_factory.mktemp("out") / "data"
    async with opening(QUIET, vaults=VAULTS) as services:
        await fill(services)
        instance = services.instance_id
    report = await joined(tmp_path, database)
    assert report.is_joined
    assert [each.name for each in report.vaults] == list(VAULTS)
    assert report.installation == instance
    assert report.rows > len(VAULTS)
    assert report.entries > 0
    gone = await exported(database, out)
    assert [(each.name, each.digest, each.notes, each.head) for each in gone.vaults] == [
        (each.name, each.digest, each.notes, each.head) for each in report.vaults
    ]
    assert gone.entries == report.entries
    for name in VAULTS:
        assert files_below(folder(out, name)) == files_below(folder(tmp_path, name))
    async with opening(QUIET, vaults=VAULTS, data=out) as services:
        assert services.instance_id == instance
        for name in VAULTS:
            ann = asker(services, Caller(local("ann"), name, Role.ADMIN, "http"))  # granted before it joined
            assert f"harbour {name} number 2" in str((await ann("recall", query="harbour number 2")).content)
            async with services.pool.lease(services.registry_cache.entry(name)) as vault:
                found = await verify(vault)
            assert found.agrees, found.findings
        checked = await audit_verification.verify(services.audit)
        assert [(each.chain, each.faults) for each in checked if not each.ok] == []


async def test_while_a_server_runs_copies_are_made_and_the_second_call_moves_what_changed(
    opening: Opening, database: str, tmp_path: Path
) -> None:
    async with opening(QUIET, vaults=VAULTS[:2]) as services:
        await fill(services, VAULTS[:2])
        with hold_serving(tmp_path):
            first = await joined(tmp_path, database)
        assert not first.is_joined
        ann = await person(services, "ann", vault="vault0")
        assert (await ann("remember", content="said in between")).ok
    second = await joined(tmp_path, database)
    assert second.is_joined
    moved = {each.name: each.moved for each in second.vaults}
    assert 0 < moved["vault0"] < next(each.moved for each in first.vaults) / 4
    third = await joined(tmp_path, database)
    assert (third.was_joined, third.vaults) == (True, ())


async def test_what_the_cluster_adds_is_numbered_after_what_came_with_its_number(
    opening: Opening, database: str, tmp_path: Path
) -> None:
    async with opening(QUIET, vaults=VAULTS[:1]) as services:
        for _ in range(3):
            await services.control.write(lambda tx: record(tx, run_of("1")))
        numbered = "SELECT number FROM backups ORDER BY number"
        assert await services.control.read(lambda tx: tx.all(numbered)) == [(1,), (2,), (3,)]
    report = await joined(tmp_path, database)
    login = DatabaseLogin(database)
    connections = await asyncio.to_thread(open_database, login, report.installation)
    control = PostgresControl(connections)
    try:
        await control.write(lambda tx: record(tx, run_of("2")))
        assert await control.read(lambda tx: tx.all(numbered)) == [(1,), (2,), (3,), (4,)]
    finally:
        await control.close()
        await asyncio.to_thread(connections.close)


def run_of(vault_id: str) -> BackupRun:
    return BackupRun(vault_id, "main", "2026-11-27T00:00:00.000Z", 1.0, 1, 1, "/srv", 1, "ok")


async def test_one_machine_alone_does_not_serve_what_joined(opening: Opening, database: str, tmp_path: Path) -> None:
    async with opening(QUIET, vaults=VAULTS[:1]) as services:
        await fill(services, VAULTS[:1])
    await joined(tmp_path, database)
    with pytest.raises(Conflict, match="served by several servers since"):
        async with opening(QUIET, vaults=VAULTS[:1]):
            pass


@pytest.mark.parametrize("point", range(1, 8))
async def test_a_join_that_ends_at_any_point_is_repeated(
    opening: Opening, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: int
) -> None:
    async with opening(QUIET, vaults=VAULTS[:3]) as services:
        await fill(services, VAULTS[:3])
    left = point

    def stopping(done: int, total: int, what: str) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise KeyboardInterrupt

    if point <= 6:
        with pytest.raises(KeyboardInterrupt):
            await join_cluster(settings_in(tmp_path, database), tmp_path, stopping)
    else:

        async def fail(*_: Any, **__: Any) -> int:
            raise VaultUnavailable("killed")

        with monkeypatch.context() as patch:
            whole = control_moves.move_control
            patch.setattr(control_moves, "move_control", fail)
            with pytest.raises(VaultUnavailable):
                await joined(tmp_path, database)
            assert whole is not fail
    report = await joined(tmp_path, database)
    assert report.is_joined
    assert not report.was_joined
    assert len(report.vaults) == 3
    if point > 3:
        assert all(each.moved == 0 for each in report.vaults), "what was there was not moved again"


async def test_another_installation_s_database_is_refused_and_an_unused_one_adopted(
    opening: Opening, database: str, url: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    async with opening(QUIET, vaults=VAULTS[:1]) as services:
        await fill(services, VAULTS[:1])
    async with opening(QUIET, vaults=VAULTS[:1], data=other) as services:
        await fill(services, VAULTS[:1])
    assert (await joined(tmp_path, url)).is_joined, "laid out by cluster init, and nobody used it"
    with pytest.raises(InvalidArgument, match="belongs to another installation"):
        await joined(other, url)
    assert (await joined(other, database)).is_joined


async def test_one_vault_is_exported_as_an_installation_of_its_own(
    opening: Opening, database: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = tmp_path_factory.mktemp("out")
    async with opening(QUIET, vaults=VAULTS[:2]) as services:
        await fill(services, VAULTS[:2])
    await joined(tmp_path, database)
    with pytest.raises(NotFound):
        await exported(database, out / "none", "vault9")
    report = await exported(database, out / "data", "vault1")
    assert [each.name for each in report.vaults] == ["vault1"]
    assert report.installation != (await exported(database, out / "all")).installation
    async with opening(QUIET, vaults=("vault1",), data=out / "data") as services:
        assert [each.name for each in services.registry_cache.entries()] == ["vault1"]
        boss = await person(services, "boss", Role.ADMIN, vault="vault1")
        assert "harbour vault1" in str((await boss("recall", query="harbour")).content)


async def test_a_folder_that_holds_something_is_not_written_to(
    opening: Opening, database: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = tmp_path_factory.mktemp("out")
    async with opening(QUIET, vaults=VAULTS[:1]) as services:
        await fill(services, VAULTS[:1])
    await joined(tmp_path, database)
    (out / "mine").write_text("mine")
    with pytest.raises(AlreadyExists):
        await exported(database, out)
    (out / "mine").unlink()
    await exported(database, out)
    with pytest.raises(AlreadyExists):
        await exported(database, out)


async def test_servers_serve_what_joined_and_one_machine_serves_what_they_wrote(
    opening: Opening, database: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out, cluster = tmp_path_factory.mktemp("out") / "data", tmp_path_factory.mktemp("cluster")
    async with opening(QUIET, vaults=VAULTS[:2]) as services:
        await fill(services, VAULTS[:2])
    before = files_below(folder(tmp_path, "vault1"))
    await joined(tmp_path, database)
    servers = OpenServers(cluster, database, VAULTS[:2], {"notes.watch": "off", "embedding.engine": "off"})
    try:
        one, other = await servers.start("a"), await servers.start("b")
        found = await one.asking("vault1")("recall", query="harbour number 2")
        assert "harbour vault1 number 2" in str(found.content)
        assert (await one.asking("vault1")("note_write", path="new.md", content="by the cluster\n")).ok
        assert (await one.asking("vault1")("note_move", path="deep/vault1-0.md", to="elsewhere.md")).ok
        await vault_admin.create(one.services, "made")
        await one.cluster.held.hand_over(one.entry("vault1").vault_id, 30.0)
        assert "by the cluster" in (await other.asking("vault1")("note_read", path="new.md")).text
    finally:
        for server in reversed(servers.opened):
            await server.end()
    report = await exported(database, out)
    assert [each.name for each in report.vaults] == ["made", "vault0", "vault1"]
    after = files_below(folder(out, "vault1"))
    assert {path: data for path, data in before.items() if "vault1-" not in path}.items() <= after.items()
    assert after["new.md"] == b"by the cluster\n"
    assert "elsewhere.md" in after
    async with opening(QUIET, vaults=("made", "vault0", "vault1"), data=out) as services:
        for name in ("made", "vault0", "vault1"):
            assert (await asker(services, Caller(owner("cli"), name, Role.ADMIN, "cli"))("status")).ok
            async with services.pool.lease(services.registry_cache.entry(name)) as vault:
                found_there = await verify(vault)
            assert found_there.agrees, found_there.findings
        checked = await audit_verification.verify(services.audit)
        assert [(each.chain, each.faults) for each in checked if not each.ok] == []
