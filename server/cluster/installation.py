"""Which installation this server is of, and what all of its servers share besides vaults: control, keys, licence.

Opened before anything else: who may do what, and the keys that prove it, come from here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from dataclasses import dataclass
from pathlib import Path

from auth import private_files
from auth.keys import KEYS_FOLDER
from server.cluster.database import open_connections
from server.cluster.installation_files import InstallationFiles
from server.cluster.release import refuse_old_release
from server.cluster_settings import ClusterSettings
from server.control_database import CONTROL_DB
from server.control_state import SharedControl
from vaults.cluster.control.file_rows import FileRows
from vaults.cluster.control.postgres_control import PostgresControl
from vaults.cluster.postgres import schema
from vaults.cluster.postgres.connections import Connections, DatabaseLogin
from vaults.db.connection import open_raw
from vaults.db.engine import sqlite
from vaults.errors import InvalidArgument
from vaults.files.atomic import write_atomic
from vaults.files.permissions import make_private_folder
from vaults.settings import StorageSettings

MARKER = "cluster-installation"
"""File in the data folder of a server that says of which installation it is."""

MARKER_LIMIT = 200


@dataclass(frozen=True, slots=True)
class SharedInstallation:
    """``id``: as ``registry.instance_id`` has it on one machine."""

    id: str
    connections: Connections
    control: PostgresControl
    files: InstallationFiles

    @property
    def of_control(self) -> SharedControl:
        """What control needs of it."""
        return SharedControl(self.control, self.files.follow)


@asynccontextmanager
async def open_installation(settings: ClusterSettings, data: Path) -> AsyncIterator[SharedInstallation]:
    """The installation that the database is of, as long as the block lasts; keys and licence lie in the data folder by
    then, and what is written of them goes to all servers. Raises ``InvalidArgument`` for a folder of another
    installation, for what is wrong with the database and for vaults of a newer release, ``LogUnavailable``."""
    id_ = await asyncio.to_thread(_read_id, settings)
    is_known = await asyncio.to_thread(_check_folder, data, id_)
    async with AsyncExitStack() as stack:
        connections = await open_connections(stack, settings, id_)
        await refuse_old_release(connections)
        control = PostgresControl(connections)
        stack.push_async_callback(control.close)
        files = InstallationFiles(FileRows(connections), data)
        await asyncio.to_thread(files.begin, is_known=is_known)
        if not is_known:
            await asyncio.to_thread(write_atomic, data / MARKER, f"{id_}\n".encode())
        stack.enter_context(private_files.kept_by(data / KEYS_FOLDER, files))
        yield SharedInstallation(id_, connections, control, files)


def installation_of_folder(data: Path) -> str | None:
    """The id of the installation that a data folder is of; None for one that is fresh. Blocking."""
    with suppress(FileNotFoundError), (data / MARKER).open("rb") as marker:
        return marker.read(MARKER_LIMIT).decode("utf-8", "replace").strip()
    return _id_of_control(data / CONTROL_DB)


def _read_id(settings: ClusterSettings) -> str:
    login = DatabaseLogin(settings.read_url(), pool_size=1, connect_s=max(2, int(settings.lease_s)))
    with schema.single_connection(login) as connection:
        found = schema.installation_of(connection)
    if found is None:
        raise InvalidArgument(schema.SETTING, "has no tables of strongroom", hint="run: strongroom cluster init")
    return found


def _check_folder(data: Path, installation: str) -> bool:
    """Whether a server of this installation had the folder before: what lies in it is a view then, and not the only
    copy. Raises ``InvalidArgument`` for a folder of another installation."""
    if not data.exists():
        make_private_folder(data)
    found = installation_of_folder(data)
    if found is not None and found != installation:
        raise InvalidArgument(
            "data",
            f"is the folder of installation {found}, and cluster.url leads to {installation}",
            hint="give this server a folder of its own; a whole installation moves in with: strongroom cluster join",
        )
    return (data / MARKER).exists()


def _id_of_control(path: Path) -> str | None:
    if not path.exists():
        return None
    try:
        with closing(open_raw(path, StorageSettings(), writer=False)) as raw:
            row = raw.execute("SELECT value FROM installation WHERE key = 'instance_id'").fetchone()
    except sqlite.Error as failure:
        raise InvalidArgument("data", f"holds a {CONTROL_DB} that cannot be read") from failure
    return None if row is None else str(row[0])
