"""Keys, secrets and licence of the installation: rows in the cluster's database, and files here as a view of them.

Everything that reads them reads files, as on one machine. What is written goes to the rows first, and to the files of
the other servers with their next poll. Of two servers that make the same file at once one makes it, and both have it.
"""

from __future__ import annotations

import re
import threading
from pathlib import Path

from auth import private_files
from auth.keys import KEYS_FOLDER
from auth.licence_file import FILE_LIMIT, NAME
from vaults.cluster.control.file_rows import FileRow, FileRows
from vaults.errors import InvalidArgument

_KEPT = re.compile(r"[0-9]{4}\.(?:pem|pub)|[a-z0-9][a-z0-9._-]*\.key", re.ASCII)
"""What lies in the folder of the keys and is everybody's."""


class InstallationFiles:
    """A ``FileKeeper`` of the folder of the keys. Any thread; blocking."""

    def __init__(self, rows: FileRows, data: Path) -> None:
        self._rows = rows
        self._data = data
        self._laid: dict[str, int] = {}
        self._licence: bytes | None = None
        # One at a time: of two, the one with the older rows could end last.
        self._turn = threading.RLock()

    def begin(self, *, is_known: bool) -> None:
        """Lay them out at the start. A folder that is not known to be this installation's may hold no key that is not:
        ``InvalidArgument``; in one that is, a key without a row was removed meanwhile, and goes."""
        private_files.make_private_folder(self._data / KEYS_FOLDER)
        with self._turn:
            rows = {row.name: row for row in self._rows.read(self._rows.versions())}
            here = self._files_here()
            foreign = [name for name in here if name not in rows or self._read(name) != rows[name].data]
            if foreign and not is_known:
                raise InvalidArgument(
                    "data",
                    f"holds {foreign[0]}, which is none of the installation's that cluster.url leads to",
                    hint="give this server an empty folder; what is in this one moves in with: strongroom cluster join",
                )
            for name in here:
                if name not in rows:
                    private_files.remove_here(self._data / name)
            for row in rows.values():
                self._lay_out(row)
            self._follow_licence()

    def follow(self) -> None:
        """Take up what other servers changed. One statement when nothing did."""
        with self._turn:
            versions = self._rows.versions()
            for name in [name for name in self._laid if name not in versions]:
                self._forget(name)
            self._follow_licence()
            stale = [name for name, version in versions.items() if not self._is_laid(name, version)]
            for row in self._rows.read(stale) if stale else ():
                self._lay_out(row)

    def keep_all(self) -> list[str]:
        """Make rows of what lies here, where an installation moves in; the names of those that were none yet."""
        with self._turn:
            added = [name for name in self._files_here() if self._rows.add(name, self._read(name) or b"") is not None]
            self._follow_licence()
            return added

    def publish(self, path: Path, data: bytes) -> None:
        """The contract's."""
        name = self._name_of(path)
        with self._turn:
            version = self._rows.add(name, data)
            if version is None:
                self.follow()
                raise FileExistsError(name)
            self._lay_out(FileRow(name, version, data))

    def replace(self, path: Path, data: bytes) -> None:
        """The contract's."""
        name = self._name_of(path)
        with self._turn:
            version = self._rows.replace(name, data)
            if version is None:
                self._forget(name)
                raise FileNotFoundError(name)
            self._lay_out(FileRow(name, version, data))

    def remove(self, path: Path) -> None:
        """The contract's."""
        name = self._name_of(path)
        with self._turn:
            self._rows.remove(name)
            self._forget(name)

    def _follow_licence(self) -> None:
        """An operator copies a licence into the folder of one server, or takes it away there: that holds for all."""
        try:
            found = self._read(NAME)
        except OSError:  # there, and not to be read: it says so itself, and is no reason to take it from the others
            return
        if found == self._licence or (found is not None and len(found) > FILE_LIMIT):
            return
        if found is None:
            self._rows.remove(NAME)
            self._laid.pop(NAME, None)
        else:
            version = self._rows.replace(NAME, found) or self._rows.add(NAME, found)
            if version is not None:
                self._laid[NAME] = version
        self._licence = found

    def _lay_out(self, row: FileRow) -> None:
        path, here = self._data / row.name, self._read(row.name)
        if here is None:
            private_files.publish_here(path.parent, path.name, row.data)
        elif here != row.data:
            private_files.replace_here(path, row.data)
        self._laid[row.name] = row.version
        if row.name == NAME:
            self._licence = row.data

    def _forget(self, name: str) -> None:
        self._laid.pop(name, None)
        if name == NAME:
            self._licence = None
        private_files.remove_here(self._data / name)

    def _is_laid(self, name: str, version: int) -> bool:
        return self._laid.get(name) == version and (self._data / name).exists()

    def _files_here(self) -> list[str]:
        folder = self._data / KEYS_FOLDER
        if not folder.is_dir():
            return []
        return sorted(f"{KEYS_FOLDER}/{path.name}" for path in folder.iterdir() if _KEPT.fullmatch(path.name))

    def _name_of(self, path: Path) -> str:
        return f"{path.parent.name}/{path.name}"

    def _read(self, name: str) -> bytes | None:
        try:
            return (self._data / name).read_bytes()
        except FileNotFoundError:
            return None
