"""What calls cost, counted from events: figures, bounds, and how long a big log takes.

Covers vaults.domain.continuity.feedback, vaults.domain.maintenance.daily_growth.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auth.principal import owner
from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import asker, local
from tests.people import give_role
from tests.work import sqlite_steps
from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.domain.actors import Actor
from vaults.domain.continuity import feedback, usage_report
from vaults.domain.continuity.usage_report import ToolUsage, UsageReport
from vaults.domain.maintenance import daily_growth
from vaults.vault import Vault

LONG_AGO = "2000-01-01T00:00:00.000Z"


@dataclass(frozen=True)
class Event:
    tool: str = "recall"
    outcome: str = "ok"
    ms: float = 1.0
    tokens_in: int = 1
    tokens_out: int = 10
    saved: int = 0
    type: str = "tool_call"
    resource: str | None = None
    owner: str = "owner"
    at: str = "2026-11-20T10:00:00.000Z"


def write(tx: Writer, events: Iterable[Event]) -> None:
    tx.many(
        "INSERT INTO events (at, owner, tool, type, resource, summary, outcome, ms, tokens_in, tokens_out, saved)"
        " VALUES (:at, :owner, :tool, :type, :resource, :tool, :outcome, :ms, :tokens_in, :tokens_out, :saved)",
        ({name: getattr(each, name) for name in Event.__dataclass_fields__} for each in events),
    )


@pytest.fixture
async def vault(services: Services) -> AsyncIterator[Vault]:
    async with services.pool.lease(services.registry_cache.entry("main")) as held:
        yield held


async def counted(
    vault: Vault, events: Iterable[Event], since: str = LONG_AGO, *, by_caller: bool = False
) -> UsageReport:
    await vault.db.write(lambda tx: write(tx, events))
    return await usage_report.read_usage(vault, since, by_caller=by_caller)


async def test_a_vault_nobody_called_cost_nothing(vault: Vault) -> None:
    found = await counted(vault, [])
    assert (found.sessions, found.tools, found.resumed, found.saved) == (0, [], 0, 0)
    assert usage_report.estimate_savings(found, 4000).net == 0
    assert usage_report.estimate_savings(found, 4000).percent is None


async def test_calls_are_counted_by_tool_busiest_first(vault: Vault) -> None:
    recalls = [Event(ms=float(ms), tokens_in=2, tokens_out=20) for ms in range(1, 101)]
    failed = [Event("remember", "storage_full", ms=250.4), Event("remember", ms=3.25)]
    aside = [Event("claims", type="claim", resource="src/db.ts"), Event("claims", type="release", resource="x")]
    found = await counted(vault, [*failed, *aside, *recalls])
    assert found.tools == [
        ToolUsage("recall", 100, 0, 50.0, 95.0, 200, 2000, baseline_tokens=2000),
        ToolUsage("remember", 2, 1, 3.2, 250.0, 2, 20),
    ]
    assert not found.truncated


async def test_only_what_came_since_is_counted(vault: Vault) -> None:
    old, new = Event(at="2026-11-01T00:00:00.000Z"), Event(at="2026-11-02T00:00:00.000Z")
    found = await counted(vault, [old, old, new], "2026-11-02T00:00:00.000Z")
    assert [use.calls for use in found.tools] == [1]
    assert (await usage_report.read_usage(vault, "2026-11-03T00:00:00.000Z", by_caller=True)).tools == []


async def test_sessions_that_opened_something_are_what_is_spared(vault: Vault) -> None:
    resumed = Event("session_resume", type="session_resumed", tokens_out=300)
    taken = Event("handoff_load", type="handoff_accepted", tokens_out=300)
    nothing_there = replace(resumed, type="tool_call")
    failed = replace(taken, type="tool_call", outcome="not_found", tokens_out=0)
    pack = Event("context", saved=12_000, tokens_out=2400)
    found = await counted(vault, [resumed, taken, nothing_there, failed, pack])
    saved = usage_report.estimate_savings(replace(found, sessions=2), schemas=4000)
    assert (saved.cold_starts_avoided, saved.estimated, saved.overhead, saved.responses) == (2, 15_350, 8000, 3300)
    assert saved.net == 15_350 - 8000 - 3300
    assert saved.percent == round(100 * saved.net / 16_000, 1)
    assert saved.measured == 12_000


async def test_callers_are_named_as_people_know_them(services: Services, vault: Vault) -> None:
    await give_role(services, "alice")
    assert (await asker(services, Caller(local("alice"), "main", Role.WRITER, "http"))("status")).ok
    assert (await asker(services, Caller(owner("cli"), "main", Role.ADMIN, "cli"))("status")).ok
    found = await counted(vault, [Event(owner="local|gone")], by_caller=True)
    assert {use.who: use.calls for use in found.callers} == {"alice": 1, "owner": 1, "local|gone": 1}
    assert (await usage_report.read_usage(vault, LONG_AGO, by_caller=False)).callers == []


async def test_a_long_log_is_counted_in_steps_that_grow_with_its_length(vault: Vault) -> None:
    tools = [f"tool-{number}" for number in range(40)]
    steps = []
    for first, last in ((0, 6_250), (6_250, 50_000)):
        events = (Event(tools[n % 40], ms=(n * 7919 % 50_000) / 100) for n in range(first, last))
        await vault.db.write(lambda tx, events=events: write(tx, events))  # type: ignore[misc]
        steps.append(
            await vault.db.read(
                lambda tx: sqlite_steps(tx, lambda: usage_report.count_usage(tx, LONG_AGO, by_caller=True))  # type: ignore[misc]
            )
        )
    assert steps[1] < 1.2 * 8 * steps[0]
    found = await usage_report.read_usage(vault, LONG_AGO, by_caller=True)
    assert sum(use.calls for use in found.tools) == 50_000
    assert found.tools[0].p50_ms == pytest.approx(250, rel=0.02)
    assert found.tools[0].p95_ms == pytest.approx(475, rel=0.02)


async def test_of_a_longer_log_the_newest_are_counted_and_it_says_since_when(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage_report, "MAX_EVENTS", 10)
    days = [f"2026-11-{day:02}T00:00:00.000Z" for day in range(1, 16)]
    found = await counted(vault, [Event(at=day) for day in days])
    assert (found.truncated, found.since, found.tools[0].calls) == (True, days[5], 10)
    exact = await usage_report.read_usage(vault, days[5], by_caller=False)
    assert (exact.truncated, exact.since, exact.tools[0].calls) == (False, days[5], 10)


@given(st.lists(st.floats(min_value=0, max_value=90_000), min_size=1, max_size=60), st.sampled_from([0.5, 0.95]))
def test_quantiles_are_of_the_calls_themselves_but_for_their_rounding(times: list[float], share: float) -> None:
    def step(ms: float) -> int:
        return int(ms * 10) if ms < 100 else int(ms) * 10

    steps = sorted((step(ms), 1) for ms in times)
    rank = -(-len(times) * round(share * 100) // 100)
    exact = sorted(times)[rank - 1]
    assert usage_report._quantile(steps, len(times), share) == pytest.approx(exact, abs=0.1 if exact < 100 else 1.0)


async def test_what_was_said_of_a_tool_counts_from_fifteen_on(services: Services, vault: Vault) -> None:
    ask = asker(services)
    for _ in range(14):
        assert (await ask("feedback", type="right_tool", tool="recall")).ok
    for _ in range(20):
        assert (await ask("feedback", type="friction", tool="recall", message="slow")).ok
    assert await vault.db.read(feedback.posteriors) == {}
    assert (await ask("feedback", type="wrong_tool", tool="recall")).ok
    assert await vault.db.read(feedback.posteriors) == {"recall": 0.9}
    found = (await ask("usage")).content["tools"]
    assert {use["tool"]: use.get("right") for use in found} == {"feedback": None}


def test_the_prior_is_four_of_five() -> None:
    assert feedback.posterior(15, 15) == 0.95
    assert feedback.posterior(0, 15) == 0.2


async def test_growth_is_counted_by_the_day_things_came_whatever_they_say_of_themselves(
    services: Services, vault: Vault
) -> None:
    ask = asker(services)
    assert (await ask("remember", content="ten chars.")).ok
    assert (await ask("remember", content="old news", occurred_at="2001-01-01")).ok
    older = datetime.now(UTC) - timedelta(days=40)
    digits = f"{int(older.timestamp() * 1000):012x}"
    await vault.db.write(
        lambda tx: tx.run(
            "UPDATE memories SET id = ? WHERE content = 'old news'",
            (f"{digits[:8]}-{digits[8:]}-7000-8000-000000000000",),
        )
    )
    grown = await daily_growth.read_daily_growth(vault, Actor("owner", "owner"))
    assert [(day.memories, day.notes, day.size) for day in grown] == [(1, 0, 10)]
    assert grown[0].day in {clock.ago(120)[:10], clock.now()[:10]}  # to 66 s


async def test_growth_counts_no_private_memory_of_another(services: Services, vault: Vault) -> None:
    assert (await asker(services)("remember", content="mine", visibility="private")).ok

    grown = [await daily_growth.read_daily_growth(vault, Actor(viewer, viewer)) for viewer in ("owner", "local|bob")]
    assert list(map(len, grown)) == [1, 0]


async def test_growth_is_counted_again_only_when_something_came_or_the_oldest_is_too_old(
    services: Services, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[str] = []
    count = daily_growth.count_growth

    def noting(tx: Reader, viewer: str, since: datetime) -> tuple[list[daily_growth.DayGrowth], str | None]:
        counted.append(viewer)
        return count(tx, viewer, since)

    monkeypatch.setattr(daily_growth, "count_growth", noting)

    async def grown() -> list[int]:
        return [each.memories for each in await daily_growth.read_daily_growth(vault, Actor("owner", "owner"))]

    ask = asker(services)
    assert (await ask("remember", content="one")).ok
    assert (await grown(), await grown(), len(counted)) == ([1], [1], 1)
    assert (await ask("recall", query="one")).ok, "calls that only read leave it as it is"
    assert (await grown(), len(counted)) == ([1], 1)
    earlier = datetime.now(UTC) - timedelta(days=daily_growth.DAYS - 0.5)
    digits = f"{int(earlier.timestamp() * 1000):012x}"
    assert (await ask("remember", content="two")).ok
    await vault.db.write(
        lambda tx: tx.run(
            "UPDATE memories SET id = ? WHERE content = 'two'", (f"{digits[:8]}-{digits[8:]}-7000-8000-000000000000",)
        )
    )
    assert (await grown(), await grown(), len(counted)) == ([1, 1], [1, 1], 2)
    monkeypatch.setattr(daily_growth, "DAYS", daily_growth.DAYS - 1)
    assert (await grown(), len(counted)) == ([1], 3)
