"""Which of several PostgreSQLs was promoted last. A primary that was taken for dead and comes back beside the one in
its place takes writes as well, and what it is told is lost. Its timeline is older: each promotion begins a new one.

So with each connection that is made, the other hosts of the address are asked, too, those that answer. Where a server
reaches the older one alone, nothing tells: whoever promotes has to fence. A synchronous standby makes up for that, as
the older primary waits for it in vain.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import psycopg
from psycopg import conninfo

ANSWER_S = 0.5
"""Seconds that the other hosts have for an answer."""

_LOG = logging.getLogger(__name__)

_TIMELINE = """
SELECT system_identifier::text, CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_walfile_name(pg_current_wal_lsn()) END
FROM pg_control_system()
"""
"""The name of a file of the log begins with the timeline, in hexadecimal, also right after a promotion."""

Host: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Timeline:
    """``database``: what is alike on a primary and its standbys, and on nothing else."""

    database: str
    number: int


class OlderPrimary(psycopg.OperationalError):
    """It takes writes, and a newer one was promoted in its place."""


class NewestTimeline:
    """For all connections of one address. Any thread; blocking."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._parts = conninfo.conninfo_to_dict(address)
        self._hosts = hosts_of(self._parts)
        self._guard = threading.Lock()
        self._newest: Timeline | None = None
        self._seen: dict[Host, Timeline] = {}
        self._looking = threading.Lock()
        self._looked = float("-inf")
        """When they were last asked."""

    def check(self, connection: psycopg.Connection[Any]) -> Timeline | None:
        """The timeline of a connection that was made; None where it is not told. Raises ``OlderPrimary`` where another
        host has a newer one."""
        timeline, host = read_timeline(connection), _host_of(connection)
        if timeline is not None:
            self.note(host, timeline)
            self._look_beside(host)
            if not self.is_newest(timeline):
                raise OlderPrimary("an older primary, which was not stopped")
        return timeline

    def note(self, host: Host, timeline: Timeline) -> None:
        """That PostgreSQL takes writes."""
        with self._guard:
            self._seen[host] = timeline
            if not self._is_older(timeline):
                self._newest = timeline
            older = [host for host, seen in self._seen.items() if self._is_older(seen)]
        if host in older:
            _LOG.warning("%s:%s takes writes, and so does a newer primary: stop it, or make it a standby", *host)

    def is_newest(self, timeline: Timeline | None) -> bool:
        """Whether nothing newer was seen since."""
        with self._guard:
            return timeline is None or not self._is_older(timeline)

    @property
    def address(self) -> str:
        """With the hosts of older primaries last: each may be the newest again."""
        with self._guard:
            older = {host for host, timeline in self._seen.items() if self._is_older(timeline)}
        if not older:
            return self._address
        hosts = sorted(self._hosts, key=lambda host: host in older)
        named = {"host": ",".join(name for name, _ in hosts), "port": ",".join(port for _, port in hosts)}
        return conninfo.make_conninfo("", **(self._parts | named))

    def _look_beside(self, connected: Host) -> None:
        """Ask the other hosts whether they take writes, all at once. One look is for all who came before it."""
        came, others = time.monotonic(), [host for host in self._hosts if host != connected]
        if not others:
            return
        with self._looking:
            if self._looked > came:
                return
            self._looked = time.monotonic()
            asking = [threading.Thread(target=self._ask, args=(host,), daemon=True) for host in others]
            for each in asking:
                each.start()
            until = time.monotonic() + ANSWER_S
            for each in asking:
                each.join(max(0.0, until - time.monotonic()))

    def _ask(self, host: Host) -> None:
        alone = conninfo.make_conninfo("", **(self._parts | {"host": host[0], "port": host[1]}))
        with suppress(psycopg.Error), closing(psycopg.connect(alone, autocommit=True)) as connection:
            timeline = read_timeline(connection)
            if timeline is not None:
                self.note(host, timeline)

    def _is_older(self, timeline: Timeline) -> bool:
        newest = self._newest
        return newest is not None and timeline.database == newest.database and timeline.number < newest.number


def hosts_of(parts: dict[str, Any]) -> list[Host]:
    """The hosts that an address names, with their ports. None of them where it goes by number or by socket alone."""
    if parts.get("hostaddr") or not parts.get("host"):
        return []
    names = str(parts["host"]).split(",")
    ports = str(parts.get("port") or 5432).split(",")
    return list(zip(names, ports if len(ports) == len(names) else ports * len(names), strict=True))


def read_timeline(connection: psycopg.Connection[Any]) -> Timeline | None:
    """None for a standby, and where it is not told, as by some that are managed."""
    try:
        row = connection.execute(_TIMELINE).fetchone()
    except (psycopg.ProgrammingError, psycopg.NotSupportedError):
        return None
    return None if row is None or row[1] is None else Timeline(row[0], int(row[1][:8], 16))


def _host_of(connection: psycopg.Connection[Any]) -> Host:
    return connection.info.host, str(connection.info.port)
