from __future__ import annotations

import asyncio

import pytest

from ops import health as module
from ops.health import HealthRegistry
from vaults.errors import VaultUnavailable


def saying(word):
    async def ping():
        return word

    return ping


async def broken():
    raise VaultUnavailable("control.db at /srv/secret is locked")


def built(control, embedding):
    health = HealthRegistry()
    health.register("control", control, required=True)
    health.register("embedding", embedding, required=False)
    return health


@pytest.mark.parametrize(
    ("control", "embedding", "status", "serving", "words"),
    [
        (saying("ok"), saying("cold"), "ready", True, {"control": "ok", "embedding": "cold"}),
        (saying("ok"), saying("hung"), "degraded", True, {"control": "ok", "embedding": "hung"}),
        (saying("ok"), broken, "degraded", True, {"control": "ok", "embedding": "failed"}),
        (broken, saying("ready"), "unavailable", False, {"control": "failed", "embedding": "ready"}),
        (saying("/srv/secret: locked"), saying("off"), "unavailable", False, {"control": "failed", "embedding": "off"}),
    ],
)
async def test_required_parts_decide_and_others_degrade(control, embedding, status, serving, words):
    report = await built(control, embedding).ready()
    assert (report.status, report.serving, dict(report.parts)) == (status, serving, words)


async def test_a_silent_part_is_given_up_on(monkeypatch):
    monkeypatch.setattr(module, "PING_S", 0.02)
    report = await built(saying("ok"), asyncio.Event().wait).ready()
    assert (report.status, report.parts["embedding"]) == ("degraded", "silent")


async def test_draining_is_not_ready_at_once_although_all_is_well():
    health = built(saying("ok"), saying("ok"))
    assert (await health.ready()).serving
    health.drain()
    report = await health.ready()
    assert (report.status, report.serving) == ("draining", False)


async def test_many_callers_cost_one_round_of_questions():
    asked = 0

    async def counted():
        nonlocal asked
        asked += 1
        await asyncio.sleep(0)
        return "ok"

    health = built(counted, saying("ok"))
    await asyncio.gather(*(health.ready() for _ in range(50)))
    await health.ready()
    assert asked == 1


async def test_a_caller_that_leaves_does_not_take_the_answer_away():
    gate = asyncio.Event()

    async def waiting():
        await gate.wait()
        return "ok"

    health = built(waiting, saying("ok"))
    first, second = asyncio.create_task(health.ready()), asyncio.create_task(health.ready())
    await asyncio.sleep(0)
    first.cancel()
    gate.set()
    assert (await second).status == "ready"
