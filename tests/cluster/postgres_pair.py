"""A PostgreSQL and its synchronous standby, which takes its place when it is killed; then there is another standby."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.cluster.postgres_server import PostgresServer, folder_of_its_own, skip_without_postgres
from tests.kept_ports import kept_port
from tests.work import PATIENCE_S

HELD_BACK_S = 0.2
"""How long a commit is watched that is to wait for a standby which answers nothing."""


UNFENCED_S = 1.0
"""How long a primary that was is there beside the one in its place."""


@dataclass(frozen=True, slots=True)
class FailOver:
    """When the primary ended, and when the standby had its place, in seconds of ``time.monotonic``."""

    ended: float
    promoted: float


class PostgresPair:
    """As one server with two ports: ``kill`` or ``stop`` ends the primary, and ``start`` promotes the standby, which
    is what a restart of the one that is alone is. Nothing is acknowledged that the standby does not hold, from the
    return of ``start`` to the next ``kill``."""

    def __init__(self, folder: Path, ports: tuple[int, int], *, fences: bool = True, host: str = "127.0.0.1") -> None:
        self.ports = ports
        self._fences = fences
        self._primary, self._standby = (PostgresServer(folder / str(port), port, host=host) for port in ports)
        self.fail_overs: list[FailOver] = []
        self._ended = 0.0

    def lay_out(self) -> None:
        for each in (self._primary, self._standby):
            each.folder.mkdir()
        self._primary.lay_out()
        self._primary.start()
        self._add_standby()

    def kill(self) -> None:
        """SIGKILL of the primary."""
        self._ended = time.monotonic()
        self._primary.kill()

    def stop(self) -> None:
        """As an operator ends it for a switch-over: sessions are ended."""
        self._ended = time.monotonic()
        self._primary.stop()

    def start(self) -> None:
        """Promote the standby; returns once another one has everything too."""
        self._primary, self._standby = self._standby, self._primary
        with self._session(self._primary) as session:
            session.execute("SELECT pg_promote(true, 60)")
        self.fail_overs.append(FailOver(self._ended, time.monotonic()))
        if not self._fences:
            self.revive()
            time.sleep(UNFENCED_S)
            self._standby.kill()
        self._add_standby()

    def promote(self) -> None:
        """Kill the primary and promote the standby, and leave it at that."""
        self._primary.kill()
        self._primary, self._standby = self._standby, self._primary
        with self._session(self._primary) as session:
            session.execute("SELECT pg_promote(true, 60)")

    def revive(self) -> None:
        """Start the primary that was, by mistake: it takes writes, too, and waits for no standby."""
        self._standby.start()
        with self._session(self._standby) as session:
            session.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
            session.execute("SELECT pg_reload_conf()")

    def entries_of_revived(self, database: str) -> int:
        """How many entries of logs the primary that was holds."""
        with contextlib.closing(psycopg.connect(self._standby.conninfo(database))) as session:
            row = session.execute("SELECT count(*) FROM strongroom.vault_log").fetchone()
        assert row is not None
        return int(row[0])

    def end(self) -> None:
        self._standby.kill()
        self._primary.kill()

    def create_database(self, *settings: str) -> str:
        name = self._primary.create_database(*settings).rpartition("/")[2]
        return self.conninfo(name)

    def conninfo(self, database: str, *ports: int) -> str:
        """Of both: the driver finds the one that takes writes."""
        return self._primary.conninfo(database, *(ports or self.ports))

    @contextlib.contextmanager
    def held_back(self) -> Iterator[None]:
        """The standby applies nothing: commits that wait for that (``synchronous_commit = remote_apply``) wait."""
        with self._session(self._standby) as standby:
            standby.execute("SELECT pg_wal_replay_pause()")
            yield
            standby.execute("SELECT pg_wal_replay_resume()")

    def _add_standby(self) -> None:
        """Without one, what is written is acknowledged by one server alone: nothing may end that one yet."""
        self._standby.follow(self._primary)
        self._standby.start()
        with self._session(self._primary) as session:
            session.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            session.execute("SELECT pg_reload_conf()")
        until = time.monotonic() + PATIENCE_S
        while not (self._has_everything() and self._commits_wait()):
            assert time.monotonic() < until, "no standby came to hold everything"
            time.sleep(0.02)

    def _has_everything(self) -> bool:
        holds = """
            SELECT count(*) FROM pg_stat_replication
            WHERE sync_state = 'sync' AND flush_lsn >= pg_current_wal_flush_lsn()
        """
        with self._session(self._primary) as session:
            return session.execute(holds).fetchone() == (1,)

    def _commits_wait(self) -> bool:
        """Whether the setting has come through, which is seen by a commit alone: one that waits for a standby that
        may not apply it."""
        with self._session(self._primary) as primary:
            primary.execute("SET synchronous_commit = remote_apply")
            written = "SELECT pg_logical_emit_message(true, '', '')"
            commit = threading.Thread(target=primary.execute, args=(written,))
            with self.held_back():
                commit.start()
                commit.join(HELD_BACK_S)
                waits = commit.is_alive()
            commit.join(PATIENCE_S)
            return waits

    @staticmethod
    def _session(server: PostgresServer) -> contextlib.closing[psycopg.Connection[tuple[object, ...]]]:
        return contextlib.closing(psycopg.connect(server.conninfo("postgres"), autocommit=True))


@contextlib.contextmanager
def running_pair(*, fences: bool = True, host: str = "127.0.0.1") -> Iterator[PostgresPair]:
    """A primary and a standby for as long as the block lasts. Without ``fences`` each primary that ended comes back for
    a while beside the one in its place. Skips where the machine has no PostgreSQL."""
    skip_without_postgres()
    with folder_of_its_own() as folder, kept_port() as first, kept_port() as second:
        pair = PostgresPair(folder, (first, second), fences=fences, host=host)
        try:
            pair.lay_out()
            yield pair
        finally:
            pair.end()
