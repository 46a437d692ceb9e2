"""Whatever is done to a vault: restored at every entry of its log it is, byte for byte, what it was.

Covers vaults.cluster.page_log, vaults.cluster.restore, vaults.cluster.rebasing.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.vaults.cluster.logged_vault import SETTINGS, LoggedVault, Script
from tests.vaults.cluster.memory_log import VAULT
from tests.work import examples
from vaults.cluster import page_log
from vaults.cluster.failures import Fenced, LogUnavailable
from vaults.cluster.page_log import RENEW_FRAMES
from vaults.cluster.restore import restore
from vaults.db.connection import Database, open_raw
from vaults.db.engine import sqlite
from vaults.db.free_pages import compact
from vaults.db.migration import load_migrations, migrate
from vaults.db.page_digests import digest_page
from vaults.errors import VaultUnavailable

VERBS = (
    "group",
    "failing",
    "insert",
    "large",
    "update",
    "delete",
    "rollback",
    "savepoint",
    "schema",
    "shrink",
    "vacuum",
    "checkpoint",
    "purge",
    "rest",
    "reader",
    "base",
    "again",
    "elsewhere",
)

steps = st.lists(st.tuples(st.sampled_from(VERBS), st.integers(0, 10_000)), min_size=1, max_size=20)


@settings(max_examples=examples(24))
@given(steps)
@example([("insert", 1), ("vacuum", 0), ("delete", 4), ("base", 0), ("shrink", 7), ("again", 0), ("insert", 3)])
@example([("large", 1), ("large", 2), ("reader", 1), ("large", 3), ("elsewhere", 0), ("update", 1)])
@example([("insert", 3), ("insert", 4), ("vacuum", 0), ("insert", 5), ("savepoint", 1), ("shrink", 6), ("shrink", 7)])
def test_every_entry_is_restored_byte_for_byte(script: list[tuple[str, int]]) -> None:
    asyncio.run(run_and_restore(script))


@pytest.mark.crash
@settings(max_examples=examples(400))
@given(steps)
def test_every_entry_of_many_more_scripts_is(script: list[tuple[str, int]]) -> None:
    asyncio.run(run_and_restore(script))


async def run_and_restore(script: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        vault = LoggedVault(Path(folder))
        try:
            await vault.open()
            steps = Script(vault)
            await steps.begin()
            for verb, seed in script:
                await steps.run(verb, seed)
        finally:
            await vault.close()
        vault.check_every_entry()


async def opened(folder: Path) -> LoggedVault:
    vault = LoggedVault(folder)
    await vault.open()
    await Script(vault).begin()
    return vault


async def put(vault: LoggedVault, text: str = "x") -> None:
    await vault.db.write(lambda tx: tx.run("INSERT INTO t (w) VALUES (:text)", {"text": text}))


async def texts(vault: LoggedVault) -> list[str]:
    return [str(text) for (text,) in await vault.db.read(lambda tx: tx.all("SELECT w FROM t ORDER BY n"))]


async def test_nobody_is_answered_before_the_log_has_it(tmp_path: Path) -> None:
    vault = await opened(tmp_path)
    answered: list[int] = []
    seen: list[tuple[int, int]] = []
    keep = vault.log.on_append
    vault.log.on_append = lambda seq: (keep(seq), seen.append((seq, len(answered))))[0]
    writes = [asyncio.ensure_future(put(vault)) for _ in range(5)]
    for each in writes:
        each.add_done_callback(lambda _: answered.append(1))
    await asyncio.gather(*writes)
    assert len(answered) == 5
    assert seen[0][1] == 0
    await vault.close()


async def test_what_changes_nothing_is_not_appended(tmp_path: Path) -> None:
    vault = await opened(tmp_path)
    head = vault.log.held.head
    await vault.db.write_uncounted(lambda tx: tx.all("SELECT * FROM t"))
    await vault.db.write_uncounted(lambda tx: tx.run("DELETE FROM t WHERE n = 7"))
    await vault.db.checkpoint()
    with pytest.raises(ZeroDivisionError):
        await vault.db.write(lambda tx: (tx.run("INSERT INTO t (w) VALUES ('x')"), 1 // 0))
    assert vault.log.held.head == head
    await vault.close()


@pytest.mark.parametrize("what", ["is_away", "loses_answer"])
async def test_a_log_that_does_not_answer_ends_the_local_copy(tmp_path: Path, what: str) -> None:
    vault = await opened(tmp_path)
    await put(vault, "before")
    setattr(vault.log, what, True)
    with pytest.raises(LogUnavailable):
        await put(vault, "lost")
    setattr(vault.log, what, False)
    head = vault.log.held.head
    for _ in range(2):
        with pytest.raises(VaultUnavailable, match="opened anew"):
            await put(vault, "refused")
        with pytest.raises(VaultUnavailable, match="opened anew"):
            await vault.db.run_on_writer(lambda raw: raw.execute("DELETE FROM t"))
        with pytest.raises(VaultUnavailable, match="opened anew"):
            await vault.db.checkpoint()
    assert vault.log.held.head == head
    assert [type(each) for each in vault.lost] == [LogUnavailable]
    await vault.open_elsewhere()
    assert await texts(vault) == (["before"] if what == "is_away" else ["before", "lost"])
    await vault.close()


async def test_a_local_copy_that_is_ahead_of_the_log_is_not_opened(tmp_path: Path) -> None:
    vault = await opened(tmp_path)
    vault.log.is_away = True
    with pytest.raises(LogUnavailable):
        await put(vault, "lost")
    await vault.close()
    vault.log.is_away = False
    vault.lost.clear()
    with pytest.raises(VaultUnavailable, match="not what the vault's log ends with"):
        await vault.open()
    assert len(vault.lost) == 1
    await vault.db.close()
    await vault.open(anew=True)
    assert await texts(vault) == []
    await vault.close()


async def test_a_server_that_lost_the_vault_writes_nothing_more(tmp_path: Path) -> None:
    vault = await opened(tmp_path)
    before = vault.log.held.head
    vault.log.take_over("b")
    with pytest.raises(Fenced):
        await put(vault)
    assert vault.log.held.head == before
    assert [type(each) for each in vault.lost] == [Fenced]
    await vault.close()


async def test_a_migration_of_a_server_that_lost_the_vault_is_refused(tmp_path: Path) -> None:
    vault = LoggedVault(tmp_path)
    await vault.open()
    vault.log.take_over("b")
    with pytest.raises(Fenced):
        await migrate(vault.db, "vault")
    assert len(vault.lost) == 1
    await vault.close()


async def test_a_base_of_a_server_that_lost_the_vault_is_not_stored(tmp_path: Path) -> None:
    vault = await opened(tmp_path)
    bases = dict(vault.log.bases)
    vault.log.take_over("b")
    with pytest.raises(Fenced):
        await vault.rebase(is_due=True)
    assert vault.log.bases == bases
    assert [type(each) for each in vault.lost] == [Fenced]
    await vault.close()


async def test_a_base_that_could_not_be_stored_is_due_again(tmp_path: Path) -> None:
    vault = await opened(tmp_path)
    vault.log.is_away = True
    with pytest.raises(LogUnavailable):
        await vault.rebase(is_due=True)
    vault.log.is_away = False
    await put(vault)
    assert await vault.rebase()
    assert not await vault.rebase()
    assert max(vault.log.bases) == vault.log.held.head
    await vault.close()
    vault.check_every_entry()


async def test_a_base_is_due_after_a_quarter_of_the_last_one_and_a_megabyte(tmp_path: Path) -> None:
    vault = await opened(tmp_path)
    await vault.db.write(lambda tx: tx.run("CREATE TABLE u (w BLOB)"))
    noise = "SELECT randomblob(:size)"
    for bases, size in ((1, 900_000), (2, 200_000), (2, 900_000), (3, 5_000_000), (3, 1_200_000), (4, 1_200_000)):
        await vault.db.write(lambda tx, size=size: tx.run(f"INSERT INTO u {noise}", {"size": size}))
        await vault.rebase()
        assert len(vault.log.bases) == bases, size
    await vault.close()
    await vault.open()
    assert not vault.pages.is_rebase_due
    await vault.close()


async def test_what_was_purged_is_in_no_entry_once_a_base_took_their_place(tmp_path: Path) -> None:
    vault = await opened(tmp_path)
    secret = "the blue safe holds the key"
    await put(vault, secret)
    assert not await vault.rebase()
    await vault.db.write(lambda tx: tx.run("DELETE FROM t"))
    await vault.db.checkpoint()
    assert await vault.rebase()
    assert not await vault.rebase()
    assert max(vault.log.bases) == vault.log.held.head
    await vault.close()
    assert secret.encode() not in vault.restored(vault.log.held.head)


async def test_what_is_appended_while_a_base_is_made_counts_for_the_next(tmp_path: Path) -> None:
    vault = await opened(tmp_path)
    source = await vault.db.run_on_writer(vault.pages.freeze)
    await put(vault, "y" * 3000)
    await vault.db.checkpoint()
    vault.pages.store_base(source)
    assert vault.pages.is_rebase_due
    assert await vault.rebase()
    assert not vault.pages.is_rebase_due
    await vault.close()


async def test_a_bug_while_packing_ends_the_local_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = await opened(tmp_path)
    with monkeypatch.context() as broken:
        broken.setattr("vaults.db.page_changes.digest_page", lambda number, data: 1 // 0)
        with pytest.raises(VaultUnavailable, match="could not be logged"):
            await put(vault)
    with pytest.raises(VaultUnavailable, match="opened anew"):
        await put(vault)
    assert len(vault.lost) == 1
    await vault.open_elsewhere()
    await vault.close()


async def test_a_page_that_is_not_what_was_logged_is_stored_whole(tmp_path: Path) -> None:
    """As where another process that must not be there moved a later one into the file."""
    vault = await opened(tmp_path)
    await put(vault, "y" * 3000)
    tail = vault.pages._require_tail()
    real = tail.page

    def later(number: int) -> bytes | None:
        data = real(number)
        return data and data[:-1] + b"?"

    vault.pages._require_changes()._recent.clear()
    tail.page = later  # type: ignore[method-assign]
    await put(vault)
    await vault.close()
    vault.check_every_entry()


@pytest.mark.parametrize("size", [512, 65536])
async def test_pages_of_every_size_are_logged(tmp_path: Path, size: int) -> None:
    raw = sqlite.connect(tmp_path / "v.db", isolation_level=None)
    raw.execute(f"PRAGMA page_size={size}")
    raw.execute("PRAGMA auto_vacuum=INCREMENTAL")
    raw.execute("CREATE TABLE before (w)")
    raw.close()
    vault = await opened(tmp_path)
    steps = Script(vault)
    for seed, verb in enumerate(["insert", "insert", "update", "vacuum", "delete", "shrink", "base", "insert"]):
        await steps.run(verb, seed)
    await vault.close()
    assert len(vault.image(vault.log.held.head)) % size == 0
    vault.check_every_entry()


async def test_pages_that_sqlite_does_not_write_are_zeros(tmp_path: Path) -> None:
    """Without secure_delete it leaves out what was taken and freed in one transaction."""
    vault = await opened(tmp_path)

    def leave_out(raw: sqlite.Connection) -> None:
        raw.execute("PRAGMA secure_delete=OFF").fetchall()
        raw.execute("PRAGMA cache_size=-20000")
        raw.execute("BEGIN IMMEDIATE")
        raw.execute("CREATE TABLE gone (w)")
        raw.execute("INSERT INTO gone VALUES (randomblob(200000))")
        raw.execute("CREATE TABLE stays (w)")
        raw.execute("INSERT INTO stays VALUES (randomblob(9000))")
        raw.execute("DROP TABLE gone")
        raw.execute("COMMIT")

    await vault.db.run_on_writer(leave_out)
    await put(vault)
    await vault.close()
    vault.restored(vault.log.held.head)
    sound = open_raw(tmp_path / "restored.db", SETTINGS, writer=False)
    assert sound.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert sound.execute("SELECT length(w) FROM stays").fetchone() == (9000,)
    sound.close()


async def test_every_step_of_the_migrations_is_restored(tmp_path: Path) -> None:
    vault = LoggedVault(tmp_path)
    await vault.open()
    chain = load_migrations("vault")
    for number in range(1, len(chain) // 2):
        await migrate(vault.db, "vault", chain[:number])
    one_by_one = vault.log.held.head
    await migrate(vault.db, "vault")  # the others at once
    at_once = vault.log.held.head
    assert at_once == len(chain)
    await compact(vault.db)
    await vault.close()
    assert vault.log.held.head == at_once + 2  # the mode of giving pages back is a commit of its own
    for seq in (*range(one_by_one + 1, at_once), at_once + 1):
        del vault.states[seq]  # the next was committed, too, when this one was appended
    vault.check_every_entry()


async def test_sqlites_log_is_let_start_over(tmp_path: Path) -> None:
    vault = await opened(tmp_path)
    vault.log.on_append = lambda seq: None
    wal = tmp_path / "v.db-wal"
    most = 2 * RENEW_FRAMES * 4096

    async def put_many() -> int:
        sizes = []
        for number in range(25):
            await put(vault, str(number) * 200_000)
            sizes.append(wal.stat().st_size)
        return max(sizes)

    assert await put_many() < most
    vault.hold_reader()
    assert await put_many() > most
    vault.let_readers_go()
    await vault.db.checkpoint()
    assert wal.stat().st_size == 0
    vault.log.on_append = vault.keep
    assert await put_many() < most
    await vault.close()
    assert vault.restored(vault.log.held.head) == vault.image(vault.log.held.head)


async def test_what_was_restored_is_not_read_again_unless_somebody_wrote_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = await opened(tmp_path)
    await vault.open_elsewhere()
    read: list[int] = []

    def digest_noted(number: int, data: bytes) -> bytes:
        read.append(number)
        return digest_page(number, data)

    monkeypatch.setattr(page_log, "digest_page", digest_noted)
    await vault.open_elsewhere()
    assert not read
    await put(vault, "y")
    assert await texts(vault) == ["y"]
    await vault.close()
    vault.log.take_over("c")
    start = restore(vault.log, VAULT, vault.path, vault.log.held.head)
    assert start is not None
    with vault.path.open("r+b") as file:
        file.seek(-4, os.SEEK_END)
        file.write(b"else")
    vault.pages = vault.page_log(start)
    vault.db = Database(vault.path, SETTINGS, log=vault.pages)
    vault.databases.append(vault.db)
    with pytest.raises(VaultUnavailable, match="not what"):
        await texts(vault)
    assert read
    vault.lost.clear()


async def test_what_was_not_restored_to_the_head_is_refused(tmp_path: Path) -> None:
    vault = await opened(tmp_path)
    await vault.close()
    with pytest.raises(ValueError, match=f"not entry {vault.log.held.head}"):
        vault.page_log(None)
    older = restore(vault.log.as_of(1), VAULT, tmp_path / "r.db", 1)
    with pytest.raises(ValueError, match=f"not entry {vault.log.held.head}"):
        vault.page_log(older)
