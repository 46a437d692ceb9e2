"""Connections to PostgreSQL, none of which waits for ever: whatever is asked is answered or fails in bounded time.

PostgreSQL ends a statement that takes too long, the kernel a connection whose other end is gone, and the wait here
ends where both say nothing, as when the machine of PostgreSQL is stopped.
"""

from __future__ import annotations

import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg import conninfo, errors
from psycopg.abc import PQGen
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool

from vaults.cluster.failures import LogUnavailable
from vaults.cluster.postgres.driver_errors import is_of_connection, translate_driver_errors
from vaults.cluster.postgres.timelines import NewestTimeline, OlderPrimary, Timeline

T = TypeVar("T")


KEEPALIVES = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3}
"""Seconds of silence until an end is asked after, seconds between two questions, and how many may go unanswered."""


@dataclass(frozen=True, slots=True)
class DatabaseLogin:
    """How PostgreSQL is reached. ``conninfo`` as libpq takes it, with several hosts where there is a standby, and with
    the password perhaps: it is never shown."""

    conninfo: str = field(repr=False)
    pool_size: int = 8
    connect_s: int = 5
    answer_s: float = 5.0


class BoundedConnection(psycopg.Connection[TupleRow]):
    """The driver's connection with an end to each wait; ``wait`` is where all of its waits go through."""

    answer_s = 5.0
    timeline: Timeline | None = None
    _is_ahead_of_standby = False

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """The driver's, which closes nothing: after a wait that ended, whoever holds the connection must."""
        result = super().wait(gen, interval, self.answer_s if timeout is None else timeout)
        if self._is_ahead_of_standby:
            raise psycopg.OperationalError("what was committed may not be on the standby")
        return result

    @cached_property
    def prepared(self) -> set[bytes]:
        """Names of what was prepared on it beside the driver."""
        return set()

    def note(self, notice: errors.Diagnostic) -> None:
        """Where somebody cancels what waits for the standby, PostgreSQL calls it committed, and only warns: promoted
        then, the standby would not have it. The text is in the language of the database, the place is not."""
        if notice.source_function == "SyncRepWaitForLSN":
            self._is_ahead_of_standby = True


Connection: TypeAlias = BoundedConnection


