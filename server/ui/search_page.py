"""Search over everything in a vault: a form whose address can be passed on, and why each hit is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.responses import Response

from server.ui.page import VaultPage
from server.ui.search_facets import count_facets
from server.ui.search_hits import show_hits
from server.ui.search_question import MODES, PER_PAGE, Question
from server.ui.vault_view import VaultView, complaint_of


async def show(view: VaultView) -> Response:
    """The page, with hits where something is asked."""
    question = Question.of(view.request.query_params)
    values: dict[str, Any] = {"question": question, "modes": MODES, "address": f"{view.home}search"}
    if not question.q:
        return view.page("search", here="search", **values, facets=count_facets([], question))
    outcome = await view.ask("search", **question.as_arguments())
    complaint = complaint_of(outcome)
    if complaint is not None:
        values |= {"facets": count_facets([], question), "complaint": complaint}
        return view.page("search", here="search", status=complaint.status, **values)
    return view.page("search", here="search", **values, **search_values(outcome.content, question, lambda _: view.home))


def search_values(
    found: Mapping[str, Any], question: Question, home_of: Callable[[Mapping[str, Any]], str]
) -> dict[str, Any]:
    """What a page shows of an answer: the hits of one page, and the filters counted over all of them."""
    picked = [hit for hit in found["hits"] if question.picks(hit)]
    shown = picked[question.start : question.start + PER_PAGE]
    return {
        "found": found,
        "hits": list(show_hits(shown, home_of)),
        "total": len(picked) if question.types else found["total"],
        "among": len(picked),
        "more": question.next_address(len(picked), found.get("cursor")),
        "facets": count_facets(found["hits"], question),
    }


PAGE = VaultPage("search", show)
