"""A database that has no room, and one that turns read-only: what was acknowledged stays, reads go on, and writes do
once there is room again."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.cluster.held_vault import HeldVault
from tests.cluster.laid_out_databases import INSTALLATION
from tests.cluster.postgres_server import PostgresServer
from vaults.cluster.held_lease import HeldLease
from vaults.cluster.postgres.connections import Connections, DatabaseLogin
from vaults.cluster.postgres.log import PostgresVaultLog
from vaults.cluster.postgres.placements import Placements
from vaults.cluster.postgres.schema import lay_out, open_database
from vaults.cluster.postgres.servers import Servers
from vaults.errors import ReadOnly, StorageFull, StrongroomError

ROOM_MB, LEASE_S = 24, 3600.0


@pytest.fixture
def room(postgres: PostgresServer) -> Iterator[Path]:
    """A file system of a few megabytes that PostgreSQL may write to."""
    if os.geteuid() != 0:
        pytest.skip("mounts a small file system, which needs root")
    folder = postgres.folder / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM_MB}m", "tmpfs", folder], check=False)
    if mounted.returncode:
        pytest.skip("may not mount")
    owner = (postgres.folder / "data").stat()
    os.chown(folder, owner.st_uid, owner.st_gid)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.fixture
def small(postgres: PostgresServer, room: Path) -> Iterator[Connections]:
    """Over a database there."""
    with psycopg.connect(postgres.conninfo("postgres"), autocommit=True) as owner:
        owner.execute(f"CREATE TABLESPACE small LOCATION '{room}'")
        owner.execute("CREATE DATABASE small TEMPLATE template0 TABLESPACE small")
        login = DatabaseLogin(postgres.conninfo("small"))
        lay_out(login, INSTALLATION)
        connections = open_database(login, INSTALLATION)
        try:
            yield connections
        finally:
            connections.close()
            owner.execute("DROP DATABASE small WITH (FORCE)")
            owner.execute("DROP TABLESPACE small")


async def test_a_full_database_refuses_writes_keeps_what_it_has_and_goes_on_with_room(
    small: Connections, room: Path, tmp_path: Path
) -> None:
    servers = joined(small)
    async with held(small, tmp_path / "first") as vault:
        await vault.write(1)
        fill(room)
        stored = [1, *await write_until(StorageFull, vault, 2)]
        servers.beat("a")  # a full database costs no lease
        servers.close()
    async with held(small, tmp_path / "second") as vault:
        assert await vault.read() == stored
        assert isinstance(await failure_of(lambda: vault.write(10_000)), StorageFull)
    (room / "filler").unlink()
    async with held(small, tmp_path / "third") as vault:
        await vault.write(10_001)
        assert await vault.read() == [*stored, 10_001]


async def test_a_database_that_turned_read_only_refuses_writes_and_shows_what_it_has(
    postgres: PostgresServer, connections: Connections, tmp_path: Path
) -> None:
    joined(connections)
    async with held(connections, tmp_path / "first") as vault, held(connections, tmp_path / "read", "other") as other:
        await other.write(0)
        with read_only(postgres):
            stored = await write_until(ReadOnly, vault, 1)
            assert await other.read() == [0]
    async with held(connections, tmp_path / "second") as vault:
        assert await vault.read() == stored
        await vault.write(10_000)


def joined(connections: Connections) -> Servers:
    servers, placements = Servers(connections, LEASE_S), Placements(connections)
    servers.join("a", "a", "1")
    for vault in ("main", "other"):
        placements.register(vault)
    return servers


@asynccontextmanager
async def held(connections: Connections, folder: Path, name: str = "main") -> AsyncIterator[HeldVault]:
    """A vault taken anew, with nothing but what the log has."""
    placement = Placements(connections).take(name, "a")
    assert placement is not None
    lease = HeldLease(LEASE_S)
    lease.renew(lease.clock())
    folder.mkdir()
    with ThreadPoolExecutor(1) as pool:
        vault = HeldVault(folder, PostgresVaultLog(connections), placement, lease, pool)
        await vault.open()
        try:
            yield vault
        finally:
            await vault.close()


async def write_until(expected: type[StrongroomError], vault: HeldVault, first: int) -> list[int]:
    """The ids that were acknowledged before the first that failed, as it must."""
    written: list[int] = []
    while not (failure := await failure_of(lambda: vault.write(first + len(written)))):
        written.append(first + len(written))
    assert isinstance(failure, expected)
    return written


async def failure_of(call: Callable[[], Awaitable[object]]) -> StrongroomError | None:
    try:
        await call()
    except StrongroomError as failure:
        return failure
    return None


def fill(room: Path) -> None:
    """To the last byte."""
    with (room / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(4096))


@contextmanager
def read_only(postgres: PostgresServer) -> Iterator[None]:
    """Every session is, those that are open too."""
    with psycopg.connect(postgres.conninfo("postgres"), autocommit=True) as owner:
        owner.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        owner.execute("SELECT pg_reload_conf()")
        try:
            yield
        finally:
            owner.execute("SET default_transaction_read_only = off")
            owner.execute("ALTER SYSTEM RESET default_transaction_read_only")
            owner.execute("SELECT pg_reload_conf()")
            wait_until_new_sessions_write(postgres)  # every other was told before they began


def wait_until_new_sessions_write(postgres: PostgresServer) -> None:
    said = ("on",)
    while said == ("on",):
        with psycopg.connect(postgres.conninfo("postgres")) as looking:
            said = looking.execute("SHOW default_transaction_read_only").fetchone()
