"""Covers ops.doctor.audit."""

from __future__ import annotations

from pathlib import Path

import pytest

from ops.doctor import audit as audit_checks
from ops.doctor.audit import check_audit, check_shared_audit
from tests.ops.audit.chains import STORAGE, VAULT, entry, opened, tamper, written
from vaults.errors import VaultUnavailable


async def test_an_installation_without_changes_has_no_audit_yet(tmp_path: Path) -> None:
    assert check_audit(tmp_path, STORAGE).status == "notice"


async def test_a_signed_audit_is_well(tmp_path: Path) -> None:
    await written(tmp_path, 2)
    assert check_audit(tmp_path, STORAGE).status == "ok"


async def test_what_a_kill_left_unsigned_is_named(tmp_path: Path) -> None:
    async with opened(tmp_path) as log:
        await log.append(VAULT, entry(1, at="2026-01-01T00:00:00.000Z"))
        assert (check_audit(tmp_path, STORAGE).status, check_audit(tmp_path, STORAGE).details) == ("notice", [VAULT])


async def test_a_damaged_chain_is_an_error(tmp_path: Path) -> None:
    await written(tmp_path, 2)
    tamper(tmp_path, lambda raw: raw.execute("PRAGMA journal_mode=DELETE"))
    (tmp_path / "audit" / f"{VAULT}.db").write_bytes(b"no database at all" * 100)
    assert check_audit(tmp_path, STORAGE).status == "error"


async def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await written(tmp_path, 1)
    monkeypatch.setattr(audit_checks.os, "access", lambda *_: False)
    assert check_audit(tmp_path, STORAGE).status == "error"


def test_a_shared_audit_is_asked_for_what_nobody_signed() -> None:
    def away(_: int) -> list[str]:
        raise VaultUnavailable("the cluster's database did not answer")

    assert check_shared_audit(lambda _: []).status == "ok"
    assert (check_shared_audit(lambda _: [VAULT]).status, check_shared_audit(lambda _: [VAULT]).details) == (
        "notice",
        [VAULT],
    )
    assert check_shared_audit(away).status == "error"
