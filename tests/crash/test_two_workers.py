"""One caller, two workers: sessions, handoffs and limits are those of the vault, whichever process answers."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.crash.serving_process import Serving, serving
from tests.work import PATIENCE_S
from vaults.db.engine import sqlite

AT_ONCE = 24


async def asked(server: Serving, number: int, tool: str, session: str = "", **arguments: Any) -> dict[str, Any]:
    """One call over a connection of its own; ``{n}`` in what is named becomes its number."""
    filled = {name: value.format(n=number) if isinstance(value, str) else value for name, value in arguments.items()}
    async with server.http() as http:
        return await server.call(http, tool, session.format(n=number), **filled)


async def at_once(server: Serving, tool: str, session: str = "", **arguments: Any) -> list[dict[str, Any]]:
    return await asyncio.gather(*(asked(server, n, tool, session, **arguments) for n in range(AT_ONCE)))


def is_written(path: Path) -> bool:
    """Whether somebody is in the middle of writing a database."""
    with closing(sqlite.connect(path, isolation_level=None, timeout=0)) as raw:
        try:
            raw.execute("BEGIN IMMEDIATE")
        except sqlite.OperationalError:
            return True
        raw.execute("ROLLBACK")
        return False


def stop_between_writes(worker: int, data: Path) -> None:
    """Stop a process where it holds no lock of a database: the other would wait for it."""
    until = time.monotonic() + PATIENCE_S
    while True:
        os.kill(worker, signal.SIGSTOP)
        if not any(map(is_written, (data / "control.db", data / "vaults" / "main" / "vault.db"))):
            return
        os.kill(worker, signal.SIGCONT)
        assert time.monotonic() < until


async def resumed_by_both(server: Serving, session: str) -> list[str]:
    """The sessions callers are in, as each worker answers while the other is stopped: left alone, the kernel may give
    one of them every connection."""
    ticks = server.workers()
    handles = []
    for worker in sorted(ticks, key=lambda each: -ticks[each])[:2]:
        stop_between_writes(int(worker), server.data)
        try:
            answers = await at_once(server, "session_resume", session)
        finally:
            os.kill(int(worker), signal.SIGCONT)
        handles += [each["session"]["id"] for each in answers]
    return handles


@pytest.mark.crash
async def test_a_caller_is_in_one_session_whichever_worker_answers(tmp_path: Path) -> None:
    async with serving(tmp_path / "data", 2) as server:
        for name in ("", "job-7"):
            await at_once(server, "remember", name, content=f"fact {{n}} of {name or 'nobody'}")
            handles = await resumed_by_both(server, name)
            assert len(set(handles)) == 1, Counter(handles)
            claimed = await at_once(server, "claims", name, action="claim", resources=["src/db.ts"])
            assert all(each["claims"][0]["yours"] for each in claimed)
            await asked(server, 0, "session_save", name, status="completed")


async def test_a_session_that_one_worker_completed_is_over_for_the_other(tmp_path: Path) -> None:
    async with serving(tmp_path / "data", 2) as server:
        first = {each["session"]["id"] for each in await at_once(server, "session_resume")}
        await asked(server, 0, "session_save", status="completed")
        later = await at_once(server, "session_resume")
        assert not [each for each in later if "error" in each], later
        assert len({each["session"]["id"] for each in later}) == 1
        assert first.isdisjoint(each["session"]["id"] for each in later)
        claimed = await at_once(server, "claims", action="claim", resources=["src/db.ts"])
        assert all("error" not in each for each in claimed), claimed


async def test_of_many_who_accept_over_two_workers_one_has_the_receipt(tmp_path: Path) -> None:
    async with serving(tmp_path / "data", 2) as server:
        for _ in range(3):
            await asked(server, 0, "claims", "giver", action="claim", resources=["a", "b"])
            left = await asked(
                server, 0, "handoff_create", "giver", goal="g", current_state="c", next_action="n", claims=["a", "b"]
            )
            handoff = left["handoff"]["id"]
            taken = await at_once(server, "handoff_load", "taker{n}", id=handoff, accept=True)
            won = [each for each in taken if "handoff" in each]
            assert len(won) == 1
            assert sorted(won[0]["claims"]) == ["a", "b"]
            lost = [each["error"] for each in taken if "error" in each]
            assert {each["code"] for each in lost} == {"conflict"}
            assert {each["details"]["accepted_at"] for each in lost} == {won[0]["handoff"]["receipt"]["at"]}
            held = server.rows("SELECT c.resource, s.id FROM claims c JOIN sessions s ON s.seq = c.session")
            assert sorted(held) == [(name, won[0]["handoff"]["receipt"]["session"]) for name in ("a", "b")]
            for each in ("a", "b"):
                await asked(server, 0, "claims", "any", action="release", resources=[each])


@pytest.mark.crash
async def test_limits_hold_over_two_workers_as_exactly_as_they_are_said_to(tmp_path: Path) -> None:
    async with serving(
        tmp_path / "data", 2, STRONGROOM_LIMITS__MEMORIES="30", STRONGROOM_LIMITS__STORES_PER_DAY="35"
    ) as server:
        stored = [
            *await at_once(server, "remember", content="fact {n}"),
            *await at_once(server, "remember", content="other {n}"),
        ]
        assert sum("id" in each for each in stored) == 30, "memories are exact"
        assert {each["error"]["code"] for each in stored if "error" in each} == {"quota_exceeded"}
        ids = [each["id"] for each in stored if "id" in each]
        await asked(server, 0, "memory_forget", ids=ids)
        more = await at_once(server, "remember", content="yet another {n}")
        count = 30 + sum("id" in each for each in more)
        assert 35 <= count <= 30 + AT_ONCE, "both know of the day by now, or pass it by what they stored since"
