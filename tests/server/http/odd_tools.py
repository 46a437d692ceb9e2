"""Tools that misbehave, or take their time on a word from the test. Discovered as extra tools."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from auth.roles import Role
from server.call import Call, Caller
from server.tool_spec import Arguments, tool

SECRET = "/srv/vaults/other/vault.db"

started, go_on, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()


def seen(caller: Caller) -> None:
    """For tests that look at callers."""


def forget() -> None:
    """What was said before, by tests of any file: whoever is about to wait begins with this."""
    global started, go_on, ended  # new ones: an event that was waited for belongs to that test's loop
    started, go_on, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()


@dataclass(frozen=True, slots=True)
class Said:
    text: str


@tool(role=Role.READER, render=lambda said: said.text)
async def explode(call: Call, args: Arguments) -> Said:
    """Break."""
    raise RuntimeError(f"no such table in {SECRET}")


@tool(role=Role.READER, render=lambda said: said.text)
async def noop(call: Call, args: Arguments) -> Said:
    """Do nothing."""
    seen(call.caller)
    return Said("nothing")


@tool(role=Role.READER, render=lambda said: said.text)
async def long_work(call: Call, args: Arguments) -> Said:
    """Report three steps."""
    for step in range(3):
        await call.caller.progress(step, 3, f"step {step}")
    return Said("worked")


class WriteArguments(Arguments):
    word: Annotated[str, Field(description="what to write")]


@tool(role=Role.WRITER, summary="write slowly", render=lambda said: said.text)
async def write_slowly(call: Call, args: WriteArguments) -> Said:
    """Write two rows in one transaction, the second after the test says so."""

    def write(tx) -> None:
        for number in range(2):
            tx.run("INSERT INTO vault_info (key, value) VALUES (?, ?)", (f"{args.word}{number}", "x"))

    try:
        await call.caller.progress(0, 1, "started")
        started.set()
        await go_on.wait()
        await call.vault.db.write(write)
    finally:
        ended.set()
    return Said("written")
