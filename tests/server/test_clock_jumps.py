"""The machine's clock is set ahead or back while a vault is in use: no age below none, and nothing lost by it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import pytest

from auth.grants import set_grant
from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, asker, local
from tests.noted import PATIENCE_S, until
from vaults import clock
from vaults.domain.maintenance import retention

HOUR, YEAR = timedelta(hours=1), timedelta(days=366)


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[timedelta], None]:
    """``set_clock(HOUR)``: from now on it is an hour later than it is."""

    def jump(by: timedelta) -> None:
        class Shifted(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> Any:
                return datetime.now(tz) + by

        monkeypatch.setattr(clock, "datetime", Shifted)

    return jump


async def person(services: Services, name: str) -> Asking:
    await services.access_cache.write(lambda tx: set_grant(tx, name, "local", "main", Role.WRITER))
    return asker(services, Caller(local(name), "main", Role.WRITER, "http"))


async def swept(services: Services) -> None:
    """Until what the vault takes for run out is dealt with."""
    async with services.pool.lease(services.registry_cache.entry("main")) as vault, asyncio.timeout(PATIENCE_S):
        vault.start_background_work()
        while True:
            if not vault.background.is_busy and not await vault.db.read(retention.is_sweep_due):
                return
            await asyncio.sleep(0.01)


async def rows(services: Services, statement: str) -> list[tuple[Any, ...]]:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await vault.activity_log.flush()
        return [tuple(row) for row in await vault.db.read(lambda tx: tx.all(statement))]


@pytest.mark.parametrize("by", [HOUR, YEAR])
async def test_a_clock_that_is_set_ahead_and_back_deletes_and_archives_nothing_early(
    services: Services, set_clock: Callable[[timedelta], None], by: timedelta
) -> None:
    ask = await person(services, "ann")
    kept = {"content": "the gate code is on the fridge", "ttl_days": 0.03}
    expiring = (await ask("remember", **kept)).content["id"]
    old = (await ask("remember", content="paint is blue")).content["id"]
    await ask("memory_supersede", id=old, content="paint is green")
    left = (await ask("handoff_create", goal="g", current_state="c", next_action="n", ttl_days=0.03)).content["handoff"]
    await swept(services)
    before = await rows(services, "SELECT id, archived_at FROM memories ORDER BY seq")
    calls = await rows(services, "SELECT COUNT(*) FROM events")
    set_clock(by)
    assert (await ask("recall", query="gate")).ok
    assert (await ask("handoff_load", id=left["id"])).content["handoff"]["status"] == "expired"
    assert (await ask("handoff_load", id=left["id"], accept=True)).code == "conflict"
    await swept(services)
    set_clock(timedelta())
    await swept(services)
    assert await rows(services, "SELECT id, archived_at FROM memories ORDER BY seq") == before
    assert await rows(services, "SELECT COUNT(*) FROM events") >= calls
    assert (await ask("recall", query="gate code")).content["hits"][0]["id"] == expiring
    assert (await ask("handoff_load", accept=True)).ok, "it has not expired, and nobody took it"


@pytest.mark.parametrize("by", [-HOUR, -YEAR])
async def test_a_clock_that_is_set_back_makes_no_ages_below_none_and_revives_nothing(
    services: Services, set_clock: Callable[[timedelta], None], by: timedelta
) -> None:
    ann, ben = await person(services, "ann"), await person(services, "ben")
    await ann("remember", content="the harbour opens at six", type="decision")
    gone = (await ann("remember", content="for a moment only", ttl_days=1e-6)).content["id"]
    await until(services, lambda tx: tx.one("SELECT 1 FROM memories WHERE expires_at < ?", (clock.now(),)) is not None)
    await swept(services)
    await ann("claims", action="claim", resources=["src/db.ts"])
    await rows(services, "SELECT 1")
    set_clock(by)
    for ask in (ann, ben):
        around = (await ask("session_resume")).content
        assert around["session"]["status"] == "active"
        pack = await ask("context", query="harbour", format="json")
        assert pack.ok
        assert "-" not in "".join(_ages(pack.content)), pack.content
        assert (await ask("status")).ok
        assert (await ask("usage")).ok
    assert not [hit for hit in (await ann("recall", query="for a moment only")).content["hits"] if hit["id"] == gone]
    assert (await ann("claims", action="claim", resources=["src/db.ts"])).ok
    (held,) = (await ben("claims")).content["claims"]
    assert held["resource"] == "src/db.ts"


def _ages(content: Any) -> list[str]:
    """Everything called an age, wherever it stands."""
    if isinstance(content, dict):
        own = [str(value) for name, value in content.items() if name.startswith("age")]
        return own + [age for value in content.values() for age in _ages(value)]
    return [age for value in content for age in _ages(value)] if isinstance(content, list) else []


async def test_who_works_while_the_clock_is_ahead_goes_on_in_the_same_session(
    services: Services, set_clock: Callable[[timedelta], None]
) -> None:
    ann, ben = await person(services, "ann"), await person(services, "ben")
    first = (await ann("session_resume")).content["session"]["id"]
    for by in (YEAR, timedelta(), -YEAR, timedelta()):
        set_clock(by)
        assert (await ben("session_resume")).ok
        mine = (await ann("session_resume")).content["session"]
        assert (mine["id"], mine["status"]) == (first, "active")
        told = (await ann("session_history", status="active", max_tokens=20_000)).content["sessions"]
        (row,) = [each for each in told if each["id"] == first]
        assert row["started_at"] <= clock.to_text(datetime.now(UTC) + HOUR)
