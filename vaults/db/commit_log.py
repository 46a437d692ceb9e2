"""Who is told of commits: nobody by default.

A log follows the frames that commits leave in SQLite's write-ahead log. It is told on the writer's own thread, so
that one which must hold a commit before its caller is answered could wait there, and is asked before that log is
started over, so that it never is before its frames were read. It is also asked before a read is answered, as SQLite
shows a commit to readers before its log was told.
"""

from __future__ import annotations

from typing import Protocol

from vaults.db.engine import sqlite


class CommitLog(Protocol):
    """Told of what a ``Database`` commits. Whatever it raises is raised to the writers, and from ``before_answer`` and
    ``refuse_if_lost`` to who read."""

    @property
    def has_begun(self) -> bool:
        """Whether readers may be let in: False until a log that compares the files first was told of a writer."""

    def after_open(self, raw: sqlite.Connection) -> None:
        """``raw`` was opened to write, and has written nothing yet. On its thread."""

    def before_commit(self) -> None:
        """A group of writes is about to be committed, and seen by readers. On the writer's thread; ``after_commit`` or
        ``after_failed_commit`` follows. Not before other work on the writer, which changes nothing that readers could
        tell apart, or is done before there are any."""

    def after_commit(self, raw: sqlite.Connection) -> None:
        """A group was committed by ``raw``, or other work on it ended, such as migrations; also one that changed
        nothing, or failed after it committed something. Nobody was answered yet. On its thread."""

    def after_failed_commit(self, raw: sqlite.Connection) -> None:
        """A group failed as a whole, mostly with nothing committed. Nobody was answered yet. On its thread."""

    def before_answer(self) -> None:
        """A read has seen what it saw, and is about to be answered. On its thread, and may wait."""

    def refuse_if_lost(self) -> None:
        """Something is about to be answered from memory, of reads that were answered before. Never waits."""

    def before_checkpoint(self, raw: sqlite.Connection) -> None:
        """The write-ahead log is about to be emptied by ``raw``, which has no transaction open. On its thread."""

    async def close(self) -> None:
        """Nothing more will be committed here: every other connection of the ``Database`` is closed."""


class NoCommitLog:
    """The default: nobody is told."""

    has_begun = True

    def after_open(self, raw: sqlite.Connection) -> None:
        """Nothing."""

    def before_commit(self) -> None:
        """Nothing."""

    def after_commit(self, raw: sqlite.Connection) -> None:
        """Nothing."""

    def after_failed_commit(self, raw: sqlite.Connection) -> None:
        """Nothing."""

    def before_answer(self) -> None:
        """Nothing."""

    def refuse_if_lost(self) -> None:
        """Nothing."""

    def before_checkpoint(self, raw: sqlite.Connection) -> None:
        """Nothing."""

    async def close(self) -> None:
        """Nothing."""
