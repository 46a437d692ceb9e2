"""Small files of an installation as rows: its keys, its secrets, its licence. Any thread; blocking."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vaults.cluster.postgres.connections import Connections

_VERSIONS = "SELECT name, version FROM strongroom_control.installation_files"
_READ = "SELECT name, version, data FROM strongroom_control.installation_files WHERE name = ANY(%(names)s)"

_COUNTED = "WITH counted AS (UPDATE strongroom_control.control_version SET number = number + 1 RETURNING number)"
"""Versions come from one counter, so that a file that is removed and made again has another; and writers of files come
one after the other."""

_ADD = f"""
{_COUNTED} INSERT INTO strongroom_control.installation_files (name, data, version)
SELECT %(name)s, %(data)s, number FROM counted ON CONFLICT DO NOTHING RETURNING version
"""
_REPLACE = f"""
{_COUNTED} UPDATE strongroom_control.installation_files SET data = %(data)s, version = number FROM counted
WHERE name = %(name)s RETURNING version
"""
_REMOVE = "DELETE FROM strongroom_control.installation_files WHERE name = %(name)s"


@dataclass(frozen=True, slots=True)
class FileRow:
    """One file as it is. ``version`` is another one after each change."""

    name: str
    version: int
    data: bytes


class FileRows:
    """Every method raises ``LogUnavailable``, and those that write ``ReadOnly`` and ``StorageFull``."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def versions(self) -> dict[str, int]:
        """Of every file, by name."""
        with self._connections.use() as connection:
            return {str(name): int(version) for name, version in connection.execute(_VERSIONS)}

    def read(self, names: Iterable[str]) -> list[FileRow]:
        """Those of these files that are still there."""
        with self._connections.use() as connection:
            rows = connection.execute(_READ, {"names": list(names)}, binary=True)
            return [FileRow(str(name), int(version), bytes(data)) for name, version, data in rows]

    def add(self, name: str, data: bytes) -> int | None:
        """The version of a new file; None where there is one of this name."""
        return self._write(_ADD, name, data)

    def replace(self, name: str, data: bytes) -> int | None:
        """The new version of a file; None where there is none of this name."""
        return self._write(_REPLACE, name, data)

    def remove(self, name: str) -> None:
        """Nothing happens if it is gone."""
        with self._connections.use() as connection:
            connection.execute(_REMOVE, {"name": name})

    def _write(self, statement: str, name: str, data: bytes) -> int | None:
        with self._connections.use() as connection:
            row = connection.execute(statement, {"name": name, "data": data}).fetchone()
        return None if row is None else int(row[0])
