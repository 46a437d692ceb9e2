"""How far each transcript was harvested: a small private database, which a kill leaves as it was or as it should be."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vaults.db.engine import sqlite
from vaults.errors import Conflict
from vaults.files.permissions import make_private_file
from vaults.transcripts.transcript import ReadPlace

_VERSION = 1
"""Raised when readers see more in a file than before: everything is read anew then, which is harmless."""

FOLDER = "harvest"
"""Folder of all harvests, in the data folder."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS files (
  path BLOB PRIMARY KEY, stamp TEXT NOT NULL, "offset" INTEGER NOT NULL, mark TEXT NOT NULL, state TEXT NOT NULL,
  excluded TEXT NOT NULL
) WITHOUT ROWID
"""
_OWN_SCHEMA = "CREATE TABLE IF NOT EXISTS own (transcript TEXT PRIMARY KEY) WITHOUT ROWID"


def state_folder(data: Path, target: str) -> Path:
    """Where is kept how far the harvest into a vault of the data folder, or into an endpoint, has come."""
    return data / FOLDER / hashlib.sha256(target.encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class FileState:
    """What is known of a file. ``stamp``: what it looked like when it was read to its end, empty if it was not;
    ``excluded``: projects whose conversations in it were left out."""

    stamp: str
    place: ReadPlace = field(default_factory=ReadPlace)
    excluded: tuple[str, ...] = ()


class HarvestState:
    """The states of files, in the file at ``path``, which nobody else may use at the same time: raises ``Conflict``.

    A damaged one is put aside: what was harvested is harvested once more, and is known by whoever stores it."""

    def __init__(self, path: Path) -> None:
        try:
            self._db = _open(path)
        except sqlite.OperationalError as failure:
            raise Conflict(
                "another harvest is running, or its state cannot be written", hint="wait until it has ended"
            ) from failure
        except sqlite.DatabaseError:
            path.replace(path.with_name(f"{path.name}.damaged"))
            self._db = _open(path)

    def __enter__(self) -> HarvestState:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let others use the file."""
        self._db.close()

    def stamps(self) -> dict[Path, str]:
        """What the known files looked like."""
        return {Path(os.fsdecode(path)): stamp for path, stamp in self._db.execute("SELECT path, stamp FROM files")}

    def excluded(self) -> dict[Path, tuple[str, ...]]:
        """Files of which conversations were left out, and their projects."""
        rows = self._db.execute("SELECT path, excluded FROM files WHERE excluded <> '[]'")
        return {Path(os.fsdecode(path)): tuple(json.loads(excluded)) for path, excluded in rows}

    def place_of(self, path: Path) -> ReadPlace:
        """Where to go on with a file."""
        sql = 'SELECT "offset", mark, state FROM files WHERE path = ?'
        row = self._db.execute(sql, (os.fsencode(path),)).fetchone()
        return ReadPlace(*row) if row else ReadPlace()

    def own(self) -> set[str]:
        """Conversations in which memories were extracted, as they were noted."""
        return {transcript for (transcript,) in self._db.execute("SELECT transcript FROM own")}

    def note_own(self, transcript: str) -> None:
        """Keep that a conversation is one of those: what is added to it later does not show it."""
        with self._db:
            self._db.execute("INSERT OR IGNORE INTO own VALUES (:transcript)", {"transcript": transcript})

    def store(self, states: Mapping[Path, FileState]) -> None:
        """Keep the states of files, all of them or none."""
        rows = [
            (
                os.fsencode(path),
                each.stamp,
                each.place.offset,
                each.place.mark,
                each.place.state,
                json.dumps(each.excluded),
            )
            for path, each in states.items()
        ]
        with self._db:
            self._db.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?)", rows)


def _open(path: Path) -> sqlite.Connection:
    make_private_file(path)
    db = sqlite.connect(path, timeout=0.5, check_same_thread=False)
    try:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("PRAGMA synchronous = FULL")
        if db.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
            db.execute("DROP TABLE IF EXISTS files")
        with db:
            db.execute(_SCHEMA)
            db.execute(_OWN_SCHEMA)
            db.execute(f"PRAGMA user_version = {_VERSION}")
            db.execute("DELETE FROM files WHERE path IS NULL")  # takes the lock
    except BaseException:
        db.close()
        raise
    return db
