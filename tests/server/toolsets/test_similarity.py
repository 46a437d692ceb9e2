"""Local Recall's similarity is the cosine, comparable between questions (server.toolsets.local_recall)."""

from __future__ import annotations

from typing import Any

from auth.principal import owner
from auth.roles import Role
from server.call import Caller
from server.dispatch import dispatch
from server.services import Services
from server.toolsets.registry import find_old_tool
from server.toolsets.serving import serve_old_tool
from tests.conftest import Asking


async def _search(services: Services, query: str) -> list[dict[str, Any]]:
    called = find_old_tool(services.registry, "local-recall", "episodic_search")
    assert called is not None
    caller = Caller(owner("cli"), "main", Role.ADMIN, "cli", preset="local-recall")

    async def call(who: Caller, name: str, arguments: Any) -> Any:
        return await dispatch(services, who, name, arguments)

    outcome = await serve_old_tool(services, *called, caller, {"query": query}, call)
    assert outcome.ok, outcome.text
    results: list[dict[str, Any]] = outcome.content["results"]
    return results


async def test_the_best_hit_of_a_poor_question_is_not_at_one(services: Services, ask: Asking) -> None:
    text = "The ferry leaves the east pier at nine"
    await ask("remember", content=text, type="fact")
    near, far = await _search(services, text), await _search(services, "which ferry is painted in green and white")
    signals = (await ask("search", query=text)).content["hits"][0]["signals"]
    assert near[0]["similarity"] == signals["semantic"]
    assert 0 <= far[0]["similarity"] < 0.7 < near[0]["similarity"] <= 1


async def test_our_own_answer_leaves_the_parts_of_the_score_out(ask: Asking) -> None:
    await ask("remember", content="The ferry leaves the east pier at nine")
    assert "signals" not in (await ask("recall", query="ferry")).content["hits"][0]
