"""Conversations that wait for a model, how far it has read each, and answers whose memories are not stored yet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from vaults.transcripts.model_extraction.model_share import (
    ModelShare,
    WindowResult,
    result_from_json,
    share_from_json,
)
from vaults.transcripts.state_file import open_state

FIRST_PAUSE_S, LONGEST_PAUSE_S = 60.0, 3600.0
"""How long a model that failed is left alone: at first, and after failing time after time."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS conversations (
  transcript TEXT PRIMARY KEY, uri TEXT NOT NULL, waiting_since REAL, changed_at REAL NOT NULL,
  ended INTEGER NOT NULL, failures INTEGER NOT NULL DEFAULT 0, share TEXT, result TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pause (one INTEGER PRIMARY KEY CHECK (one = 1), failures INTEGER NOT NULL, at REAL NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class WaitingConversation:
    """A conversation with turns no model has read. ``since``: when the first of them was seen."""

    transcript: str
    uri: str
    since: float
    failures: int


class WaitingState:
    """Kept in the file at ``path``; times are seconds of the wall clock. Losing it costs answers that are asked for
    once more when a conversation goes on."""

    def __init__(self, path: Path) -> None:
        self._db = open_state(path, _SCHEMA)

    def __enter__(self) -> WaitingState:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def note(self, transcript: str, uri: str, changed_at: float, now: float, *, ended: bool) -> None:
        """A conversation has grown. ``ended``: nobody goes on with it."""
        values = {"transcript": transcript, "uri": uri, "changed_at": changed_at, "now": now, "ended": ended}
        with self._db:
            self._db.execute(
                "INSERT INTO conversations (transcript, uri, waiting_since, changed_at, ended)"
                " VALUES (:transcript, :uri, :now, :changed_at, :ended) ON CONFLICT (transcript) DO UPDATE SET"
                " uri = excluded.uri, waiting_since = COALESCE(waiting_since, excluded.waiting_since),"
                " changed_at = excluded.changed_at, ended = excluded.ended",
                values,
            )

    def due(self, now: float, quiet_s: float) -> Iterator[WaitingConversation]:
        """Conversations that wait and have been quiet for so long, or have ended; those that failed last. One that
        changed in the future does not wait for it: somebody has set the clock back."""
        rows = self._db.execute(
            "SELECT transcript, uri, waiting_since, failures FROM conversations WHERE waiting_since IS NOT NULL"
            " AND result IS NULL AND (ended OR changed_at <= :quiet OR changed_at > :now)"
            " ORDER BY failures, waiting_since, transcript",
            {"now": now, "quiet": now - quiet_s},
        ).fetchall()
        return (WaitingConversation(*row) for row in rows)

    def share_of(self, transcript: str) -> ModelShare:
        """What a model has read of a transcript."""
        row = self._db.execute(
            "SELECT share FROM conversations WHERE transcript = :transcript", {"transcript": transcript}
        ).fetchone()
        return share_from_json(row[0]) if row and row[0] else ModelShare()

    def settle(self, transcript: str, share: ModelShare) -> None:
        """Nothing is left to be read."""
        self._set(transcript, "share = :share, waiting_since = NULL, failures = 0", share=json.dumps(asdict(share)))

    def keep_result(self, transcript: str, result: WindowResult) -> None:
        """Keep what was answered, before anything is stored of it: no kill makes a call in vain."""
        self._set(transcript, "result = :result", result=result.to_json())

    def results(self) -> Iterator[tuple[str, str, WindowResult]]:
        """Transcripts with their files, and what was answered for them and is not stored."""
        sql = "SELECT transcript, uri, result FROM conversations WHERE result IS NOT NULL ORDER BY transcript"
        for transcript, uri, result in self._db.execute(sql).fetchall():
            yield transcript, uri, result_from_json(result)

    def drop_result(self, transcript: str) -> None:
        """The conversation is not the one that was asked about any more."""
        self._set(transcript, "result = NULL")

    def confirm(self, transcript: str, share: ModelShare) -> None:
        """The memories of a result are stored."""
        self._set(transcript, "result = NULL, failures = 0, share = :share", share=json.dumps(asdict(share)))

    def fail(self, transcript: str, now: float) -> None:
        """The model could not be asked: it is left alone for a while, each time for longer."""
        self._set(transcript, "failures = failures + 1")
        with self._db:
            self._db.execute(
                "INSERT INTO pause VALUES (1, 1, :now) ON CONFLICT (one) DO UPDATE SET"
                " failures = failures + 1, at = excluded.at",
                {"now": now},
            )

    def succeed(self) -> None:
        """The model has answered."""
        with self._db:
            self._db.execute("DELETE FROM pause")

    def is_paused(self, now: float) -> bool:
        """Whether the model is to be left alone."""
        row = self._db.execute("SELECT failures, at FROM pause").fetchone()
        if row is None:
            return False
        pause = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(row[0] - 1, 10))
        return bool(0 <= now - row[1] < pause)

    def _set(self, transcript: str, what: str, **values: object) -> None:
        with self._db:
            sql = f"UPDATE conversations SET {what} WHERE transcript = :transcript"
            self._db.execute(sql, {"transcript": transcript, **values})
