"""The backup of a cluster is its database's, by PostgreSQL's own programs, as docs/cluster.md says.

Covers vaults.cluster.postgres.schema, vaults.cluster.restore.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import psycopg

from tests.cluster.laid_out_databases import INSTALLATION, first_layout_database
from tests.cluster.postgres_server import PASSWORD, PostgresServer, folder_of_its_own, programs
from tests.kept_ports import kept_port
from tests.vaults.cluster.postgres.conftest import taken
from tests.vaults.cluster.postgres.test_pages_in_postgres import keys, opened, put
from tests.work import PATIENCE_S
from vaults.cluster.page_log import PageLog
from vaults.cluster.postgres.connections import Connections, DatabaseLogin
from vaults.cluster.postgres.log import PostgresVaultLog
from vaults.cluster.postgres.older_layouts import bring_up
from vaults.cluster.postgres.placements import Placements
from vaults.cluster.postgres.schema import lay_out, open_database, single_connection
from vaults.cluster.postgres.servers import Servers
from vaults.db.migration import migrate
from vaults.errors import StrongroomError


def run(server: PostgresServer, program: str, *words: str) -> None:
    folder = programs()
    assert folder is not None
    command = [str(folder / program), *words]
    done = subprocess.run(
        command, env={"PGPASSWORD": PASSWORD}, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr


async def filled(url: str, folder: Path, *words: str) -> None:
    """Vault main with these keys, of a server that does not end in order."""
    connections, lost = open_database(DatabaseLogin(url), INSTALLATION), list[StrongroomError]()
    try:
        log, placements = PostgresVaultLog(connections), Placements(connections)
        Servers(connections, 3600.0).join(f"of-{words[0]}", "a:1", "1")
        placements.register("main")
        with connections.use() as connection:  # whoever had it before is gone
            connection.execute("DELETE FROM strongroom.servers WHERE id <> %s", (f"of-{words[0]}",))
        db = opened(folder / words[0] / "v.db", log, taken(placements, f"of-{words[0]}"), lost)
        await migrate(db, "vault")
        for word in words:
            await put(db, word)
        await db.close()
    finally:
        connections.close()


async def held_in(url: str, folder: Path) -> list[str]:
    """What vault main holds, taken from a database by a server that comes to it anew."""
    connections, lost = open_database(DatabaseLogin(url), INSTALLATION), list[StrongroomError]()
    try:
        await_silence(connections)
        log, placements = PostgresVaultLog(connections), Placements(connections)
        Servers(connections, 3600.0).join("new", "n:1", "1")
        db = opened(folder / "new" / "v.db", log, taken(placements, "new"), lost)
        await migrate(db, "vault")
        assert isinstance(db.log, PageLog)
        found = await keys(db)
        await put(db, "written after")
        await db.close()
        assert lost == []
        return found
    finally:
        connections.close()


def await_silence(connections: Connections) -> None:
    """Servers that were alive when the backup was made are none here: others see a lease pass and remove them."""
    with connections.use() as connection:
        connection.execute("DELETE FROM strongroom.servers")


async def test_a_dump_holds_every_vault_and_a_cluster_goes_on_from_it(
    login: DatabaseLogin, postgres: PostgresServer, tmp_path: Path
) -> None:
    await filled(login.conninfo, tmp_path, "first", "second")
    dump, elsewhere = str(tmp_path / "dump"), postgres.create_database()
    run(postgres, "pg_dump", "--format=directory", "--jobs=2", f"--file={dump}", login.conninfo)
    await filled(login.conninfo, tmp_path, "third")
    run(postgres, "pg_restore", "--exit-on-error", "--no-owner", "--jobs=2", f"--dbname={elsewhere}", dump)
    assert await held_in(elsewhere, tmp_path) == ["first", "second"]


def test_a_dump_from_before_an_upgrade_is_brought_up(postgres: PostgresServer, tmp_path: Path) -> None:
    dump, elsewhere = str(tmp_path / "dump"), postgres.create_database()
    run(postgres, "pg_dump", "--format=directory", f"--file={dump}", first_layout_database(postgres))
    run(postgres, "pg_restore", "--exit-on-error", "--no-owner", f"--dbname={elsewhere}", dump)
    with single_connection(DatabaseLogin(elsewhere)) as connection:
        assert bring_up(connection) == 1
    open_database(DatabaseLogin(elsewhere), INSTALLATION).close()


async def test_a_base_backup_and_the_archived_log_bring_back_any_moment(tmp_path: Path) -> None:
    with folder_of_its_own() as folder, kept_port() as port, kept_port() as other:
        source, restored = (PostgresServer(folder / name, at) for name, at in (("source", port), ("restored", other)))
        archive = folder / "archive"
        for each in (source.folder, restored.folder, archive):
            each.mkdir()
        archive.chmod(0o777)
        source.lay_out()
        add_settings(source, archive_mode="on", archive_command=f"cp %p {archive}/%f")
        source.start()
        try:
            url = source.create_database()
            lay_out(DatabaseLogin(url), INSTALLATION)
            await filled(url, tmp_path, "before")
            restored.follow(source)  # pg_basebackup
            await filled(url, tmp_path, "between")
            moment = now(source)
            await filled(url, tmp_path, "mistake")
            archive_all(source, archive)
        finally:
            source.stop()
        add_settings(
            restored, archive_mode="off", restore_command=f"cp {archive}/%f %p", recovery_target_time=moment,
            recovery_target_action="promote", primary_conninfo="",
        )  # fmt: skip
        (restored.folder / "data" / "standby.signal").rename(restored.folder / "data" / "recovery.signal")
        restored.start()
        try:
            await_primary(restored)
            assert await held_in(restored.conninfo(url.rpartition("/")[2]), tmp_path) == ["before", "between"]
        finally:
            restored.stop()


def add_settings(server: PostgresServer, **settings: str) -> None:
    with (server.folder / "data" / "postgresql.auto.conf").open("a") as file:
        file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())


def now(server: PostgresServer) -> str:
    with psycopg.connect(server.conninfo("postgres"), autocommit=True) as session:
        row = session.execute("SELECT clock_timestamp()::text").fetchone()
    assert row is not None
    return str(row[0])


def archive_all(server: PostgresServer, archive: Path) -> None:
    with psycopg.connect(server.conninfo("postgres"), autocommit=True) as session:
        row = session.execute("SELECT pg_walfile_name(pg_switch_wal())").fetchone()
    assert row is not None
    until = time.monotonic() + PATIENCE_S
    while not (archive / str(row[0])).exists():
        assert time.monotonic() < until, "the log was not archived"
        time.sleep(0.02)


def await_primary(server: PostgresServer) -> None:
    until = time.monotonic() + PATIENCE_S
    with psycopg.connect(server.conninfo("postgres"), autocommit=True) as session:
        while session.execute("SELECT pg_is_in_recovery()").fetchone() != (False,):
            assert time.monotonic() < until, "it was not promoted"
            time.sleep(0.02)
