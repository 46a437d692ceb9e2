"""Covers auth.awake_clock."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from auth.access import load_access
from auth.access_cache import STALE_S, AccessCache
from auth.awake_clock import BEAT_S
from auth.grants import remove_grant, set_grant
from auth.keys import KeyRing
from auth.principal import LOCAL, Principal, local_names
from auth.roles import Role
from auth.tokens import TokenRequest, create_token, revoke_token
from tests.cluster.shared_control import same_control
from tests.work import PATIENCE_S
from vaults.cluster.control.postgres_control import PostgresControl
from vaults.db.connection import Database
from vaults.db.transactions import Transactions
from vaults.errors import VaultUnavailable
from vaults.settings import StorageSettings

ALICE = Principal("alice", LOCAL, local_names("alice"))


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def run(self, board: AccessCache, seconds: float) -> None:
        """Time passes on a loop that runs."""
        for _ in range(round(seconds / BEAT_S)):
            self.now += BEAT_S
            board._awake.beat()


@pytest.fixture
async def other_process(control: Transactions) -> AsyncIterator[Transactions]:
    """Connections of its own: to SQLite and PostgreSQL the same as another process."""
    if isinstance(control, PostgresControl):
        with same_control(control) as shared:
            yield shared
            await shared.close()
        return
    assert isinstance(control, Database)
    db = Database(control.path, StorageSettings())
    yield db
    await db.close()


async def test_before_the_first_look_nobody_is_let_in(control: Transactions) -> None:
    with pytest.raises(VaultUnavailable):
        _ = AccessCache(control).current


async def test_what_is_written_here_holds_when_the_write_returns(control: Transactions) -> None:
    board = AccessCache(control)
    await board.refresh()
    await board.write(lambda w: set_grant(w, "alice", LOCAL, "v1", Role.WRITER))
    assert board.current.role_in(ALICE, "v1") is Role.WRITER
    await board.write(lambda w: remove_grant(w, "alice", LOCAL, "v1"))
    assert board.current.role_in(ALICE, "v1") is None


async def test_a_write_of_this_process_past_the_board_is_noticed_too(control: Transactions) -> None:
    board = AccessCache(control)
    await board.refresh()
    await control.write(lambda w: set_grant(w, "alice", LOCAL, "v1", Role.WRITER))
    await board.refresh()
    assert board.current.role_in(ALICE, "v1") is Role.WRITER


async def test_the_poll_notices_what_another_process_wrote(control: Transactions, other_process: Transactions) -> None:
    looks = asyncio.Queue[None]()
    loop = asyncio.get_running_loop()
    board = AccessCache(control, poll_s=0.01, followers=[lambda: loop.call_soon_threadsafe(looks.put_nowait, None)])
    await board.start()
    try:
        await other_process.write(lambda w: set_grant(w, "alice", LOCAL, "v1", Role.WRITER))
        while not looks.empty():
            looks.get_nowait()
        for _ in range(3):  # the first may have begun before the write; the second is over when the third begins
            await asyncio.wait_for(looks.get(), PATIENCE_S)
        assert board.current.role_in(ALICE, "v1") is Role.WRITER
    finally:
        await board.close()


async def test_nothing_is_read_again_while_nothing_changed(control: Transactions, other_process: Transactions) -> None:
    board = AccessCache(control)
    first = await board.refresh()
    assert await board.refresh() is first
    await other_process.write(lambda w: set_grant(w, "alice", LOCAL, "v1", Role.WRITER))
    assert await board.refresh() is not first


async def test_when_control_db_cannot_be_read_everybody_is_refused_after_five_seconds(control: Transactions) -> None:
    clock = Clock()
    board = AccessCache(control, clock=clock)
    await board.refresh()
    await control.close()
    with pytest.raises(VaultUnavailable):
        await board.refresh()
    clock.run(board, STALE_S)
    assert board.current is not None
    clock.run(board, BEAT_S)
    with pytest.raises(VaultUnavailable):
        _ = board.current


async def test_a_loop_that_stood_still_makes_no_picture_stale(control: Transactions) -> None:
    clock = Clock()
    board = AccessCache(control, clock=clock)
    await board.refresh()
    clock.now += 600
    assert board.current is not None
    clock.run(board, STALE_S - 1)
    assert board.current is not None
    clock.run(board, 1)
    with pytest.raises(VaultUnavailable):
        _ = board.current


async def test_after_a_stall_a_request_first_looks_for_changes(
    control: Transactions, other_process: Transactions
) -> None:
    clock = Clock()
    board = AccessCache(control, clock=clock)
    await board.refresh()
    await other_process.write(lambda w: set_grant(w, "alice", LOCAL, "v1", Role.WRITER))
    await board.catch_up()
    assert board.current.role_in(ALICE, "v1") is None  # a poll is due in a moment
    clock.now += 600
    await board.catch_up()
    assert board.current.role_in(ALICE, "v1") is Role.WRITER


async def test_a_hung_database_is_not_waited_for_by_every_request(control: Transactions) -> None:
    clock = Clock()
    board = AccessCache(control, clock=clock)
    await board.refresh()
    clock.run(board, STALE_S + 1)
    async with board._one_at_a_time:  # as a poll whose read does not return
        await board.catch_up()
    with pytest.raises(VaultUnavailable):
        _ = board.current


async def test_the_clock_beats_while_the_board_is_started(control: Transactions) -> None:
    clock = Clock()
    board = AccessCache(control, clock=clock)
    await board.start()
    try:
        clock.now += BEAT_S
        before = board._awake._awake
        async with asyncio.timeout(20):
            for _ in range(100):
                await asyncio.sleep(BEAT_S / 10)
                if board._awake._awake > before:
                    break
        assert board._awake._awake > before
    finally:
        await board.close()


async def test_a_failing_poll_goes_on_trying(control: Transactions) -> None:
    failing, calls = [True], asyncio.Queue[None]()
    loop = asyncio.get_running_loop()

    def follow() -> None:
        loop.call_soon_threadsafe(calls.put_nowait, None)
        if failing[0]:
            raise OSError("disk")

    board = AccessCache(control, poll_s=0.01, followers=[follow])
    await board.start()
    try:
        for _ in range(2):
            await asyncio.wait_for(calls.get(), PATIENCE_S)
        assert isinstance(board.failure, OSError)
        failing[0] = False
        for _ in range(3):
            await asyncio.wait_for(calls.get(), PATIENCE_S)
        assert board.failure is None
    finally:
        await board.close()


async def test_closing_leaves_no_task_and_keeps_the_database_open(control: Transactions) -> None:
    board = AccessCache(control)
    await board.start()
    await board.close()
    await board.close()
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("access-cache")]
    await control.read(load_access)


async def test_revoked_and_long_expired_tokens_are_not_live(
    control: Transactions, ring: KeyRing, tmp_path: Path
) -> None:
    request = TokenRequest("alice", ("v1",), Role.READER, 3600)
    kept = await control.write(lambda w: create_token(w, ring, "i", request))
    gone = await control.write(lambda w: create_token(w, ring, "i", request))
    await control.write(lambda w: revoke_token(w, gone.id))
    await control.write(
        lambda w: w.run(
            "INSERT INTO tokens (id, subject, vaults, role, created_at, expires_at)"
            " VALUES ('old', 'alice', '[]', 'reader', '2020-01-01T00:00:00Z', '2020-01-02T00:00:00Z')"
        )
    )
    assert (await control.read(load_access)).live_tokens == {kept.id: frozenset({"v1"})}
