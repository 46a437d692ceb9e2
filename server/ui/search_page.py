"""Search over everything in a vault: a form whose address can be passed on, and why each hit is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from starlette.responses import Response

from server.dispatch import CallOutcome
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
    outcome, *others = await view.ask_all(*(("search", each.as_arguments()) for each in asked_with(question)))
    complaint = complaint_of(outcome)
    if complaint is not None:
        values |= {"facets": count_facets([], question), "complaint": complaint}
        return view.page("search", here="search", status=complaint.status, **values)
    return view.page(
        "search", here="search", **values, **search_values(outcome.content, question, lambda _: view.home, others)
    )


def asked_with(question: Question) -> list[Question]:
    """A question, and the one that counts types that it does not ask for."""
    return [question, question.of_any_type] if question.of_any_type else [question]


def search_values(
    found: Mapping[str, Any],
    question: Question,
    home_of: Callable[[Mapping[str, Any]], str],
    others: Sequence[CallOutcome],
) -> dict[str, Any]:
    """What a page shows of an answer: the hits of one page, and the filters counted over all of them. ``others``: the
    answer that counts types; where it failed, the types that were asked for are counted alone."""
    hits = found["hits"]
    of_any_type = next((each.content["hits"] for each in others if each.ok), None)
    return {
        "found": found,
        "hits": list(show_hits(hits[question.start : question.start + PER_PAGE], home_of)),
        "total": found["total"],
        "among": len(hits),
        "more": question.next_address(len(hits), found.get("cursor")),
        "facets": count_facets(hits, question, of_any_type),
    }


PAGE = VaultPage("search", show)
