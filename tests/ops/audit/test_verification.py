"""Every way to tamper with a chain is found, with the first entry that is wrong.

Covers ops.audit.verification, ops.audit.told_heads, ops.audit.links, ops.audit.statements, ops.audit.signing.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from auth.keys import SigningKey, open_key_ring
from ops.audit import chain_rows, statements, verification
from ops.audit.audit_log import AuditLog
from ops.audit.chain_files import file_of
from ops.audit.links import INSTALLATION
from ops.audit.statements import ChainHead, head_statement
from ops.audit.told_heads import read_told
from ops.audit.verification import ChainReport, verify
from ops.settings import AuditSettings
from tests.ops.audit.chains import STORAGE, VAULT, entry, opened, rewrite, tamper, written

Raw = sqlite3.Connection


async def checked(data: Path, chain: str = VAULT) -> ChainReport:
    async with opened(data) as log:
        return next(each for each in await verify(log) if each.chain == chain)


async def faults(data: Path, chain: str = VAULT) -> list[tuple[int, str]]:
    return [(each.seq, each.kind) for each in (await checked(data, chain)).faults]


async def test_a_chain_nobody_touched_is_good(tmp_path: Path) -> None:
    await written(tmp_path, 6, signed_after=3)
    report = await checked(tmp_path)
    assert (report.ok, report.entries, report.first, report.last, report.signed) == (True, 6, 1, 6, 6)


async def test_it_says_how_far_the_server_vouches(tmp_path: Path) -> None:
    await written(tmp_path, 3)
    async with opened(tmp_path) as log:
        await log.append(VAULT, entry(4))
        (report,) = await verify(log, [VAULT])
        assert (report.ok, report.last, report.signed) == (True, 4, 3)


@pytest.mark.parametrize("kept", [1, 0])
async def test_entries_that_go_by_their_age_while_a_chain_is_checked_are_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    monkeypatch.setattr(verification, "PAGE", 2)
    async with opened(tmp_path, AuditSettings(keep="30d")) as log:
        for n in range(1, 7):
            await log.append(VAULT, entry(n, at="2020-01-01T00:00:00.000Z"))
        await log.sign()
        for n in range(7, 7 + kept):
            await log.append(VAULT, entry(n))
        chain = log.chain(VAULT)
        read = chain.read

        async def read_and_prune(work: Any) -> Any:
            found = await read(work)
            if getattr(work, "__name__", "") == "take_page":
                await log.prune()
            return found

        chain.read = read_and_prune  # type: ignore[method-assign]
        (report,) = await verify(log, [VAULT])
        assert (report.faults, report.last, report.signed) == ([], 6 + kept, 6)


def _remove(raw: Raw) -> None:
    raw.execute("DELETE FROM entries WHERE seq = 3")


def _change(raw: Raw) -> None:
    raw.execute("UPDATE entries SET body = replace(body, 'ana', 'bob') WHERE seq = 4")


def _change_the_time(raw: Raw) -> None:
    raw.execute("UPDATE entries SET at = at - 86400000 WHERE seq = 4")


def _swap(raw: Raw) -> None:
    one, two = (raw.execute("SELECT body, hash FROM entries WHERE seq = ?", (n,)).fetchone() for n in (2, 3))
    raw.execute("UPDATE entries SET body = ?, hash = ? WHERE seq = 2", two)
    raw.execute("UPDATE entries SET body = ?, hash = ? WHERE seq = 3", one)


def _renumber(raw: Raw) -> None:
    raw.execute("DELETE FROM entries WHERE seq = 3")
    for n in (4, 5, 6):
        raw.execute("UPDATE entries SET seq = ? WHERE seq = ?", (n - 1, n))


def _add(raw: Raw) -> None:
    raw.execute(
        "INSERT INTO entries SELECT 7, at, replace(body, '\"seq\":6', '\"seq\":7'), hash FROM entries WHERE seq = 6"
    )


def _write_anew(raw: Raw) -> None:
    rewrite(raw, VAULT, 2, lambda _, body: body.replace("ana", "bob"))


def _cut_off(raw: Raw) -> None:
    raw.execute("DELETE FROM entries WHERE seq > 4")


def _cut_off_with_what_was_signed(raw: Raw) -> None:
    raw.execute("DELETE FROM entries WHERE seq > 3")
    raw.execute("DELETE FROM checkpoints WHERE seq > 3")


def _cut_off_the_beginning(raw: Raw) -> None:
    raw.execute("DELETE FROM entries WHERE seq < 3")


def _forge_a_signature(raw: Raw) -> None:
    raw.execute("UPDATE checkpoints SET statement = replace(statement, '\"seq\":6', '\"seq\":5') WHERE seq = 6")


@pytest.mark.parametrize(
    ("tampering", "first"),
    [
        (_remove, (3, "removed")),
        (_change, (4, "changed")),
        (_change_the_time, (4, "changed")),
        (_swap, (2, "moved")),
        (_renumber, (3, "moved")),
        (_add, (7, "changed")),
        (_write_anew, (3, "rewritten")),
        (_cut_off, (5, "truncated")),
        (_cut_off_with_what_was_signed, (4, "truncated")),
        (_cut_off_the_beginning, (1, "removed")),
        (_forge_a_signature, (6, "forged_signature")),
    ],
    ids=lambda value: getattr(value, "__name__", "")[1:],
)
async def test_tampering_is_found(tmp_path: Path, tampering: Callable[[Raw], None], first: tuple[int, str]) -> None:
    await written(tmp_path, 6, signed_after=3)
    tamper(tmp_path, tampering)
    assert (await faults(tmp_path))[0] == first


async def test_signatures_that_were_all_taken_off_are_missed(tmp_path: Path) -> None:
    async with opened(tmp_path) as log:
        await log.append(VAULT, entry(1, at="2026-01-01T00:00:00.000Z"))
        log.chain(VAULT).unsigned = 0
    assert await faults(tmp_path) == [(1, "unsigned")]
    async with opened(tmp_path) as log:
        await log.append(VAULT, entry(2))
        await log.sign()
        (report,) = await verify(log, [VAULT])
        assert report.ok


async def test_one_chain_is_checked_without_looking_into_those_of_others(tmp_path: Path) -> None:
    await written(tmp_path, 2)
    other = VAULT[:-1] + "2"
    shutil.copy(file_of(tmp_path, VAULT), file_of(tmp_path, other))
    async with opened(tmp_path) as log:
        (report,) = await verify(log, [VAULT])
        assert report.ok
        held = {each.resolve().name for each in Path("/proc/self/fd").iterdir()}
    assert f"{VAULT}.db" in held
    assert f"{other}.db" not in held


async def test_a_check_makes_no_key_and_no_file(tmp_path: Path) -> None:
    await written(tmp_path)
    shutil.rmtree(tmp_path / "keys")
    log = AuditLog(tmp_path, AuditSettings(), STORAGE)
    reports = await verify(log)
    await log.close()
    assert {each.kind for report in reports for each in report.faults} == {"foreign_key"}
    assert not (tmp_path / "keys").exists()


async def test_what_is_told_of_a_long_chain_is_compared_at_its_first_and_last_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain_rows, "HEADS_PAGE", 2)
    await written(tmp_path, 4, signed_after=1)
    for _ in range(3):
        await written(tmp_path, 1)
    async with opened(tmp_path) as log:
        told = await read_told(log, [VAULT, INSTALLATION], [VAULT], lambda _: None)
    assert [each.seq for each in told[VAULT][0]] == [1, 7]
    tamper(tmp_path, lambda raw: (_cut_off_with_what_was_signed(raw), raw.execute("DELETE FROM checkpoints")))
    assert (4, "truncated") in await faults(tmp_path)


async def test_a_chain_that_is_gone_is_missed(tmp_path: Path) -> None:
    await written(tmp_path)
    file_of(tmp_path, VAULT).unlink()
    log = AuditLog(tmp_path, AuditSettings(), STORAGE)
    missing, _ = await verify(log)
    assert (missing.chain, [each.kind for each in missing.faults]) == (VAULT, ["missing"])
    await log.close()


async def test_a_chain_that_began_anew_is_not_the_old_one(tmp_path: Path) -> None:
    await written(tmp_path)
    file_of(tmp_path, VAULT).unlink()
    await written(tmp_path, 8)
    assert (6, "rewritten") in await faults(tmp_path)


async def test_the_end_of_the_installations_chain_cannot_be_cut_off(tmp_path: Path) -> None:
    for _ in range(3):  # a vault's checkpoint tells where it stood
        await written(tmp_path, 1)

    def cut(raw: Raw) -> None:
        raw.execute("DELETE FROM entries WHERE seq > 1")
        raw.execute("DELETE FROM checkpoints WHERE seq > 1")

    tamper(tmp_path, cut, INSTALLATION)
    assert await faults(tmp_path, INSTALLATION) == [(2, "truncated")]


async def test_what_another_key_signed_counts_for_nothing(tmp_path: Path) -> None:
    await written(tmp_path)
    stranger = Ed25519PrivateKey.generate()
    key = SigningKey("a-stranger", stranger, stranger.public_key())

    def forge(raw: Raw) -> None:
        rewrite(raw, VAULT, 2, lambda _, body: body.replace("ana", "bob"))
        (digest,) = raw.execute("SELECT hash FROM entries WHERE seq = 6").fetchone()
        said = head_statement(VAULT, ChainHead(6, digest), "2026-01-01T00:00:00.000Z")
        signed = statements.sign(key, "checkpoint", 6, said)
        raw.execute("DELETE FROM checkpoints")
        raw.execute("INSERT INTO checkpoints VALUES (6, ?, ?, ?)", (signed.statement, signed.kid, signed.signature))

    tamper(tmp_path, forge)
    assert await faults(tmp_path) == [(6, "foreign_key"), (6, "rewritten")]


async def test_a_checkpoint_of_another_chain_is_none_of_this_one(tmp_path: Path) -> None:
    await written(tmp_path)

    def borrow(raw: Raw) -> None:
        raw.execute("ATTACH ? AS other", (str(file_of(tmp_path, INSTALLATION)),))
        raw.execute("INSERT INTO checkpoints SELECT * FROM other.checkpoints WHERE seq = 1")

    tamper(tmp_path, borrow)
    assert await faults(tmp_path) == [(1, "forged_signature")]


async def test_one_vaults_chain_cannot_stand_for_another(tmp_path: Path) -> None:
    await written(tmp_path)
    other = VAULT[:-1] + "2"
    shutil.copy(file_of(tmp_path, VAULT), file_of(tmp_path, other))
    found = await faults(tmp_path, other)
    assert (1, "changed") in found
    assert (6, "forged_signature") in found


async def test_what_an_old_key_signed_still_counts_when_it_is_gone(tmp_path: Path) -> None:
    await written(tmp_path)
    keys = tmp_path / "keys"
    shutil.copy(keys / "0001.pem", tmp_path / "kept.pem")
    (keys / "0001.pem").unlink()
    open_key_ring(keys)
    (keys / "0001.pem").rename(keys / "0002.pem")
    shutil.copy(tmp_path / "kept.pem", keys / "0001.pem")
    await written(tmp_path, 1)  # the new key signs, and vouches for the old one
    (keys / "0001.pem").unlink()
    assert (await checked(tmp_path)).ok

    def withdraw(raw: Raw) -> None:
        raw.execute("UPDATE vouchers SET statement = replace(statement, 'x', 'y')")

    tamper(tmp_path, withdraw, INSTALLATION)
    assert (6, "foreign_key") in await faults(tmp_path)


async def test_a_damaged_file_is_told_of_and_the_others_are_checked(tmp_path: Path) -> None:
    await written(tmp_path)
    tamper(tmp_path, lambda raw: raw.execute("PRAGMA journal_mode=DELETE"))
    file_of(tmp_path, VAULT).write_bytes(b"no database at all" * 1000)
    async with opened(tmp_path) as log:
        damaged, installation = await verify(log)
        assert [each.kind for each in damaged.faults] == ["unreadable"]
        assert installation.ok


async def test_a_page_that_was_overwritten_is_told_of(tmp_path: Path) -> None:
    await written(tmp_path, 60)
    tamper(tmp_path, lambda raw: raw.execute("PRAGMA journal_mode=DELETE"))
    raw = sqlite3.connect(file_of(tmp_path, VAULT))
    sql = "SELECT pageno FROM dbstat WHERE name = 'entries' AND pagetype = 'leaf' ORDER BY pageno"
    try:
        pages = [page for (page,) in raw.execute(sql)]
    except sqlite3.OperationalError:
        pytest.skip("this SQLite tells nothing of pages")
    finally:
        raw.close()
    with file_of(tmp_path, VAULT).open("r+b") as file:
        file.seek((pages[len(pages) // 2] - 1) * 4096)
        file.write(b"\xff" * 4096)
    assert not (await checked(tmp_path)).ok
