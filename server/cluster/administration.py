"""What an operator asks of the cluster's database, without a server that runs. All of it blocks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from uuid_utils import uuid7

from server.cluster_settings import ClusterSettings
from vaults.cluster.postgres import cluster_status, drains, layout_steps, older_layouts, schema, server_rights
from vaults.cluster.postgres.cluster_status import ClusterTotals, LoggedVault, SeenServer
from vaults.cluster.postgres.connections import Connection, DatabaseLogin
from vaults.errors import InvalidArgument, NotFound

ANSWER_S = 60.0
"""An operator waits longer than a server: over ten thousand vaults a list takes seconds."""

LOOK_S = 0.5
"""Between two looks at what a draining server still holds."""


@dataclass(frozen=True, slots=True)
class LaidOutCluster:
    """The installation whose tables these are; ``is_new``: they were made just now; ``brought_from``: the layout that
    they were brought up from just now, or None; ``layout``: the one they have."""

    installation: str
    is_new: bool
    brought_from: int | None
    layout: int


@dataclass(frozen=True, slots=True)
class ClusterReport:
    """``vaults`` is None where nobody asked for each of them."""

    installation: str
    servers: list[SeenServer]
    totals: ClusterTotals
    vaults: list[LoggedVault] | None


@dataclass(frozen=True, slots=True)
class DrainReport:
    """Servers that drain, and the vaults they held when the wait for them ended."""

    servers: list[str]
    left: int


def lay_out(settings: ClusterSettings, role: str | None) -> LaidOutCluster:
    """Make the tables of a new installation, or bring those that are there up to this release and check them, and let
    ``role`` serve. Raises ``InvalidArgument``, ``LogUnavailable``."""
    login = _login(settings)
    with schema.single_connection(login) as connection:
        before = older_layouts.bring_up(connection)
        there = schema.installation_of(connection)
    installation = there or new_installation()
    schema.lay_out(login, installation)
    if role is not None:
        with schema.single_connection(login) as connection:
            server_rights.grant_rights(connection, role)
    return LaidOutCluster(installation, there is None, before, layout_steps.LAYOUT)


def new_installation() -> str:
    """An id that no other installation has."""
    return str(uuid7())


def read_report(settings: ClusterSettings, *, with_vaults: bool) -> ClusterReport:
    """Raises ``InvalidArgument``, ``LogUnavailable``."""
    with _administering(settings) as (connection, installation):
        return ClusterReport(
            installation,
            cluster_status.list_servers(connection),
            cluster_status.totals(connection),
            cluster_status.list_logged_vaults(connection) if with_vaults else None,
        )


def drain(settings: ClusterSettings, name: str, wait_s: float, advance: Callable[[int, int, str], None]) -> DrainReport:
    """Have the servers of this name hand their vaults over, and wait until they hold none, or for ``wait_s``.
    ``advance``: vaults handed over, of how many. Raises ``NotFound``, ``InvalidArgument``, ``LogUnavailable``."""
    until = time.monotonic() + wait_s
    with _administering(settings) as (connection, _):
        servers = drains.ask_to_drain(connection, name)
        if not servers:
            raise NotFound(f"no server {name}", hint="cluster status lists them")
        held = left = drains.vaults_left(connection, servers)
        while left and time.monotonic() < until:
            time.sleep(LOOK_S)
            left = drains.vaults_left(connection, servers)
            advance(max(0, held - left), held, f"{left} vaults left")
    return DrainReport(servers, left)


@contextmanager
def _administering(settings: ClusterSettings) -> Iterator[tuple[Connection, str]]:
    with schema.single_connection(_login(settings)) as connection:
        installation = schema.installation_of(connection)
        if installation is None:
            raise InvalidArgument(schema.SETTING, "has no tables of strongroom", hint="run: strongroom cluster init")
        yield connection, installation


def _login(settings: ClusterSettings) -> DatabaseLogin:
    return DatabaseLogin(settings.read_url(), pool_size=1, answer_s=ANSWER_S)
