from __future__ import annotations

import asyncio
import time

from ops.loop_lag import LoopLag


async def test_a_blocked_loop_shows():
    measured: list[float] = []
    seen = asyncio.Event()

    def record(lag: float) -> None:
        measured.append(lag)
        seen.set()

    lag = LoopLag(record, 0.01)
    lag.start()
    await seen.wait()
    seen.clear()
    time.sleep(0.1)  # noqa: ASYNC251  blocking the loop is the point
    await seen.wait()
    await lag.stop()
    assert max(measured) > 0.05
    assert min(measured) >= 0


async def test_stopping_leaves_no_task_behind():
    lag = LoopLag(lambda _: None, 60)
    lag.start()
    lag.start()
    assert len([task for task in asyncio.all_tasks() if task.get_name() == "loop-lag"]) == 1
    await lag.stop()
    await lag.stop()
    assert [task for task in asyncio.all_tasks() if task.get_name() == "loop-lag"] == []
