"""Callers who write and read in turns, and count what fails: where nothing may."""

from __future__ import annotations

import asyncio
from collections import Counter

import httpx2

from tests.cluster.installation import Installation


async def call_until(
    done: asyncio.Event, installation: Installation, names: list[str], caller: int, failed: Counter[str]
) -> int:
    """How many calls were answered; a write and a read in turns, each of any server that is offered."""
    answered = number = 0
    while not done.is_set():
        number += 1
        name = installation.chance.choice(names)
        tool, arguments = (
            ("remember", {"content": f"Caller {caller} said {number}."}) if number % 2 else ("memory_list", {})
        )
        try:
            answer = await installation.ask(name, tool, arguments)
        except (httpx2.TransportError, LookupError) as failure:
            failed[f"{tool}: {failure!r}"] += 1
            continue
        answered += answer.code is None
        if answer.code is not None:
            failed[f"{tool}: {answer.text}"] += 1
        await asyncio.sleep(0.01)
    return answered
