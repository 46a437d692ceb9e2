"""What is left of confidence when nobody reads a memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.services import Services
from tests.conftest import Asking
from vaults import clock
from vaults.domain.memories.confidence_decay import decay_confidence
from vaults.settings import HygieneSettings

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
DEFAULT = HygieneSettings()


def _left(confidence: float | None, days: float) -> float | None:
    return decay_confidence(confidence, clock.to_text(NOW - timedelta(days=days)), clock.to_text(NOW), DEFAULT)


@pytest.mark.parametrize(
    ("days", "left"), [(0, 0.8), (7, 0.8), (22, 0.8 * 0.5**0.5), (37, 0.4), (67, 0.2), (97, 0.1), (1000, 0.1)]
)
def test_it_stands_for_a_week_then_halves_every_thirty_days_down_to_the_floor(days: float, left: float) -> None:
    assert _left(0.8, days) == pytest.approx(left)


def test_what_was_less_than_the_floor_stays_and_what_was_not_given_is_not_made_up() -> None:
    assert _left(0.05, 1000) == 0.05
    assert _left(None, 1000) is None


@given(st.floats(0, 1), st.floats(-4000, 4000), st.floats(0, 400))
def test_it_never_grows_whatever_becomes_of_the_clock(confidence: float, days: float, more: float) -> None:
    left, later = _left(confidence, days), _left(confidence, days + more)
    assert left is not None
    assert later is not None
    assert later <= left <= confidence
    assert later >= min(confidence, DEFAULT.floor)


async def test_a_memory_shows_what_is_left_only_where_that_is_less(services: Services, ask: Asking) -> None:
    old = (await ask("remember", content="The moon is made of rock", confidence=0.8)).content["id"]
    new = (await ask("remember", content="The sun is made of gas", confidence=0.8)).content["id"]
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await vault.db.write(
            lambda tx: tx.run("UPDATE memories SET created_at = ? WHERE id = ?", (clock.ago(37 * 86_400), old))
        )
        listed = {each["id"]: each for each in (await ask("memory_list")).content["memories"]}
        assert listed[old]["confidence_now"] == pytest.approx(0.4, abs=0.01)
        assert listed[old]["confidence"] == 0.8
        assert "confidence_now" not in listed[new]
        assert (await ask("memory_get", ids=[old])).content["memories"][0]["confidence_now"] < 0.5
        await vault.settle()
    # It was read: from now on it counts for all of what it was.
    assert "confidence_now" not in (await ask("memory_get", ids=[old])).content["memories"][0]


async def test_a_pack_takes_what_is_still_read_before_what_nobody_reads(services: Services, ask: Asking) -> None:
    for name in ("Ada", "Bob"):
        assert (await ask("remember", content=f"The gateway is looked after by {name}", confidence=0.9)).ok

    async def first() -> str:
        pack = (await ask("context", query="who looks after the gateway", format="json")).content
        return str(pack["memories"][0]["id"])

    best = await first()
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await vault.db.write(
            lambda tx: tx.run("UPDATE memories SET created_at = ? WHERE id = ?", (clock.ago(200 * 86_400), best))
        )
    assert await first() != best
