"""Two releases serve one installation: nothing fails while one replaces the other, there is a way back until the first
vault was migrated, and none after. Where the newer one needs more tables they are made first, under the servers of the
older one.

``make cluster``. The newer release is a copy of this one with one more migration, and one more layout perhaps.
"""

from __future__ import annotations

import asyncio
import dataclasses
import shutil
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from server.cluster.release import known_schema
from tests.cluster.installation import Installation, ServerProcess, installed
from tests.cluster.laid_out_databases import laid_out_database
from tests.cluster.postgres_server import running_postgres
from tests.cluster.steady_callers import call_until
from tests.server.cli.command import ROOT
from tests.work import PROGRAM_PATIENCE_S
from vaults.cluster.postgres.connections import Connections, DatabaseLogin
from vaults.cluster.postgres.layout_steps import LAYOUT
from vaults.cluster.postgres.log import PostgresVaultLog
from vaults.cluster.postgres.table_shape import shape
from vaults.cluster.restore import refuse_unsound, restore
from vaults.db.engine import sqlite

pytestmark = pytest.mark.cluster

NAMES = [f"vault-{number}" for number in range(6)]
OLD, NEW = known_schema(), known_schema() + 1
NEW_VERSION = "9.9.9"

MORE_TABLES = """
ALTER TABLE strongroom.servers ADD COLUMN of_tomorrow text;
CREATE TABLE strongroom.of_tomorrow (id integer NOT NULL);
"""


async def test_a_release_replaces_another_and_only_then_migrates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newer = newer_release(tmp_path / "newer")
    failed: Counter[str] = Counter()
    with running_postgres() as postgres:
        async with installed(tmp_path, NAMES, servers=3, database=postgres.create_database()) as three:
            first, second, third = three.servers
            async with called(three, failed):
                await replace(first, newer)
                await replace(second, newer)
                await three.command("vault", "create", "made-meanwhile")
                assert (
                    await three.call(first, "made-meanwhile", "remember", {"content": "Both know it."})
                ).code is None
                listed = await three.command("cluster", "status")
                await replace(first, ROOT)  # the way back
                await replace(first, newer)
            mixed = await schemas(three, tmp_path)
            async with called(three, failed):
                await replace(third, newer)
                for name in (*NAMES, "made-meanwhile"):
                    await opened(three, name)
            whole = await schemas(three, tmp_path)
            refused = await refused_start(third, ROOT)
    with capsys.disabled():
        print(f"\n{listed}", f"before the last: schemas {mixed}; after: {whole}", refused, sep="\n")
        print(f"an upgrade: {failed.pop('answered')} calls answered, {failed.total()} failed {dict(failed)}")
    assert not failed
    assert NEW_VERSION in listed
    assert f"+schema{OLD}" in listed
    assert mixed == {OLD}
    assert whole == {NEW}
    assert f"newer release (schema {NEW}, this one knows {OLD})" in refused


async def test_tables_are_brought_up_first_while_servers_of_the_older_release_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newer = newer_release(tmp_path / "newer")
    failed: Counter[str] = Counter()
    with running_postgres() as postgres:
        add_layout(newer, laid_out_database(postgres))
        async with installed(tmp_path, NAMES, servers=2, database=postgres.create_database()) as both:
            first, second = both.servers
            operator = dataclasses.replace(both, environment=both.environment | {"PYTHONPATH": str(newer)})
            async with called(both, failed):
                first.is_offered = False
                early = await refused_start(first, newer)
                said = [await operator.command("cluster", "init") for _ in range(2)]
                late = await refused_start(first, ROOT)
                await opened(both, NAMES[0])
                await replace(first, newer)
                mixed = await schemas(both, tmp_path)
                await replace(second, newer)
                for name in NAMES:
                    await opened(both, name)
            whole = await schemas(both, tmp_path)
            added = both.rows("SELECT count(*) FROM strongroom.of_tomorrow")
    with capsys.disabled():
        print("", early, *said, late, sep="\n")
        print(
            f"tables were brought up: {failed.pop('answered')} calls answered, {failed.total()} failed {dict(failed)}"
        )
    assert not failed
    assert f"has layout {LAYOUT}, and this release needs {LAYOUT + 1}" in early
    assert "run strongroom cluster init of this release as the owner of the tables" in early
    assert f"were brought from layout {LAYOUT} to {LAYOUT + 1}" in said[0]
    assert "were there, and are as they should be" in said[1]
    assert f"has layout {LAYOUT + 1}, and this release knows {LAYOUT}" in late
    assert (mixed, whole) == ({OLD}, {NEW})
    assert added == [(0,)]


