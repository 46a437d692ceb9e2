"""Bringing the tables of an older release up to this one's, while servers of that one serve.

Adding a column takes a moment, but waits for whoever reads the table, and everybody else waits behind it: behind a
backup that runs for an hour, as long, until all leases are over. So each try ends long before that, and lets those
through who came meanwhile.
"""

from __future__ import annotations

import time

from psycopg import errors

from vaults.cluster.failures import LogUnavailable
from vaults.cluster.postgres.connections import Connection, in_transaction
from vaults.cluster.postgres.layout_steps import LAYOUT, WAIT, newer_tables
from vaults.cluster.postgres.schema import SETTING, has_tables, lock_out_others, read_layout
from vaults.cluster.postgres.table_shape import check_shape
from vaults.errors import InvalidArgument

TRIES = 30
PAUSE_S = 1.0
"""Between two tries: two heartbeats of every server at its defaults."""


def bring_up(connection: Connection) -> int | None:
    """Add what the tables lack, whole or not at all, and check them; again for nothing. Returns the layout they had, or
    None where nothing was to do. Raises ``InvalidArgument`` for tables that were changed, or that are somebody else's,
    and ``LogUnavailable`` where they are in use all the time."""
    if not has_tables(connection) or read_layout(connection) >= LAYOUT:
        return None
    for _ in range(TRIES):
        try:
            return in_transaction(connection, _bring_up)
        except errors.InsufficientPrivilege:
            raise InvalidArgument(
                SETTING, "names a role that may not change the tables", hint="give --url with their owner's"
            ) from None
        except (errors.LockNotAvailable, errors.DeadlockDetected):
            time.sleep(PAUSE_S)
    raise LogUnavailable("the tables are read all the time, as pg_dump does, and nothing was changed")


def _bring_up(connection: Connection) -> int | None:
    connection.execute(WAIT.encode())
    lock_out_others(connection)
    layout = read_layout(connection)
    if layout >= LAYOUT:  # somebody else was faster
        return None
    for statements in newer_tables(layout):
        connection.execute(statements.encode())
    check_shape(connection)
    return layout
