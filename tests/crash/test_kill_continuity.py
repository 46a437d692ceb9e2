"""Processes killed while work is handed over, claimed, saved and swept. The quick ones run always; sweeps over system
calls: ``make crash``, with ``STRONGROOM_CRASH_POINTS`` points of each call, spread over all there are."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.crash.child import Child, strace
from tests.crash.continuity_work import DAY, ask, identity, staffed, swept, work
from tests.crash.notes_work import opened
from tests.crash.oracle import settled
from tests.work import PATIENCE_S
from vaults.db.engine import sqlite
from vaults.domain.maintenance.verification import verify

SWEEP = max(3, int(os.environ.get("STRONGROOM_CRASH_POINTS", "12")))  # the last of two may be a call too far
DATABASE = Path("vaults", "main", "vault.db")
LONG_AGO = "2020-01-01T00:00:00.000Z"
WHAT_STANDS = {
    "saved": "SELECT who, status, summary, outcomes FROM sessions WHERE saved_at IS NOT NULL",
    "claims": "SELECT c.resource, s.who, c.description FROM claims c JOIN sessions s ON s.seq = c.session",
    "handoffs": "SELECT goal, claims, accepted_who, accepted_at IS NULL, accepted_session IS NULL FROM handoffs",
    "checkpoints": "SELECT reason, state, who FROM checkpoints",
    "feedback": "SELECT type, message, who FROM feedback",
}

Standing = dict[str, list[tuple[Any, ...]]]


def _read(data: Path, statement: str) -> list[tuple[Any, ...]]:
    raw = sqlite.connect(data / DATABASE, timeout=PATIENCE_S)
    try:
        return sorted(raw.execute(statement).fetchall(), key=repr)
    finally:
        raw.close()


def standing(data: Path) -> Standing:
    """What a vault says of its work, without ids and times."""
    return {name: _read(data, statement) for name, statement in WHAT_STANDS.items()}


def sound(data: Path) -> None:
    assert _read(data, "PRAGMA integrity_check") == [("ok",)]
    assert not _read(data, "PRAGMA foreign_key_check")


def handed_over_whole(state: Standing) -> None:
    """Who has the receipt has the claims, and nobody has one without the other."""
    for _, claims, accepted_who, open_, sessionless in state["handoffs"]:
        holders = {who for resource, who, _ in state["claims"] if resource in json.loads(claims)}
        assert bool(open_) == (accepted_who is None) == bool(sessionless)
        assert holders <= {accepted_who or "ann"}, (holders, accepted_who)


@pytest.fixture
async def template(tmp_path: Path) -> Path:
    data = tmp_path / "template"
    data.mkdir()
    async with staffed(data):
        pass
    return data


async def states_of(template: Path) -> list[Standing]:
    """What stands before the day, and after each of its steps."""
    data = template.with_name("clean")
    shutil.copytree(template, data)
    found = []
    async with opened(data) as services:
        found.append(standing(data))
        for who, tool, arguments in DAY:
            outcome = await ask(services, who, tool, **arguments)
            assert outcome.ok, outcome.text
            found.append(standing(data))
    assert all(before != after for before, after in pairwise(found))
    shutil.rmtree(data)
    return found


async def _left(data: Path, states: list[Standing], begun: int, acknowledged: list[str]) -> int:
    """Which state a killed process left; the day goes on from there to its end, and each thing promised is found."""
    now = standing(data)
    sound(data)
    handed_over_whole(now)
    done = begun + len(acknowledged)
    number = next((n for n in (done, done + 1) if n < len(states) and states[n] == now), None)
    assert number is not None, (done, now)
    ids = {row[0] for table in ("handoffs", "checkpoints", "feedback", "sessions")
           for row in _read(data, f"SELECT id FROM {table}")}  # fmt: skip
    assert set(acknowledged) - {"done"} <= ids, "what was acknowledged by id is not there"
    async with opened(data) as services:
        for who, tool, arguments in DAY[number:]:
            outcome = await ask(services, who, tool, **arguments)
            assert outcome.ok, (tool, identity(outcome))
        assert standing(data) == states[-1]
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            assert (await verify(vault)).agrees
    return number


async def _points(data: Path, template: Path, kind: str, call: str) -> list[int]:
    """Calls to be killed at: evenly spread over those an undisturbed run makes in the thread that makes most."""
    shutil.copytree(template, data)
    whole = await asyncio.to_thread(Child, work, data, kind, (call, 0))
    assert not whole.killed
    assert whole.calls, "the call is not made any more"
    shutil.rmtree(data)
    return sorted({1 + round(n * (whole.calls - 1) / max(1, SWEEP - 1)) for n in range(SWEEP)})


@pytest.mark.crash
@strace
@pytest.mark.parametrize("call", ["pwrite64", "fsync"])
async def test_a_kill_at_any_call_leaves_each_step_of_a_day_whole_or_absent(
    tmp_path: Path, template: Path, call: str
) -> None:
    states = await states_of(template)
    left: list[int] = []
    for point in await _points(tmp_path / "count", template, "day", call):
        data = tmp_path / f"{point}"
        shutil.copytree(template, data)
        child = await asyncio.to_thread(Child, work, data, "day", (call, point))
        number = await _left(data, states, 0, child.acknowledged)
        left += [number] if child.killed else []
        shutil.rmtree(data)
    assert len(set(left)) > min(SWEEP, 8) // 2, f"killed in too few of the steps: {left}"


@strace
@pytest.mark.parametrize(("step", "point"), [(4, 11), (4, 19), (9, 11)])
async def test_a_kill_in_an_acceptance_or_a_save_leaves_it_whole_or_absent(
    tmp_path: Path, template: Path, step: int, point: int
) -> None:
    states = await states_of(template)
    await asyncio.to_thread(Child, work, template, "day", None, stop=step)
    assert standing(template) == states[step], "whoever was at work before was killed, too"
    child = await asyncio.to_thread(Child, work, template, "day", ("pwrite64", point), start=step)
    assert child.killed
    assert await _left(template, states, step, child.acknowledged) in (step, step + 1)


async def _run_out(template: Path) -> None:
    """Memories that have expired, versions and calls of long ago, and as many that stay."""
    async with staffed(template) as services:
        for n in range(6):
            assert (await ask(services, "ann", "remember", content=f"staying fact {n} staysword{n}")).ok
            assert (await ask(services, "ann", "remember", content=f"expiring fact {n} goesword{n}")).ok
            old = await ask(services, "ann", "remember", content=f"older version {n} olderword{n}")
            newer = {"id": old.content["id"], "content": f"newer version {n} newerword{n}"}
            assert (await ask(services, "ann", "memory_supersede", **newer)).ok
        await settled(services)
    raw = sqlite.connect(template / DATABASE)
    raw.execute("UPDATE memories SET expires_at = ? WHERE content LIKE 'expiring%'", (LONG_AGO,))
    raw.execute("UPDATE memories SET updated_at = ? WHERE superseded_by IS NOT NULL", (LONG_AGO,))
    raw.execute("UPDATE events SET at = ? WHERE tool = 'remember'", (LONG_AGO,))
    raw.execute(
        "INSERT INTO sessions (id, owner, name, who, transport, workspace, status, started_at, seen_at)"
        " VALUES ('gone', 'x', 'x', 'x', 'http', 'global', 'paused', :then, :then)",
        {"then": LONG_AGO},
    )
    raw.execute("DELETE FROM vault_info WHERE key = 'swept'")
    raw.commit()
    raw.close()


async def _swept_whole(data: Path) -> int:
    """Whatever was done before the kill is whole; the next opening does the rest. How much had been done."""
    sound(data)
    memories = _read(data, "SELECT content, archived_reason, archived_at IS NULL FROM memories")
    assert sum(text.startswith(("staying", "newer")) for text, _, open_ in memories if open_) == 12
    for text, reason, open_ in memories:
        assert bool(open_) == (reason is None), text
    retained = len(_read(data, "SELECT target FROM audit WHERE action = 'retention'"))
    assert sum(text.startswith("older") for text, *_ in memories) + retained == 6
    async with opened(data) as services:
        await swept(services)
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            assert (await verify(vault)).agrees
        for word, there in (("staysword", True), ("newerword", True), ("goesword", False), ("olderword", False)):
            found = [await ask(services, "ann", "recall", query=f"{word}{n}", mode="keyword") for n in range(6)]
            assert [bool(each.content["hits"]) for each in found] == [there] * 6, word
    assert not _read(data, f"SELECT seq FROM events WHERE at = '{LONG_AGO}'")
    assert not _read(data, "SELECT seq FROM sessions WHERE id = 'gone'")
    assert len(_read(data, "SELECT target FROM audit WHERE action = 'retention'")) == 6
    return retained + sum(not open_ for *_, open_ in memories)


@pytest.mark.crash
@strace
@pytest.mark.parametrize("call", ["pwrite64", "fsync"])
async def test_a_sweep_killed_at_any_call_is_gone_on_with(tmp_path: Path, template: Path, call: str) -> None:
    await _run_out(template)
    done: list[int] = []
    for point in await _points(tmp_path / "count", template, "sweep", call):
        data = tmp_path / f"{point}"
        shutil.copytree(template, data)
        child = await asyncio.to_thread(Child, work, data, "sweep", (call, point))
        before = await _swept_whole(data)
        done += [before] if child.killed else []
        shutil.rmtree(data)
    assert len(set(done)) > 1, f"killed at one place only: {done}"
