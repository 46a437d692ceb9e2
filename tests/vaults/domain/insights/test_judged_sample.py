"""Titles ask for what stands below them; what says nothing, or says it twice, is not asked."""

from __future__ import annotations

from server.services import Services
from tests.conftest import Asking
from vaults.domain.insights.judged_sample import JudgedSample, read_sample

TEXT = "It is checked on Mondays by whoever comes first, and written into the book."


async def sample(services: Services, most: int = 300) -> JudgedSample:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        return await vault.db.read(lambda tx: read_sample(tx, most))


async def test_a_title_asks_for_the_text_without_it(services: Services, ask: Asking) -> None:
    await ask("remember", content=f"# The harbour crane\n\n{TEXT}", title="The harbour crane")
    found = await sample(services)
    assert found.judged.questions == (("The harbour crane", 0),)
    assert (found.judged.texts, found.titles, found.sentences) == ((TEXT,), 1, 0)


async def test_a_memory_without_a_title_is_asked_for_by_its_first_sentence(services: Services, ask: Asking) -> None:
    await ask("remember", content=f"The crane is inspected every week. {TEXT}")
    await ask("remember", content="Too short to be cut.")
    found = await sample(services)
    assert found.judged.questions == (("The crane is inspected every week.", 0),)
    assert found.judged.texts == (TEXT, "Too short to be cut.")
    assert (found.titles, found.sentences) == (0, 1)


async def test_dates_and_titles_of_several_are_not_asked(services: Services, ask: Asking) -> None:
    for title, extra in (("2026-11-26", "a"), ("Weekly meeting", "b"), ("weekly meeting", "c")):
        await ask("remember", content=f"{TEXT} {extra}", title=title)
    found = await sample(services)
    assert found.judged.questions == ()
    assert len(found.judged.texts) == 3


async def test_a_sample_is_spread_evenly_and_the_same_each_time(services: Services, ask: Asking) -> None:
    for number in range(9):
        await ask("remember", content=f"{TEXT} Number {number} of nine.", title=f"Crane of quay {'abcdefghi'[number]}")
    found = await sample(services, most=3)
    assert [title[-1] for title, _ in found.judged.questions] == ["a", "d", "g"]
    assert found == await sample(services, most=3)