class Connections:
    """A pool for everybody, and single connections for who must not wait for others. Any thread; blocking."""

    def __init__(self, login: DatabaseLogin) -> None:
        self._login = login
        self._newest = NewestTimeline(_bounded(login))
        self._pool = ConnectionPool(
            lambda: self._newest.address,
            connection_class=BoundedConnection,
            kwargs={"autocommit": True},
            min_size=1,
            max_size=login.pool_size,
            timeout=login.connect_s,
            reconnect_timeout=login.connect_s,
            configure=self._configure,
            open=False,
            name="cluster",
        )
        self._kept: Connection | None = None
        self._kept_is_used = threading.Lock()

    def open(self) -> None:
        """Let the pool connect. What keeps it from that is told by ``schema.open_database``, before."""
        self._pool.open()

    def close(self) -> None:
        """Returns when no connection is left."""
        self._pool.close(timeout=self._login.connect_s)
        with self._kept_is_used:
            self._drop_kept()

    @contextmanager
    def use(self) -> Iterator[Connection]:
        """One of the pool's, each statement a transaction of its own. Raises ``LogUnavailable``, ``ReadOnly``,
        ``StorageFull``; the outcome of a statement that was sent is unknown then."""
        with translate_driver_errors():
            connection = self._living()
            try:
                yield connection
            except psycopg.Error as failure:
                if is_of_connection(failure):
                    connection.close()
                raise
            finally:
                self._pool.putconn(connection)

    @contextmanager
    def use_kept(self) -> Iterator[Connection]:
        """``use``, for what answered writes wait for: one connection beside the pool, where nobody else has it now.
        One after another they find the same process of PostgreSQL, which has all at hand, and none goes the longer way
        through the pool. What fails in the block closes it."""
        if not self._kept_is_used.acquire(blocking=False):
            with self.use() as connection:
                yield connection
            return
        try:
            with translate_driver_errors():
                yield self._living_kept()
        except BaseException:
            self._drop_kept()
            raise
        finally:
            self._kept_is_used.release()

    def _living_kept(self) -> Connection:
        if self._kept is None or not self.is_living(self._kept):
            self._drop_kept()
            self._kept = self.connect()
        return self._kept

    def _drop_kept(self) -> None:
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.close()

    @contextmanager
    def single(self) -> Iterator[Connection]:
        """A new one, outside the pool. Raises as ``use``."""
        with translate_driver_errors():
            connection = self.connect()
            try:
                yield connection
            finally:
                connection.close()

    def connect(self) -> Connection:
        """A new one, outside the pool, for who closes it. Raises the driver's errors."""
        try:
            return self._opened()
        except OlderPrimary:
            return self._opened()  # of the newer one, which it names first now

    def is_living(self, connection: Connection) -> bool:
        """Whether it can be used again: it did not end while nobody looked, and leads to the newest primary."""
        return is_quiet(connection) and self._newest.is_newest(connection.timeline)

    def _opened(self) -> Connection:
        connection = BoundedConnection.connect(self._newest.address, autocommit=True)
        try:
            self._configure(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _living(self) -> Connection:
        """One that has not been ended while nobody looked, as all are when PostgreSQL is restarted. Told from a look
        at the socket: a round trip before each append would double its cost."""
        for _ in range(self._login.pool_size + 1):
            connection = self._pool.getconn()
            if self.is_living(connection):
                return connection
            connection.close()
            self._pool.putconn(connection)
        raise LogUnavailable

    def _configure(self, connection: Connection) -> None:
        connection.add_notice_handler(connection.note)
        connection.answer_s = self._login.answer_s + 1  # PostgreSQL's own word comes first
        milliseconds = str(int(1000 * self._login.answer_s))
        connection.execute(
            _SESSION, {"milliseconds": milliseconds, **{name: str(said) for name, said in KEEPALIVES.items()}}
        )
        try:
            connection.timeline = self._newest.check(connection)
        except OlderPrimary:
            connection.close()
            raise


_SESSION = """
SELECT set_config('statement_timeout', %(milliseconds)s, false),
       set_config('idle_in_transaction_session_timeout', %(milliseconds)s, false),
       set_config('tcp_user_timeout', %(milliseconds)s, false),
       set_config('tcp_keepalives_idle', %(keepalives_idle)s, false),
       set_config('tcp_keepalives_interval', %(keepalives_interval)s, false),
       set_config('tcp_keepalives_count', %(keepalives_count)s, false),
       set_config('search_path', 'strongroom_control', false),
       set_config('synchronous_commit', CASE setting WHEN 'off' THEN 'on' ELSE setting END, false)
FROM pg_settings WHERE name = 'synchronous_commit'
"""
"""An acknowledged append is on PostgreSQL's disk, and on its standby's where one is waited for. Statements on control's
tables name no schema, as they are SQLite's too; all others do. PostgreSQL, too, asks after an end that says nothing: of
a machine that is gone it would keep all connections for two hours, and be short of them."""


def is_quiet(connection: Connection) -> bool:
    """Whether nothing came while nobody asked: the end of the connection, or PostgreSQL's word that it ends it."""
    if connection.closed:
        return False
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
    return not poll.poll(0)


def _bounded(login: DatabaseLogin) -> str:
    """What the operator said, and bounds where nothing is said of them."""
    bounds: dict[str, Any] = {
        "application_name": "strongroom",
        "connect_timeout": login.connect_s,
        **KEEPALIVES,
        "tcp_user_timeout": int(1000 * login.answer_s),
        "target_session_attrs": "read-write",
    }
    always = {"client_encoding": "UTF8"}  # which texts of prepared statements are in
    return conninfo.make_conninfo("", **(bounds | conninfo.conninfo_to_dict(login.conninfo) | always))


def in_transaction(connection: Connection, work: Callable[[Connection], T]) -> T:
    """Run ``work`` in one transaction, whole or not at all."""
    with connection.transaction():
        return work(connection)
