"""The process that hands work over, claims, saves and sweeps, and is killed: each step said by number, on a pipe."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from auth.grants import set_grant
from auth.roles import Role
from server.call import Caller
from server.dispatch import CallOutcome, dispatch
from server.services import Services
from tests.conftest import local
from tests.crash.notes_work import opened
from tests.crash.traced import be_traced
from tests.work import PATIENCE_S
from vaults.domain.maintenance import retention

PEOPLE = ("ann", "ben")
QUIET = {"notes.watch": "off", "hygiene.sweep_s": 3600.0}

HANDOFF = {"goal": "Move the store", "current_state": "schema written", "next_action": "copy the rows"}
DAY: Sequence[tuple[str, str, dict[str, Any]]] = (
    ("ann", "claims", {"action": "claim", "resources": ["db.ts", "task:move"], "description": "moving"}),
    ("ann", "checkpoint", {"reason": "schema", "state": {"step": 1, "words": "x" * 5000}, "thread": "move"}),
    ("ann", "feedback", {"type": "friction", "message": "claims took me three calls"}),
    ("ann", "handoff_create", {**HANDOFF, "claims": ["db.ts", "task:move"]}),
    ("ben", "handoff_load", {"accept": True}),
    ("ben", "claims", {"action": "claim", "resources": ["api.md"]}),
    ("ben", "claims", {"action": "release", "resources": ["db.ts"]}),
    ("ben", "checkpoint", {"reason": "copied", "state": {"step": 2}, "thread": "move"}),
    ("ann", "session_save", {"summary": "left it to ben", "status": "paused"}),
    ("ben", "session_save", {"summary": "finished", "outcomes": ["moved"], "status": "completed"}),
)
"""Who calls what, one after the other."""


async def ask(services: Services, who: str, tool: str, **arguments: Any) -> CallOutcome:
    return await dispatch(services, Caller(local(who), "main", Role.WRITER, "http"), tool, arguments)


def identity(outcome: CallOutcome) -> str:
    """The id of what a step made or took; its error where it failed."""
    content = outcome.content
    made = content.get("handoff") or content.get("session") or content
    return outcome.code or str(made.get("id") or made.get("state_id") or "done")


@asynccontextmanager
async def staffed(data: Path) -> AsyncIterator[Services]:
    """Services with vault main, and people who may write there."""
    async with opened(data, QUIET) as services:
        for name in PEOPLE:
            await services.access_cache.write(lambda tx, name=name: set_grant(tx, name, "local", "main", Role.WRITER))
        yield services


async def swept(services: Services) -> None:
    """Until nothing in vault main has run out."""
    async with services.pool.lease(services.registry_cache.entry("main")) as vault, asyncio.timeout(PATIENCE_S):
        vault.start_background_work()
        while True:
            if not vault.background.is_busy and not await vault.db.read(retention.is_sweep_due):
                return
            await asyncio.sleep(0.01)


def work(data: str, kind: str, flags: dict[str, Any], pipe: Connection) -> None:
    """``day``: the steps of ``DAY`` from number ``start`` of the flags on, and up to ``stop``, where it kills itself;
    ``sweep``: open, and wait for the sweep."""
    be_traced()
    asyncio.run(_sweep(Path(data), pipe) if kind == "sweep" else _work(Path(data), flags, pipe))
    pipe.send(("closed", None))


async def _sweep(data: Path, pipe: Connection) -> None:
    await _told(pipe)  # the word comes first: it is swept at opening
    async with opened(data, QUIET) as services:
        await swept(services)


async def _work(data: Path, flags: dict[str, Any], pipe: Connection) -> None:
    async with opened(data, QUIET) as services:
        await _told(pipe)
        for number, (who, tool, arguments) in enumerate(DAY[flags.get("start", 0) : flags.get("stop")]):
            pipe.send((number, identity(await ask(services, who, tool, **arguments))))
        if "stop" in flags:
            os.kill(os.getpid(), signal.SIGKILL)


async def _told(pipe: Connection) -> None:
    pipe.send(("ready", os.getpid()))
    await asyncio.to_thread(pipe.recv)
