"""Whatever is done to a database: restored at every sequence number it is, byte for byte, what it was.

Covers ops.change_log.replay, ops.change_log.recorder, ops.change_log.follower, ops.change_log.shipper,
ops.change_log.bases.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ops.change_log.follower import Follower
from ops.change_log.points import LogPoint, find_point
from ops.change_log.replay import materialise
from ops.change_log.shipper import LogFigures, Shipper
from ops.change_log.store import plain
from tests.ops.change_log.log_store import MemoryStore
from tests.ops.change_log.scripted_database import SETTINGS, ScriptedDatabase, alike

VAULT = "0197a000-0000-7000-8000-000000000001"
VERBS = ("insert", "update", "delete", "rollback", "savepoint", "schema", "shrink", "vacuum", "checkpoint")
OURS = ("renew", "advance", "base", "again", "purge")


class Logged:
    """A database, its log, and what it was after each commit."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, MemoryStore()
        self.database = ScriptedDatabase(folder / "v.db")
        self.images: dict[int, bytes] = {}
        self.lines: dict[int, str] = {}
        self.begin()

    def begin(self) -> None:
        self.follower = Follower(self.database.path, SETTINGS, plain)
        self.follower.hold(self.database.writers[0])
        self.shipper = Shipper(VAULT, self.store, plain, LogFigures())
        found, stored = self.shipper.read_end()
        end = stored.end if stored else None
        self.resumed = self.follower.begin(end)
        if self.resumed and stored is not None:
            self.shipper.go_on(stored)
            self.line = stored.end.line
        else:
            self.line = self.follower.start_line(self.shipper.begin_line(found, stored)).line
            self.store_base()
        self.note()

    def store_base(self) -> None:
        source, position = self.follower.freeze()
        for _ in self.shipper.store_base(source, self.line, position):
            pass

    def end(self) -> None:
        self.follower.let_go()
        self.shipper.close()

    def step(self, verb: str, seed: int) -> None:
        if verb == "renew":
            self.follower.renew(self.database.writers[0])
        elif verb == "advance":
            self.follower.advance()
        elif verb == "purge":
            self.follower.renew(self.database.writers[0])
            self.database.writers[0].execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        elif verb == "base":
            self.store_base()
        elif verb == "again":
            self.end()
            self.begin()
        else:
            self.database.run(verb, seed)

    def note(self) -> None:
        """Record what was committed, and remember what it led to."""
        self.shipper.store_recorded(self.follower)
        sequence = self.sequence
        self.images[sequence] = self.database.image(self.folder)
        self.lines[sequence] = self.line

    @property
    def sequence(self) -> int:
        return find_point(self.store, VAULT).sequence

    def restored(self, sequence: int) -> bytes:
        into = self.folder / "restored.db"
        into.unlink(missing_ok=True)
        materialise(self.store, VAULT, into, LogPoint(self.lines[sequence], sequence, "", True))
        return into.read_bytes()


steps = st.lists(st.tuples(st.sampled_from(VERBS + OURS), st.integers(0, 10_000)), min_size=1, max_size=25)


@settings(max_examples=12)
@given(steps)
@example([("insert", 4240), ("renew", 1), ("savepoint", 2290), ("purge", 1553), ("base", 1)])
@example([("update", 2143), ("checkpoint", 9785), ("again", 2917), ("rollback", 2170), ("base", 1)])
def test_every_commit_is_restored_byte_for_byte(script: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        logged = Logged(Path(folder))
        for verb, seed in script:
            logged.step(verb, seed)
            if seed % 3:  # else the next commits are recorded together
                logged.note()
        logged.note()
        assert not logged.follower.is_lost
        for sequence, image in logged.images.items():
            assert alike(logged.restored(sequence), image), sequence
        logged.end()
        logged.database.close()
