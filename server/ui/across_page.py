"""Search over every vault somebody may enter, each hit with its vault: one call, as an agent asks several."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from starlette.responses import Response

from server.dispatch import CallOutcome
from server.ui.page import PersonPage
from server.ui.person_view import PersonView
from server.ui.search_facets import count_facets, count_vaults
from server.ui.search_page import asked_with, search_values
from server.ui.search_question import MODES, Question
from server.ui.vault_view import complaint_of

_DOES_NOT_OPEN = frozenset({"vault_unavailable", "vault_quarantined", "overloaded"})

ATTEMPTS = 3
"""Vaults a call is made in before it is given up: one that does not open is named by the next one's answer."""


async def show(view: PersonView) -> Response:
    """The page. ``vault`` narrows it; a name that is none of theirs counts as left out."""
    names = sorted(view.vaults)
    asked = Question.of(view.request.query_params)
    question = replace(asked, cursor="", vaults=tuple(name for name in asked.vaults if name in names))
    base = view.parts.base
    values: dict[str, Any] = {
        "question": question, "modes": MODES, "address": f"{base}/ui/search", "across": True, "facets": [],
    }  # fmt: skip
    if not question.q or not names:
        values["facets"] = [count_vaults([], names, question), *count_facets([], question)]
        return view.page("search", **values)
    asked_for = (_ask(view, each, question.vaults or names) for each in asked_with(question))
    outcome, *others = await asyncio.gather(*asked_for)
    complaint = complaint_of(outcome)
    if complaint is not None:
        values["facets"] = [count_vaults([], names, question), *count_facets([], question)]
        return view.page("search", status=complaint.status, **values, complaint=complaint)
    values |= search_values(outcome.content, question, lambda hit: f"{base}/ui/v/{hit['vault']}/", others)
    values["facets"] = [count_vaults(outcome.content["hits"], names, question), *values["facets"]]
    return view.page("search", **values)


async def _ask(view: PersonView, question: Question, names: Sequence[str]) -> CallOutcome:
    arguments = question.as_arguments() | {"vaults": list(question.vaults) or ["*"]}
    outcomes = [await view.enter(names[0]).ask("search", **arguments)]
    for name in names[1:ATTEMPTS]:
        if outcomes[-1].code not in _DOES_NOT_OPEN:
            break
        outcomes.append(await view.enter(name).ask("search", **arguments))
    return outcomes[-1]


PAGE = PersonPage("search", show)
