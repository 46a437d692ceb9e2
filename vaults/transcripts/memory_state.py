"""The memories made of each conversation, as they were last sent: what is no longer so can then be taken back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from vaults.db.engine import sqlite
from vaults.files.permissions import make_private_file

_SCHEMA = """
CREATE TABLE IF NOT EXISTS memories (
  transcript TEXT NOT NULL, external_id TEXT NOT NULL, line TEXT NOT NULL, PRIMARY KEY (transcript, external_id)
) WITHOUT ROWID
"""


class MemoryState:
    """The memories of transcripts, in the file at ``path``. Losing it takes nothing back that should go; it loses
    nothing else."""

    def __init__(self, path: Path) -> None:
        make_private_file(path)
        self._db = sqlite.connect(path, check_same_thread=False)
        # One harvest at a time has the state of files anyway: locks for every look would take longer than the looks.
        self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
        with self._db:
            self._db.execute(_SCHEMA)

    def __enter__(self) -> MemoryState:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def read(self, transcript: str) -> dict[str, dict[str, Any]]:
        """The lines sent for a transcript, by their external ids."""
        rows = self._db.execute(
            "SELECT external_id, line FROM memories WHERE transcript = :transcript", {"transcript": transcript}
        )
        return {external_id: json.loads(line) for external_id, line in rows}

    def store(self, sent: Mapping[str, Iterable[dict[str, Any]]]) -> None:
        """Keep what was sent for transcripts, in place of what was before, of all of them or none."""
        if not sent:
            return
        rows = [
            {"transcript": transcript, "external_id": line["external_id"], "line": json.dumps(line)}
            for transcript, lines in sent.items()
            for line in lines
        ]
        gone = [{"transcript": transcript} for transcript in sent]
        with self._db:
            self._db.executemany("DELETE FROM memories WHERE transcript = :transcript", gone)
            self._db.executemany("INSERT INTO memories VALUES (:transcript, :external_id, :line)", rows)
