"""The driver's failures as ours. Nothing of what the driver says is passed on: it may hold values and addresses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from vaults.cluster.failures import LogUnavailable
from vaults.errors import ReadOnly, StorageFull, StrongroomError

_OTHER_TABLES = (
    errors.InvalidSchemaName,
    errors.UndefinedTable,
    errors.UndefinedColumn,
    errors.DatatypeMismatch,
    errors.InsufficientPrivilege,
)


def is_of_connection(failure: psycopg.Error) -> bool:
    """Whether the connection failed, or may have, and is not to be used again. What ends without a code of PostgreSQL,
    as half an answer does, is a plain ``DatabaseError`` of the driver."""
    kinds = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError)
    return isinstance(failure, kinds) or type(failure) is psycopg.DatabaseError


def to_typed_error(failure: psycopg.Error) -> StrongroomError | None:
    """The typed error, or None for a bug of ours."""
    match failure:
        case errors.ReadOnlySqlTransaction():
            return ReadOnly(
                "the cluster's database is read-only", hint="the operator must let cluster.url name the primary"
            )
        case errors.DiskFull() | errors.OutOfMemory():
            return StorageFull(
                "the cluster's database is full; nothing was written", hint="the operator must free space"
            )
        case psycopg.ProgrammingError() if isinstance(failure, _OTHER_TABLES):
            return LogUnavailable("the cluster's database is not as strongroom laid it out, or may not be used")
        case _:
            return LogUnavailable() if is_of_connection(failure) else None


@contextmanager
def translate_driver_errors() -> Iterator[None]:
    """Raise the typed error for a failure of the driver inside the block."""
    try:
        yield
    except psycopg.Error as failure:
        typed = to_typed_error(failure)
        if typed is None:
            raise
        raise typed from failure
