"""Pages of a vault through PostgreSQL: taken over by another server it is, byte for byte, what was acknowledged.

Covers vaults.cluster.page_log, vaults.cluster.restore, vaults.cluster.postgres.log.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.vaults.cluster.logged_vault import endless_lease
from tests.vaults.cluster.postgres.conftest import lose, taken
from vaults.cluster.failures import Fenced
from vaults.cluster.page_log import HeldVault, PageLog
from vaults.cluster.postgres.connections import Connections
from vaults.cluster.postgres.log import PostgresVaultLog
from vaults.cluster.postgres.placements import Placements
from vaults.cluster.rebasing import rebase
from vaults.cluster.restore import refuse_unsound, restore
from vaults.cluster.vault_log import Placement
from vaults.db.connection import Database
from vaults.db.migration import migrate
from vaults.errors import StrongroomError
from vaults.settings import StorageSettings

SETTINGS = StorageSettings()


def opened(path: Path, log: PostgresVaultLog, placement: Placement, lost: list[StrongroomError]) -> Database:
    path.parent.mkdir(exist_ok=True)
    start = restore(log, placement.vault, path, placement.head, refuse_unsound)
    held = HeldVault(placement, log, endless_lease())
    return Database(path, SETTINGS, log=PageLog(path, SETTINGS, held, start, lost.append))


async def put(db: Database, text: str) -> None:
    await db.write(lambda tx: tx.run("INSERT INTO vault_info (key, value) VALUES (:key, 'x')", {"key": text}))


async def keys(db: Database) -> list[str]:
    found = await db.read(lambda tx: tx.all("SELECT key FROM vault_info WHERE value = 'x' ORDER BY key"))
    return [str(key) for (key,) in found]


async def test_a_vault_goes_on_elsewhere_with_all_that_was_acknowledged(
    log: PostgresVaultLog, placements: Placements, connections: Connections, tmp_path: Path
) -> None:
    lost: list[StrongroomError] = []
    here = opened(tmp_path / "a" / "v.db", log, taken(placements, "a"), lost)
    await migrate(here, "vault")
    for number in range(5):
        await put(here, f"a{number}")
    pages = here.log
    assert isinstance(pages, PageLog)
    pages._sizes.appended += 2**30
    with ThreadPoolExecutor(1) as pool:
        assert await rebase(here, pages, pool)
    await put(here, "after the base")

    lose(connections, "a")
    there = opened(tmp_path / "b" / "v.db", log, taken(placements, "b"), lost)
    await put(there, "b")
    with pytest.raises(Fenced):
        await put(here, "late")
    with pytest.raises(StrongroomError, match="opened anew"):
        await put(here, "later still")
    assert [type(each) for each in lost] == [Fenced]
    acknowledged = ["a0", "a1", "a2", "a3", "a4", "after the base", "b"]
    assert await keys(there) == acknowledged
    await here.close()
    await there.close()

    again = taken(placements, "b")
    back = opened(tmp_path / "a" / "v.db", log, again, lost)
    assert (tmp_path / "a" / "v.db").read_bytes() == (tmp_path / "b" / "v.db").read_bytes()
    assert await keys(back) == acknowledged
    await back.close()
