"""Changes are recorded before they are answered; what cannot be recorded is refused before it is done.

Covers ops.audit.audit_log, ops.audit.chain, ops.audit.chain_files, ops.audit.chain_rows, ops.audit.chain_store,
ops.audit.entries, ops.audit.open_chains, ops.audit.retention.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ops.audit import chain_rows, retention, signing
from ops.audit.audit_log import AuditLog
from ops.audit.chain_files import ChainFiles, file_of
from ops.audit.content_hashes import HashKey
from ops.audit.entries import AuditActor, AuditEntry, EntryText, to_body, to_text
from ops.audit.links import INSTALLATION
from ops.audit.open_chains import OpenChains
from ops.audit.searching import AuditQuery, search
from ops.audit.statements import ChainHead
from ops.audit.verification import verify
from ops.settings import AuditSettings
from tests.ops.audit.chains import VAULT, FullDisk, entry, opened, tamper, written
from tests.work import PATIENCE_S
from vaults.db.engine import sqlite
from vaults.db.sql import Writer
from vaults.errors import AuditUnavailable, ChangeNotAudited, NotFound, ReadOnly, VaultUnavailable
from vaults.settings import StorageSettings


async def bodies(data: Path, chain: str = VAULT) -> list[dict]:
    async with opened(data) as log:
        found = await log.chain(chain).read(lambda tx: tx.all("SELECT body FROM entries ORDER BY seq"))
    return [json.loads(body) for (body,) in found]


async def test_entries_are_numbered_whoever_writes_them(tmp_path: Path) -> None:
    async with opened(tmp_path) as one, opened(tmp_path) as two:
        await asyncio.gather(*(log.append(VAULT, entry(n)) for n in range(20) for log in (one, two)))
    assert [each["seq"] for each in await bodies(tmp_path)] == list(range(1, 41))
    async with opened(tmp_path) as log:
        assert all(each.ok for each in await verify(log))


async def test_files_are_private(tmp_path: Path) -> None:
    await written(tmp_path, 1)
    assert stat.S_IMODE(file_of(tmp_path, VAULT).stat().st_mode) == 0o600
    assert stat.S_IMODE(file_of(tmp_path, VAULT).parent.stat().st_mode) == 0o700


async def test_an_entry_is_never_changed_by_the_server_itself(tmp_path: Path) -> None:
    await written(tmp_path, 1)
    async with opened(tmp_path) as log:
        with pytest.raises(sqlite.IntegrityError, match="never changed"):
            await log.chain(VAULT).write(lambda tx: tx.run("UPDATE entries SET body = '{}'"))


def test_a_body_leaves_out_what_is_empty_and_bounds_names() -> None:
    said = json.loads(
        to_body(7, to_text(AuditEntry("call", "tasks", "ok", actor=AuditActor("s" * 1000, "local")), HashKey(b"k")))
    )
    assert said.pop("at")
    assert said == {"seq": 7, "kind": "call", "subject": "s" * 255, "issuer": "local", "tool": "tasks", "outcome": "ok"}


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> FullDisk:
    return FullDisk(monkeypatch)


async def test_a_change_is_refused_before_it_is_made_and_goes_on_by_itself(tmp_path: Path, disk: FullDisk) -> None:
    failing: list[int] = []
    async with opened(tmp_path) as log:
        log._on_failing = failing.append
        await log.require_writable(VAULT)
        disk.on = True
        with pytest.raises(ChangeNotAudited) as unrecorded:
            await log.append(VAULT, entry(1))
        assert (unrecorded.value.code, unrecorded.value.retryable) == ("audit_unavailable", False)
        assert unrecorded.value.details["done"] is True
        with pytest.raises(AuditUnavailable) as refused:
            await log.require_writable(VAULT)
        assert refused.value.retryable
        assert (log.failing, failing[-1]) == ((VAULT,), 1)
        disk.on = False
        await log.require_writable(VAULT)
        assert (log.failing, failing[-1]) == ((), 0)
        await log.append(VAULT, entry(2))
    # What was done while nothing could be written stands in it now.
    assert [each["targets"] for each in await bodies(tmp_path)] == [["id-1"], ["id-2"]]


async def test_the_first_change_of_a_process_is_refused_as_well(tmp_path: Path, disk: FullDisk) -> None:
    disk.on = True
    async with opened(tmp_path) as log:
        with pytest.raises(AuditUnavailable):
            await log.require_writable(VAULT)
    assert await bodies(tmp_path) == []


async def test_room_kept_for_a_full_disk_is_given_up_for_what_was_done(tmp_path: Path, disk: FullDisk) -> None:
    async with opened(tmp_path) as log:
        await log.require_writable(VAULT)
        disk.on = True
        log.chain(VAULT)._make_room = lambda: setattr(disk, "on", False)
        await log.append(VAULT, entry(1))
        disk.on = True
        log.chain(VAULT)._make_room = pytest.fail
        await log.try_append(VAULT, entry(2))  # what did not succeed is not worth it
        disk.on = False
    assert len(await bodies(tmp_path)) == 1


async def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "no", str(path))

    async with opened(tmp_path) as log:
        monkeypatch.setattr("ops.audit.chain_files.make_private_folder", refuse)
        with pytest.raises(ReadOnly):
            await log.require_writable(VAULT)


async def test_a_file_of_a_newer_version_is_refused_by_name(tmp_path: Path) -> None:
    await written(tmp_path, 1)
    tamper(
        tmp_path,
        lambda raw: raw.execute("INSERT INTO schema_steps SELECT 99, folder, name, applied_at FROM schema_steps"),
    )
    async with opened(tmp_path) as log:
        with pytest.raises(AuditUnavailable) as refused:
            await log.require_writable(VAULT)
    assert refused.value.details["reason"] == "future"
    assert "newer" in str(refused.value.hint)


async def test_a_file_that_lost_its_name_takes_no_more_entries(tmp_path: Path) -> None:
    async with opened(tmp_path) as log:
        await log.append(VAULT, entry(1))
        await log.sign()
        file_of(tmp_path, VAULT).unlink()
        await log.require_writable(VAULT)
        await log.append(VAULT, entry(2))
        assert file_of(tmp_path, VAULT).exists()
        (report,) = [each for each in await verify(log) if each.chain == VAULT]
        assert not report.ok


async def test_an_act_is_recorded_however_it_ends(tmp_path: Path) -> None:
    async with opened(tmp_path) as log:
        async with log.acting(AuditEntry("act", "grant", "ok", action="set", details={"role": "admin"})):
            pass
        with pytest.raises(NotFound):
            async with log.acting(AuditEntry("act", "token", "ok", action="revoke")):
                raise NotFound("no such token")
    acts = [each for each in await bodies(tmp_path, INSTALLATION) if each["kind"] == "act"]
    assert [(each["tool"], each["action"], each["outcome"]) for each in acts] == [
        ("grant", "set", "ok"),
        ("token", "revoke", "not_found"),
    ]


async def test_what_a_caller_left_behind_is_recorded_before_the_end(tmp_path: Path) -> None:
    async with opened(tmp_path) as log:
        log.begin(log.append_or_owe(VAULT, entry(1)))
    assert len(await bodies(tmp_path)) == 1


async def test_many_entries_are_signed_sooner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ops.audit.audit_log.SIGN_AFTER", 3)
    signed = asyncio.Event()
    async with opened(tmp_path) as log:
        sign = log.sign

        async def sign_and_tell() -> None:
            await sign()
            signed.set()

        log.sign = sign_and_tell  # type: ignore[method-assign]
        for n in range(3):
            await log.append(VAULT, entry(n))
        await asyncio.wait_for(signed.wait(), PATIENCE_S)
        (report,) = await verify(log, [VAULT])
        assert report.signed == 3


async def test_old_entries_go_up_to_a_signature_and_the_rest_is_still_checked(tmp_path: Path) -> None:
    async with opened(tmp_path, AuditSettings(keep="30d")) as log:
        for n in range(1, 5):
            await log.append(VAULT, entry(n, at="2020-01-01T00:00:00.000Z"))
        await log.sign()
        await log.append(VAULT, entry(5, at="2020-01-02T00:00:00.000Z"))  # old too, and not signed yet
        await log.append(VAULT, entry(6))
        while await log.chain(VAULT).write(chain_rows.index_more):  # not ``settle``: it has the upkeep sign and prune
            pass
        assert await log.prune() == 4
        await log.sign()
        (report,) = [each for each in await verify(log) if each.chain == VAULT]
        assert (report.ok, report.first, report.last, report.entries) == (True, 5, 6, 2)
        found = await search(log, VAULT, AuditQuery(subject="ana"))
        assert [each.seq for each in found] == [6, 5]
        assert await search(log, VAULT, AuditQuery(before=3)) == []  # it is gone, and so is what was before it
        assert await log.chain(VAULT).read(lambda tx: tx.value("SELECT COUNT(*) FROM entry_subjects")) == 2


async def test_nothing_goes_unless_it_is_asked_for(tmp_path: Path) -> None:
    async with opened(tmp_path) as log:
        await log.append(VAULT, entry(1, at="2000-01-01T00:00:00.000Z"))
        await log.sign()
        assert await log.prune() == 0


async def test_a_chain_of_which_everything_went_goes_on_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "STEP", 2)
    async with opened(tmp_path, AuditSettings(keep="30d")) as log:
        for n in range(1, 6):
            await log.append(VAULT, entry(n, at="2020-01-01T00:00:00.000Z"))
        await log.sign()
        assert await log.prune() == 5
        await log.append(VAULT, entry(6))
        (report,) = [each for each in await verify(log) if each.chain == VAULT]
        assert (report.ok, report.first, report.last) == (True, 6, 6)


def _cut_more(raw: sqlite3.Connection) -> None:
    raw.execute("DELETE FROM entries WHERE seq = 4")


def _move_the_anchor(raw: sqlite3.Connection) -> None:
    raw.execute("UPDATE anchors SET statement = replace(statement, '\"seq\":3', '\"seq\":4'), seq = 4")
    _cut_more(raw)


@pytest.mark.parametrize(
    ("cut", "fault"), [(_cut_more, (4, "removed")), (_move_the_anchor, (4, "forged_signature"))], ids=["cut", "moved"]
)
async def test_a_beginning_that_somebody_else_cut_off_has_no_anchor(
    tmp_path: Path, cut: Callable[[sqlite3.Connection], None], fault: tuple[int, str]
) -> None:
    async with opened(tmp_path, AuditSettings(keep="30d")) as log:
        for n in range(1, 4):
            await log.append(VAULT, entry(n, at="2020-01-01T00:00:00.000Z"))
        await log.sign()
        await log.append(VAULT, entry(4))
        await log.append(VAULT, entry(5))
        await log.prune()
    tamper(tmp_path, cut)
    async with opened(tmp_path) as log:
        (report,) = [each for each in await verify(log) if each.chain == VAULT]
    assert fault in [(each.seq, each.kind) for each in report.faults]


async def test_entries_of_vaults_that_nobody_uses_go_as_well(tmp_path: Path) -> None:
    async with opened(tmp_path) as log:
        await log.append(VAULT, entry(1, at="2020-01-01T00:00:00.000Z"))
    async with opened(tmp_path, AuditSettings(keep="30d")) as later:
        assert await later.prune() == 1


async def test_a_clock_that_was_set_back_makes_nothing_go_that_came_after_what_stays(tmp_path: Path) -> None:
    async with opened(tmp_path, AuditSettings(keep="30d")) as log:
        await log.append(VAULT, entry(1, at="2020-01-01T00:00:00.000Z"))
        await log.sign()
        await log.append(VAULT, entry(2))
        await log.append(VAULT, entry(3, at="2019-01-01T00:00:00.000Z"))  # the clock was set back, and is right again
        await log.sign()
        await log.append(VAULT, entry(4))
        await log.sign()
        assert await log.prune() == 1
        found = await search(log, VAULT, AuditQuery(subject="ana"))
        assert [each.seq for each in found] == [4, 2, 3]
        (report,) = [each for each in await verify(log) if each.chain == VAULT]
        assert report.ok


async def test_chains_over_the_number_of_open_vaults_let_go_of_their_files_and_go_on(tmp_path: Path) -> None:
    names = [f"01990000-0000-7000-8000-{n:012}" for n in range(6)]
    log = AuditLog(tmp_path, AuditSettings(), StorageSettings(reserve_mb=0, open_vaults=2))
    for _ in range(2):
        for name in names:
            await log.append(name, entry(1))
    held = {each.resolve().name for each in Path("/proc/self/fd").iterdir()}
    assert {name for name in names if f"{name}.db" in held} == set(names[-2:])
    await log.close()
    async with opened(tmp_path) as again:
        reports = await verify(again, names)
        assert [(each.ok, each.entries, each.signed) for each in reports] == [(True, 2, 2)] * len(names)


async def test_a_chain_nobody_used_for_a_round_lets_go_of_its_file(tmp_path: Path) -> None:
    settings = StorageSettings(reserve_mb=0)
    chains = OpenChains(tmp_path, ChainFiles(tmp_path, settings), settings, lambda: None)
    await chains.get(VAULT).append(entry(1))
    assert chains.list_idle() == ()
    await chains.rest(())
    assert chains.list_idle() == (VAULT,)
    await chains.rest((VAULT,))
    assert f"{VAULT}.db" not in {each.resolve().name for each in Path("/proc/self/fd").iterdir()}
    assert chains.get(VAULT).unsigned == 1
    await chains.get(VAULT).append(entry(2))
    assert (await chains.get(VAULT).head()).seq == 2
    await chains.close()


async def test_files_are_let_go_of_long_before_there_is_something_to_sign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ops.audit.audit_log.REST_AFTER_S", 0.01)
    async with opened(tmp_path) as log, asyncio.timeout(PATIENCE_S):
        await log.append(VAULT, entry(1))
        while True:
            if f"{VAULT}.db" not in {each.resolve().name for each in Path("/proc/self/fd").iterdir()}:
                break
            await asyncio.sleep(0.005)
        assert log.chain(VAULT).unsigned == 1
        await log.append(VAULT, entry(2))
        assert (await log.chain(VAULT).head()).seq == 2


async def test_entries_that_come_together_share_a_transaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(tmp_path) as log:
        await log.require_writable(VAULT)
        write, written_together = chain_rows.append, []

        def count(tx: Writer, chain: str, entries: Sequence[EntryText]) -> ChainHead:
            written_together.append(len(entries))
            return write(tx, chain, entries)

        monkeypatch.setattr(chain_rows, "append", count)
        await asyncio.gather(*(log.append(VAULT, entry(n)) for n in range(50)))
        monkeypatch.undo()
    assert written_together[0] == 50


async def test_an_entry_is_owed_though_its_caller_is_gone(tmp_path: Path, disk: FullDisk) -> None:
    async with opened(tmp_path) as log:
        await log.require_writable(VAULT)
        disk.on = True
        calling = asyncio.create_task(log.append(VAULT, entry(1)))
        await asyncio.sleep(0)
        calling.cancel()
        await asyncio.wait({calling})
        await log.chain(VAULT).close()
        assert log.failing == (VAULT,)
        disk.on = False
    assert len(await bodies(tmp_path)) == 1  # written when it was closed, at the latest


async def test_what_was_owed_meanwhile_is_not_forgotten(tmp_path: Path, disk: FullDisk) -> None:
    async with opened(tmp_path) as log:
        await log.require_writable(VAULT)
        chain, disk.on = log.chain(VAULT), True
        await log.append_or_owe(VAULT, entry(1))
        disk.on = False
        write = chain._write_with_room

        async def write_while_another_fails(work: Any) -> Any:
            chain._owe([entry(2)])
            return await write(work)

        chain._write_with_room = write_while_another_fails  # type: ignore[method-assign]
        await log.require_writable(VAULT)
        assert log.failing == (VAULT,)
        chain._write_with_room = write  # type: ignore[method-assign]
    assert [each["targets"] for each in await bodies(tmp_path)] == [["id-1"], ["id-2"]]


async def test_a_file_that_is_damaged_keeps_no_other_from_being_signed(tmp_path: Path) -> None:
    other = VAULT[:-1] + "2"
    async with opened(tmp_path) as log:
        for name in (VAULT, other):
            await log.append(name, entry(1))
        await log.chain(VAULT).close()
        file_of(tmp_path, VAULT).write_bytes(b"no database at all" * 1000)
        await log.sign()
        (report,) = await verify(log, [other])
        assert report.signed == 1


async def test_a_server_signs_what_one_that_was_killed_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(tmp_path) as killed:
        await killed.append(VAULT, entry(1))
        killed.chain(VAULT).unsigned = 0  # it never gets to sign it
        signed = asyncio.Event()
        async with opened(tmp_path) as log:
            sign = log.sign

            async def sign_and_tell() -> None:
                await sign()
                signed.set()

            log.sign = sign_and_tell  # type: ignore[method-assign]
            log.start()
            await asyncio.wait_for(signed.wait(), PATIENCE_S)
            (report,) = await verify(log, [VAULT])
            assert report.signed == 1


async def test_where_a_vault_stood_is_told_later_if_it_could_not_be_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> None:
        raise VaultUnavailable("busy")

    async with opened(tmp_path) as log:
        for n in (1, 2):
            await log.append(VAULT, entry(n))
        with monkeypatch.context() as patched:
            patched.setattr(signing, "sign_installation", fail)
            await log.sign()
    tamper(tmp_path, lambda raw: raw.executescript("DELETE FROM entries WHERE seq = 2; DELETE FROM checkpoints"))
    async with opened(tmp_path) as log:
        (report,) = await verify(log, [VAULT])
    assert [each.kind for each in report.faults] == ["truncated"]


async def test_closing_ends_though_it_was_about_to_sign(tmp_path: Path) -> None:
    async with opened(tmp_path) as log:
        await log.append(VAULT, entry(1))  # from here on it waits for more
        await log.append(VAULT, entry(2))
        log._grown.set()  # what wakes it and what ends it come together
        async with asyncio.timeout(PATIENCE_S):
            await log.close()
