"""What another process changes in the registry is seen, whichever of two readings ends last."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from server.services import Services
from vaults import registry
from vaults.db.sql import Reader
from vaults.registry import VaultRules


async def test_a_reading_that_ends_late_hides_nothing_that_a_later_one_found(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    control, cache = services.control, services.registry_cache
    read, let_go, has_read = control.read, asyncio.Event(), asyncio.Event()
    readings = 0

    async def read_and_linger(work: Callable[[Reader], Any]) -> Any:
        nonlocal readings
        readings += 1
        found = await read(work)
        if not has_read.is_set():
            has_read.set()
            await let_go.wait()
        return found

    await control.write(lambda tx: registry.create(tx, "another"))  # else there is nothing to read
    monkeypatch.setattr(control, "read", read_and_linger)
    late = asyncio.create_task(cache.refresh())
    await has_read.wait()
    await control.write(lambda tx: registry.set_rules(tx, "main", VaultRules(write_mode="ask")))
    newer = asyncio.create_task(cache.refresh())
    await asyncio.sleep(0)
    if readings > 1:  # it did not wait for the earlier one: let it end first
        await newer
    let_go.set()
    await asyncio.gather(late, newer)
    assert cache.entry("main").write_mode == "ask"


async def test_the_registry_is_read_again_only_after_something_was_written(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    control, cache = services.control, services.registry_cache
    await cache.refresh()
    read, readings = control.read, 0

    async def count_and_read(work: Callable[[Reader], Any]) -> Any:
        nonlocal readings
        readings += 1
        return await read(work)

    monkeypatch.setattr(control, "read", count_and_read)
    await cache.refresh()
    assert readings == 0
    await control.write(lambda tx: registry.create(tx, "another"))
    await cache.refresh()
    assert readings == 1
    assert cache.known("another")
