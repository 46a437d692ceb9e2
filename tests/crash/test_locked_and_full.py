"""A vault whose file another process holds, or whose disk is full: who reads goes on; who writes is told why not."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from auth.grants import set_grant
from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, Opening, asker, local
from tests.crash.child import strace
from tests.crash.mounts import mounting, run_on_small_disk
from tests.crash.piped import Piped
from tests.noted import until
from vaults.activity_log import log_writer
from vaults.db.engine import sqlite
from vaults.vault import Vault

BUSY_MS = 120_000
SOON_S = 60.0
"""Less than one wait for the other process takes."""

READS: list[tuple[str, dict[str, Any]]] = [
    ("status", {}), ("recall", {"query": "harbour"}), ("context", {}), ("context", {"query": "harbour"}),
    ("session_history", {}), ("claims", {}), ("handoff_load", {}), ("threads", {}), ("usage", {}), ("memory_list", {}),
]  # fmt: skip
WRITES: list[tuple[str, dict[str, Any]]] = [
    ("remember", {"content": "a new fact"}), ("session_save", {"summary": "so far"}),
    ("handoff_create", {"goal": "g", "current_state": "c", "next_action": "n"}),
    ("claims", {"action": "claim", "resources": ["a"]}), ("checkpoint", {"reason": "r", "state": {"a": 1}}),
    ("feedback", {"type": "bug", "message": "slow"}),
]  # fmt: skip


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Another program has begun to write to the database, and does not end."""
    raw = sqlite.connect(path, isolation_level=None)
    raw.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        raw.close()


async def vault_of(services: Services) -> Vault:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        return vault


async def _ann(services: Services) -> Asking:
    await services.access_cache.write(lambda tx: set_grant(tx, "ann", "local", "main", Role.WRITER))
    ask = asker(services, Caller(local("ann"), "main", Role.WRITER, "http"))
    assert (await ask("remember", content="the harbour opens at six")).ok
    return ask


async def test_whoever_reads_is_served_soon_while_another_process_holds_the_vault(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_writer, "READ_S", 1.0)
    async with opening({"storage.busy_timeout_ms": BUSY_MS}) as services:
        ask, vault = await _ann(services), await vault_of(services)
        with held(vault.db.path):
            began = time.monotonic()
            for tool, arguments in READS:
                outcome = await ask(tool, **arguments)
                assert outcome.ok, (tool, outcome.text)
            assert time.monotonic() - began < SOON_S
        count = len(READS) + 1
        await until(services, lambda tx: tx.value("SELECT COUNT(*) FROM events") == count)
        assert vault.activity_log.lost == 0


async def test_whoever_begins_is_told_of_the_others_though_nothing_can_be_written(opening: Opening) -> None:
    async with opening({"storage.busy_timeout_ms": 50}) as services:
        ask, vault = await _ann(services), await vault_of(services)
        assert (await ask("session_save", summary="painted the harbour")).ok
        await services.access_cache.write(lambda tx: set_grant(tx, "ben", "local", "main", Role.READER))
        ben = asker(services, Caller(local("ben"), "main", Role.READER, "http"))
        with held(vault.db.path):
            around = await ben("session_resume")
            assert around.ok, around.text
        assert [view["summary"] for view in around.content["sessions"]] == ["painted the harbour"]
        mine = around.content["session"]
        assert mine["yours"]
        await until(services, lambda tx: tx.one("SELECT 1 FROM sessions WHERE id = ?", (mine["id"],)) is not None)


async def test_whoever_writes_to_a_vault_that_is_held_may_come_back_and_has_changed_nothing(opening: Opening) -> None:
    async with opening({"storage.busy_timeout_ms": 50}) as services:
        ask, vault = asker(services), await vault_of(services)
        assert (await ask("status")).ok
        with held(vault.db.path):
            outcomes = {tool: await ask(tool, **arguments) for tool, arguments in WRITES}
        assert {outcome.code for outcome in outcomes.values()} == {"overloaded"}
        assert all(outcome.content["error"]["retryable"] for outcome in outcomes.values())
        for table in ("memories", "handoffs", "claims", "checkpoints", "feedback"):
            assert await vault.db.read(lambda tx, table=table: tx.value(f"SELECT COUNT(*) FROM {table}")) == 0, table
        for tool, arguments in WRITES:
            assert (await ask(tool, **arguments)).ok, tool


async def _with_space(tmp_path: Path, amounts: list[int]) -> None:
    command = [sys.executable, "-m", "tests.crash.full_disk", str(tmp_path / "disk" / "data"), *map(str, amounts)]
    *tried, log = await asyncio.to_thread(run_on_small_disk, tmp_path / "disk", " ".join(command))
    for each in tried:
        if each["free"] < 0:
            assert each["code"] is None, each
        elif each["writes"]:
            assert each["code"] in (None, "storage_full"), each
            assert each["same"] or each["code"] is None, each
        else:
            assert each["code"] is None, each
    assert any(each["code"] == "storage_full" for each in tried)
    assert log["sound"]
    assert log["events"] == len(tried) + 1, "every call is in the log once there is space"
    assert not log["lost"]


@mounting
async def test_whoever_reads_a_vault_on_a_full_disk_is_served_and_whoever_writes_is_refused(tmp_path: Path) -> None:
    await _with_space(tmp_path, [0])


@mounting
@pytest.mark.crash
async def test_calls_are_whole_or_refused_with_any_space_left(tmp_path: Path) -> None:
    await _with_space(tmp_path, [0, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256])


@strace
@pytest.mark.crash
def test_an_answer_to_who_reads_waits_for_no_write_of_the_log(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    under = ["strace", "-f", "-qq", "-s", "60", "-o", str(trace), "-e", "trace=write,fsync,fdatasync,pwrite64"]
    server = Piped(tmp_path, under)
    server("remember", content="the harbour opens at six")
    for number in range(2, 7):
        server("recall", query="harbour")
        server.logged(number)
    server.hang_up()
    kinds = "".join(
        "A" if "jsonrpc" in line else "W" for line in trace.read_text().splitlines()
        if "jsonrpc" in line or "pwrite64(" in line or "fsync(" in line
    )  # fmt: skip
    assert re.search(r"(AW+){5}$", kinds), kinds