def newer_release(folder: Path) -> Path:
    """The sources of one, to be run from there."""
    folder.mkdir()
    for each in ("auth", "ops", "server", "vaults"):
        shutil.copytree(ROOT / each, folder / each, ignore=shutil.ignore_patterns("__pycache__"))
    said = (ROOT / "pyproject.toml").read_text()
    head, _, rest = said.partition('\nversion = "')
    (folder / "pyproject.toml").write_text(f'{head}\nversion = "{NEW_VERSION}"{rest.partition(chr(34))[2]}')
    step = folder / "vaults/db/migrations/vault" / f"{NEW:04}_of_tomorrow.sql"
    step.write_text("CREATE TABLE of_tomorrow (id INTEGER PRIMARY KEY) STRICT;\n")
    return folder


def add_layout(release: Path, database: str) -> None:
    """Have it need one more: a column of the table that beats go to, and a table. ``database``: one with tables as
    they are, in which to look what becomes of them."""
    package = release / "vaults/cluster/postgres"
    (package / "layouts" / f"{LAYOUT + 1:04}_of_tomorrow.sql").write_text(MORE_TABLES)
    with Connections(DatabaseLogin(database)).single() as connection:
        connection.execute(MORE_TABLES.encode())
        (package / "schema_shape.txt").write_text("\n".join([*shape(connection), ""]))


async def replace(server: ServerProcess, sources: Path) -> None:
    """As an operator does it behind a balancer that was told."""
    server.is_offered = False
    await server.end()
    server.run_from(sources)
    server.start()
    await server.ready()
    server.is_offered = True


async def refused_start(server: ServerProcess, sources: Path) -> str:
    """What a server says that ends at once."""
    await server.end()
    server.run_from(sources)
    before = len(server.log.read_bytes())
    server.start()
    await server.wait()
    return server.log.read_bytes()[before:].decode()


@asynccontextmanager
async def called(three: Installation, failed: Counter[str]) -> AsyncIterator[None]:
    """While callers work; how many of their calls were answered is counted with what failed."""
    done = asyncio.Event()
    callers = [asyncio.create_task(call_until(done, three, NAMES, number, failed)) for number in range(2)]
    yield
    done.set()
    failed["answered"] += sum(await asyncio.gather(*callers))


async def opened(three: Installation, name: str) -> None:
    """A vault is migrated when a server of the newer release opens it."""
    async with asyncio.timeout(PROGRAM_PATIENCE_S):
        while (await three.ask(name, "memory_list", {})).code is not None:  # noqa: ASYNC110  a server is asked
            await asyncio.sleep(0.1)


async def schemas(three: Installation, folder: Path) -> set[int]:
    """Of all vaults, as their logs have them."""
    return await asyncio.to_thread(_schemas, three, folder)


def _schemas(three: Installation, folder: Path) -> set[int]:
    assert three.database is not None
    connections = Connections(DatabaseLogin(three.database))
    connections.open()
    found, path = set(), folder / "restored.db"
    for vault, head in three.rows("SELECT vault, head FROM strongroom.placement"):
        restore(PostgresVaultLog(connections), vault, path, head, refuse_unsound)
        with sqlite.connect(path) as raw:
            found.add(raw.execute("SELECT count(*) FROM schema_steps").fetchone()[0])
        raw.close()
        path.unlink()
    connections.close()
    return found
