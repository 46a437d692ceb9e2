"""A standby copy becomes the vault only where it is what the log says; whatever is wrong with it costs a restore.

Covers vaults.cluster.local_copies, vaults.cluster.log_replay, vaults.cluster.standby_copies.
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.vaults.cluster.logged_vault import LoggedVault, Script
from tests.vaults.cluster.memory_log import VAULT, MemoryLog, RebasedLog
from tests.work import PATIENCE_S, examples
from vaults.cluster import standby_copies
from vaults.cluster.failures import LogUnavailable
from vaults.cluster.local_copies import LaidOut, lay_out
from vaults.cluster.log_replay import ReplayedCopy, bring_up
from vaults.cluster.postgres.large_vaults import LargeVault
from vaults.cluster.standby_copies import StandbyCopies
from vaults.errors import VaultUnavailable

ON_VAULT = ("insert", "update", "delete", "large", "shrink", "vacuum", "rollback", "group", "purge", "base", "again")
ON_COPY = ("look", "look", "take")
steps = st.lists(st.tuples(st.sampled_from(ON_VAULT + ON_COPY), st.integers(0, 10_000)), min_size=2, max_size=24)


class Watched:
    """A vault with one server, and its standby copies with another one, which looks in a round."""

    def __init__(self, folder: Path) -> None:
        self.vault = LoggedVault(folder / "live")
        self.vault.folder.mkdir()
        self.folder = folder
        self.copies = StandbyCopies(folder / "standby")

    @property
    def large(self) -> LargeVault:
        log = self.vault.log
        return LargeVault(VAULT, log.held.server, None, log.held.head, max(log.bases, default=0), 1)

    def look(self) -> bool:
        """Whether there was a copy, and it is up now."""
        self.copies.begin_round()
        source = RebasedLog(self.vault.log)
        return self.copies.bring_up(source, self.large) or not self.copies.make(source, self.large)

    def copy(self) -> bytes:
        return (self.copies.folder / f"{VAULT}.db").read_bytes()

    def lay_out(self, log: MemoryLog | None = None) -> LaidOut:
        """As the server does that keeps the copies and takes the vault."""
        log = log or self.vault.log
        return lay_out(log, log.held, self.folder / "taken" / "v.db", self.copies.claim(VAULT))

    @property
    def taken(self) -> bytes:
        return (self.folder / "taken" / "v.db").read_bytes()

    async def take(self) -> str:
        """The files it was taken with. The vault goes on from there, with the other server."""
        await self.vault.close()
        self.vault.log.take_over("b")
        laid_out = lay_out(self.vault.log, self.vault.log.held, self.vault.path, self.copies.claim(VAULT))
        assert self.vault.path.read_bytes() == self.vault.restored(self.vault.log.held.head)
        assert laid_out.start is not None
        assert (laid_out.start.base_bytes, laid_out.start.log_bytes) == self.vault.log.sizes(VAULT)
        await self.vault.open_as(laid_out.start)
        return laid_out.files


async def watched(folder: Path, *script: tuple[str, int]) -> tuple[Watched, Script]:
    there = Watched(folder)
    await there.vault.open()
    run = Script(there.vault)
    await run.begin()
    for verb, seed in script:
        await run.run(verb, seed)
    return there, run


@settings(max_examples=examples(24))
@given(steps)
@example([("look", 0), ("insert", 1), ("base", 0), ("insert", 2), ("look", 0), ("vacuum", 3), ("take", 0), ("look", 0)])
@example([("large", 1), ("look", 0), ("shrink", 7), ("look", 0), ("insert", 2), ("take", 0), ("insert", 3)])
def test_a_vault_that_is_taken_with_a_copy_is_the_vault(script: list[tuple[str, int]]) -> None:
    asyncio.run(run_and_take(script))


async def run_and_take(script: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        there, run = await watched(Path(folder), ("insert", 1))
        try:
            for verb, seed in script:
                if verb == "look":
                    there.look()
                    assert there.copy() == there.vault.restored(there.large.head)
                elif verb == "take":
                    had = there.copies.state().copies
                    assert await there.take() == "standby" or not had or there.large.base_seq
                else:
                    await run.run(verb, seed)
            there.look()
            await there.take()
        finally:
            await there.vault.close()
        there.vault.check_every_entry()


async def test_a_copy_goes_on_from_entry_to_entry_and_is_taken_without_the_base(tmp_path: Path) -> None:
    there, run = await watched(tmp_path, ("insert", 1))
    assert not there.look()
    await run.run("insert", 2)
    assert there.look()
    assert there.copy() == there.vault.restored(there.large.head)
    await run.run("insert", 3)
    base = there.vault.log.bases.pop(0)
    assert there.lay_out().files == "standby"
    there.vault.log.bases[0] = base
    assert there.taken == there.vault.restored(there.large.head)
    assert not list(there.copies.folder.iterdir())


async def test_a_copy_whose_next_entries_are_gone_is_made_anew(tmp_path: Path) -> None:
    there, run = await watched(tmp_path, ("insert", 1))
    there.look()
    await run.run("insert", 2)
    await run.run("base", 0)
    assert not there.copies.bring_up(RebasedLog(there.vault.log), there.large)
    assert there.copies.make(RebasedLog(there.vault.log), there.large)
    assert there.lay_out().files == "standby"


async def test_a_flipped_bit_where_an_entry_changes_something_drops_the_copy(tmp_path: Path) -> None:
    there, run = await watched(tmp_path, ("insert", 1))
    there.look()
    for page in range(there.copies.state().size // 4096):
        flip(there.copies.folder / f"{VAULT}.db", page * 4096 + 2000)
    await run.run("insert", 2)
    assert there.lay_out().files == "restored"
    assert there.taken == there.vault.restored(there.large.head)


async def test_a_flipped_bit_that_no_entry_touches_is_never_served(tmp_path: Path) -> None:
    there, _ = await watched(tmp_path, ("insert", 1))
    await there.vault.close()
    there.look()
    flip(there.copies.folder / f"{VAULT}.db")
    laid_out = lay_out(there.vault.log, there.vault.log.take_over("b"), there.vault.path, there.copies.claim(VAULT))
    assert laid_out.files == "standby"
    there.vault.connect(laid_out.start)
    with pytest.raises(VaultUnavailable, match="not what the vault's log ends with"):
        await there.vault.db.read(lambda tx: tx.one("SELECT 1"))
    assert there.vault.lost
    await there.vault.close()
    assert lay_out(there.vault.log, there.vault.log.held, there.vault.path, there.copies.claim(VAULT)).files == (
        "restored"
    )


def flip(path: Path, at: int = 2000) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("writes", [0, 1, 2])
async def test_a_copy_of_a_log_that_went_another_way_is_not_used(tmp_path: Path, writes: int) -> None:
    there, run = await watched(tmp_path, ("insert", 1))
    before = there.vault.log.as_of(there.large.head)
    await run.run("insert", 2)
    there.look()
    await there.vault.close()
    there.vault.log.stored, there.vault.log.held = before.stored, before.held  # the database was put back in time
    await there.vault.open_elsewhere()
    for seed in range(writes):
        await run.run("insert", 10 + seed)
    await there.vault.close()
    there.vault.states.clear()
    assert there.lay_out().files == "restored"
    assert there.taken == there.vault.restored(there.large.head)


async def test_the_copy_of_another_vault_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    one, _ = await watched(tmp_path / "one", ("insert", 1))
    other, _ = await watched(tmp_path / "other", ("insert", 2))
    one.look()
    other.look()
    log = one.vault.log
    assert one.large.head == other.large.head
    assert lay_out(log, log.held, tmp_path / "taken" / "v.db", other.copies.claim(VAULT)).files == "restored"


async def test_a_database_that_is_away_costs_no_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there, run = await watched(tmp_path, ("insert", 1))
    there.look()
    await run.run("insert", 2)

    def refuse(self: MemoryLog, vault: str, after: int) -> None:
        raise LogUnavailable

    with monkeypatch.context() as patched:
        patched.setattr(MemoryLog, "entries", refuse)
        there.copies.bring_up(there.vault.log, there.large)
    assert there.look()
    assert there.copy() == there.vault.restored(there.large.head)


async def test_a_copy_that_is_being_made_is_given_up_once_its_vault_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, _ = await watched(tmp_path, ("insert", 1))
    build = standby_copies.build_copy

    def claimed_meanwhile(*arguments: object) -> ReplayedCopy | None:
        assert there.copies.claim(VAULT) is None
        return build(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(standby_copies, "build_copy", claimed_meanwhile)
    there.copies.begin_round()
    assert not there.copies.make(there.vault.log, there.large)
    assert there.copies.state().copies == 0
    assert not list(there.copies.folder.iterdir())


async def test_who_takes_a_vault_waits_for_its_copy_to_be_brought_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, run = await watched(tmp_path, ("insert", 1))
    there.look()
    await run.run("insert", 2)
    claimed: list[ReplayedCopy | None] = []
    claiming = threading.Thread(target=lambda: claimed.append(there.copies.claim(VAULT)))

    def slowly(*arguments: object) -> ReplayedCopy:
        claiming.start()
        claiming.join(0.05)
        assert not claimed
        return bring_up(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(standby_copies, "bring_up", slowly)
    assert there.copies.bring_up(there.vault.log, there.large)
    claiming.join(PATIENCE_S)
    assert [copy and copy.log.head.seq for copy in claimed] == [there.large.head]
    assert there.copies.state().copies == 0


async def test_what_is_not_wanted_any_more_is_removed(tmp_path: Path) -> None:
    there, _ = await watched(tmp_path, ("insert", 1))
    there.look()
    assert there.copies.state().size == len(there.copy())
    there.copies.drop_all_but([VAULT])
    assert there.copies.state().copies == 1
    there.copies.drop_all_but([])
    assert there.copies.state().copies == 0
    assert not list(there.copies.folder.iterdir())


async def test_a_damaged_base_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there, _ = await watched(tmp_path, ("insert", 1))
    there.vault.log.bases[0][-1] = b"damaged"
    reads: list[str] = []
    base = MemoryLog.base
    monkeypatch.setattr(MemoryLog, "base", lambda self, vault: (reads.append(vault), base(self, vault))[1])
    for _ in range(3):
        assert not there.copies.make(there.vault.log, there.large)
    assert len(reads) == 1
    assert not there.copies.make(there.vault.log, replace(there.large, base_seq=1))
    assert len(reads) == 2
    assert not list(there.copies.folder.iterdir())
