"""Once vaults may be of a newer release an older one cannot join, and while one serves none gets there."""

from __future__ import annotations

import threading

import pytest

from tests.work import PATIENCE_S
from vaults.cluster.postgres.connections import Connections
from vaults.cluster.postgres.servers import Servers
from vaults.cluster.postgres.vault_schemas import reach
from vaults.errors import AlreadyExists, InvalidArgument, VaultUnavailable

OLD, NEW = "0.1.0+schema17", "0.2.0+schema18"


@pytest.fixture
def servers(connections: Connections) -> Servers:
    return Servers(connections, 3600.0)


def test_an_older_release_cannot_join_once_vaults_went_on(servers: Servers, connections: Connections) -> None:
    servers.join("old", "", OLD)
    servers.leave("old")
    servers.join("new", "", NEW)
    reach(connections, 18)
    reach(connections, 17)
    with pytest.raises(InvalidArgument, match=r"newer release \(schema 18, this one knows 17\)"):
        servers.join("older", "", OLD)
    servers.join("newer", "", NEW)
    with pytest.raises(AlreadyExists):
        servers.join("newer", "", NEW)


def test_vaults_do_not_go_on_while_an_older_release_serves(servers: Servers, connections: Connections) -> None:
    servers.join("new", "", NEW)
    servers.join("old", "", OLD)
    with pytest.raises(VaultUnavailable, match="older release"):
        reach(connections, 18)
    servers.leave("old")
    reach(connections, 18)


def test_who_joins_while_vaults_go_on_comes_first_or_is_refused(servers: Servers, connections: Connections) -> None:
    """Held between joining and its commit, an older server keeps vaults from going on."""
    said: list[Exception | None] = []

    def go_on() -> None:
        try:
            reach(connections, 18)
        except VaultUnavailable as failure:
            said.append(failure)
        else:
            said.append(None)

    going_on = threading.Thread(target=go_on)
    with connections.single() as joining, joining.transaction():
        joining.execute(
            "WITH known AS (SELECT FROM strongroom.installation WHERE vault_schema <= 17 FOR SHARE)"
            " INSERT INTO strongroom.servers (id, address, version, beat, lease_s, expires)"
            " SELECT 'old', '', '0.1.0+schema17', 1, 60, now() + interval '1 minute' FROM known"
        )
        going_on.start()
        wait_until_one_waits(connections)
    going_on.join(PATIENCE_S)
    assert isinstance(said[0], VaultUnavailable)


def wait_until_one_waits(connections: Connections) -> None:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    for _ in range(10_000):
        with connections.use() as connection:
            if connection.execute(waiting).fetchone() == (1,):
                return
    pytest.fail("nobody waits for a lock")
