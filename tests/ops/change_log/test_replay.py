"""Whatever is done to a database: restored at every sequence number it is, byte for byte, what it was.

Covers ops.change_log.replay, vaults.db.replayed_file, vaults.db.page_changes, ops.change_log.read_ahead,
ops.change_log.recorder, ops.change_log.follower, ops.change_log.shipper, ops.change_log.bases.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ops.change_log import lines
from ops.change_log.follower import Follower
from ops.change_log.lines import LineHead
from ops.change_log.points import LogPoint, find_point
from ops.change_log.replay import materialise
from ops.change_log.shipper import LogFigures, Shipper
from ops.change_log.store import plain
from tests.ops.change_log.log_store import MemoryStore
from tests.ops.change_log.scripted_database import SETTINGS, ScriptedDatabase, alike
from tests.work import examples
from vaults.db.connection import Database, open_raw
from vaults.db.migration import load_migrations, migrate
from vaults.errors import NotFound

VAULT = "0197a000-0000-7000-8000-000000000001"
VERBS = ("insert", "update", "delete", "rollback", "savepoint", "schema", "shrink", "vacuum", "checkpoint")
OURS = ("renew", "advance", "base", "again", "purge")


class Logged:
    """A database, its log, and what it was after each step."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, MemoryStore()
        self.database = ScriptedDatabase(folder / "v.db")
        self.images: dict[int, bytes] = {}
        self.lines: dict[int, str] = {}
        self.unnoted: list[bytes] = []
        """What it was after each step since the last commit that was noted."""
        self.between: dict[int, list[bytes]] = {}
        """The same, once they were recorded, by the number of the last of them."""
        self.only_in_base: set[int] = set()
        """Commits that a base holds, and that were not recorded before their process ended."""
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
            self.line = self.follower.start_line(self.shipper.begin_line(found)).line
            self.store_base()
            self.unnoted = []  # what nobody could record is in the base
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
            unrecorded, noted = bool(self.unnoted), max(self.images)
            self.end()
            self.begin()
            if unrecorded:
                self.only_in_base.update(each for each in range(noted + 1, self.sequence) if not self.reaches(each))
        else:
            self.database.run(verb, seed)
            self.unnoted.append(self.database.image(self.folder))

    def note(self) -> None:
        """Record what was committed, and remember what it led to."""
        self.shipper.store_recorded(self.follower)
        sequence = self.sequence
        self.images[sequence] = self.database.image(self.folder)
        self.lines[sequence] = self.line
        self.between.setdefault(sequence, []).extend(self.unnoted)
        self.unnoted = []

    @property
    def sequence(self) -> int:
        return find_point(self.store, VAULT).sequence

    def restored(self, sequence: int) -> bytes:
        into = self.folder / "restored.db"
        into.unlink(missing_ok=True)
        line = self.lines.get(sequence) or find_point(self.store, VAULT, sequence=sequence).line
        materialise(self.store, VAULT, into, LogPoint(line, sequence, "", True))
        return into.read_bytes()

    def reaches(self, sequence: int) -> bool:
        """Whether the log says that it has this commit."""
        try:
            find_point(self.store, VAULT, sequence=sequence)
        except NotFound:
            return False
        return True

    def check_every_commit(self) -> None:
        """Each is what SQLite says it was, and no damaged database; so is each that was recorded along with others."""
        before = min(self.images) - 1
        for sequence, image in self.images.items():
            states = {}
            for number in sorted(set(range(before + 1, sequence + 1)) - self.only_in_base):
                states[number] = self.restored(number)
                assert is_sound(self.folder / "restored.db"), number
            assert alike(states.get(sequence) or self.restored(sequence), image), sequence
            left = iter([*([self.restored(before)] if before in self.lines else []), *states.values()])
            here = next(left)
            is_jump = not self.only_in_base.isdisjoint(range(before + 1, sequence))
            for step in self.between[sequence][-1:] if is_jump else self.between[sequence]:
                while not alike(here, step):
                    here = next(left)  # ends where a step led to a state that cannot be restored
            before = sequence


def is_sound(path: Path) -> bool:
    raw = open_raw(path, SETTINGS, writer=False)
    try:
        return bool(raw.execute("PRAGMA integrity_check").fetchone() == ("ok",))
    finally:
        raw.close()


steps = st.lists(st.tuples(st.sampled_from(VERBS + OURS), st.integers(0, 10_000)), min_size=1, max_size=25)


@settings(max_examples=6)
@given(steps)
@example([("advance", 0), ("insert", 0), ("base", 0)])
@example([("insert", 0), ("insert", 0), ("base", 0), ("again", 0)])
@example([("insert", 1), ("insert", 0), ("insert", 0), ("base", 0), ("purge", 0), ("again", 0)])
@example([("insert", 4240), ("renew", 1), ("savepoint", 2290), ("purge", 1553), ("base", 1)])
@example([("update", 2143), ("checkpoint", 9785), ("again", 2917), ("rollback", 2170), ("base", 1)])
def test_every_commit_is_restored_byte_for_byte(script: list[tuple[str, int]]) -> None:
    run_and_restore(script)


@pytest.mark.crash
@settings(max_examples=examples(150))
@given(steps)
def test_every_commit_of_many_more_scripts_is(script: list[tuple[str, int]]) -> None:
    run_and_restore(script)


def run_and_restore(script: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        logged = Logged(Path(folder))
        for verb, seed in script:
            logged.step(verb, seed)
            if seed % 3:  # else the next commits are recorded together
                logged.note()
        logged.note()
        assert not logged.follower.is_lost
        logged.check_every_commit()
        logged.end()
        logged.database.close()


async def test_every_step_of_the_migrations_is_restored(tmp_path: Path) -> None:
    logged = Logged(tmp_path)
    logged.database.writers[0].execute("DROP TABLE t")
    logged.note()
    db = Database(logged.database.path, SETTINGS)
    chain = load_migrations("vault")
    for number in range(1, len(chain) + 1):
        await migrate(db, "vault", chain[:number])
        if number % 2 == 0:
            logged.note()
    await db.run_on_writer(lambda raw: raw.execute("VACUUM"))
    logged.note()
    await db.close()
    logged.check_every_commit()
    assert max(logged.images) - min(logged.images) > len(chain)
    logged.end()
    logged.database.close()


class HeadOfBefore(LineHead):
    """As versions before wrote it."""

    after: dict[str, object]


def test_a_log_that_an_earlier_version_began_goes_on_and_is_restored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    after = {"line": "000001-00000000", "number": 3, "hash": "0" * 64}
    with monkeypatch.context() as before:
        before.setattr(lines, "LineHead", partial(HeadOfBefore, after=after))
        logged = Logged(tmp_path)
    for verb in ("again", "insert", "again", "insert"):
        logged.step(verb, 1)
        logged.note()
    assert logged.resumed
    assert [each.number for each in lines.read_lines(logged.store, VAULT)] == [1]
    logged.check_every_commit()
    logged.end()


def test_pages_that_keep_changing_are_written_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vaults.db.replayed_file.HELD_BYTES", 20_000)
    logged = Logged(tmp_path)
    for seed, verb in enumerate(["insert", "update", "vacuum", "delete", "shrink", "insert", "update"]):
        logged.step(verb, seed)
    logged.note()
    logged.check_every_commit()
    logged.end()
    logged.database.close()
