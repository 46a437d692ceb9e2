"""Who is told of commits: nobody by default.

A log follows the frames that commits leave in SQLite's write-ahead log. It is told on the writer's own thread, so
that one which must hold a commit before its caller is answered could wait there, and is asked before that log is
started over, so that it never is before its frames were read.
"""

from __future__ import annotations

from typing import Protocol

from vaults.db.engine import sqlite


class CommitLog(Protocol):
    """Told of what a ``Database`` commits. Whatever it raises is raised to the writers."""

    def after_open(self, raw: sqlite.Connection) -> None:
        """``raw`` was opened to write, and has written nothing yet. On its thread."""

    def after_commit(self, raw: sqlite.Connection) -> None:
        """A group was committed by ``raw``, or other work on it ended, such as migrations; also one that changed
        nothing, or failed after it committed something. Nobody was answered yet. On its thread."""

    def before_checkpoint(self, raw: sqlite.Connection) -> None:
        """The write-ahead log is about to be emptied by ``raw``, which has no transaction open. On its thread."""

    async def close(self) -> None:
        """Nothing more will be committed here: every other connection of the ``Database`` is closed."""


class NoCommitLog:
    """The default: nobody is told."""

    def after_open(self, raw: sqlite.Connection) -> None:
        """Nothing."""

    def after_commit(self, raw: sqlite.Connection) -> None:
        """Nothing."""

    def before_checkpoint(self, raw: sqlite.Connection) -> None:
        """Nothing."""

    async def close(self) -> None:
        """Nothing."""
