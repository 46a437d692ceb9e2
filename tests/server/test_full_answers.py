"""Answers that fill their budget: each is found once, and one that turns out too long says the same when asked again.

Covers server.dispatch, vaults.domain.paging.token_budget.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Opening, asker
from tests.noted import folder, indexed, put
from vaults.domain.retrieval import hybrid_search

NOTES = {
    f"log/{number:03}.md": f"# Day {number}\n" + f"The ferry of day {number} left at nine. It was windy.\n" * 30
    for number in range(90)
}
WITHOUT_MODEL = {"embedding.engine": "off"}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The limits of the searches that were made."""
    limits: list[int] = []
    search = hybrid_search.search_vault

    async def counted(vault: Any, ask: Any) -> Any:
        limits.append(ask.limit)
        return await search(vault, ask)

    monkeypatch.setattr(hybrid_search, "search_vault", counted)
    return limits


async def test_an_answer_that_fills_its_budget_is_found_once(
    opening: Opening, tmp_path: Path, asked: list[int]
) -> None:
    put(folder(tmp_path), NOTES)
    async with opening(WITHOUT_MODEL) as services:
        await indexed(services, len(NOTES))
        for room in range(600, 1500, 50):
            answer = await asker(services)("search", query="ferry windy", max_tokens=room)
            assert (answer.content["truncated"], bool(answer.content["cursor"])) == (True, True)
        assert len(asked) == 18


async def test_one_that_is_asked_for_again_counts_as_much_as_before(
    opening: Opening, tmp_path: Path, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.tools.search.MARGIN", -300)
    put(folder(tmp_path), NOTES)
    async with opening(WITHOUT_MODEL) as services:
        await indexed(services, len(NOTES))
        answer = await asker(services)("search", query="ferry windy", limit=200, max_tokens=1000)
        assert len(asked) > 1
        assert answer.content["total"] == len(NOTES)
