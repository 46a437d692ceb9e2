"""How often a model was asked today, over all harvests of a data folder and over restarts."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from vaults.transcripts.state_file import open_state

_SCHEMA = "CREATE TABLE IF NOT EXISTS spent (day TEXT PRIMARY KEY, calls INTEGER NOT NULL, tokens INTEGER NOT NULL)"

_CHARACTERS_A_TOKEN = 3
"""Where nobody counts tokens: rather too many than too few."""


@dataclass(frozen=True, slots=True)
class CallBudget:
    """What may be asked in a day (UTC), kept in the file at ``path``. A call counts before it is made, so that no kill
    makes one free; attempts that are repeated within a call are one."""

    path: Path
    max_calls: int
    max_tokens: int | None = None
    clock: Callable[[], float] = time.time

    def take(self, tokens: int) -> bool:
        """Count a call of about so many tokens; False, and nothing is counted, where it does not fit any more."""
        with closing(open_state(self.path, _SCHEMA)) as db, db:
            db.execute("BEGIN IMMEDIATE")
            row = db.execute("SELECT calls, tokens FROM spent WHERE day = :day", {"day": self._today()}).fetchone()
            calls, spent = row or (0, 0)
            if calls >= self.max_calls or (self.max_tokens is not None and spent + tokens > self.max_tokens):
                return False
            db.execute("DELETE FROM spent")
            new = {"day": self._today(), "calls": calls + 1, "tokens": spent + tokens}
            db.execute("INSERT INTO spent VALUES (:day, :calls, :tokens)", new)
            return True

    def correct(self, tokens: int) -> None:
        """Add what a call took more than was thought, or less."""
        with closing(open_state(self.path, _SCHEMA)) as db, db:
            sql = "UPDATE spent SET tokens = max(0, tokens + :tokens) WHERE day = :day"
            db.execute(sql, {"day": self._today(), "tokens": tokens})

    def _today(self) -> str:
        return datetime.fromtimestamp(self.clock(), UTC).date().isoformat()


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has."""
    return len(text) // _CHARACTERS_A_TOKEN + 1
