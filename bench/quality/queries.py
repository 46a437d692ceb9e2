"""Questions put to a server through MCP, and what it found."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench import wire
from bench.measurements import p50
from bench.quality.as_transcripts import TurnNames, name_turns
from bench.quality.sets import JudgedSet
from bench.wire import RawConnection, RequestLoad, VaultEndpoint, result_of

TOOL = "search"
DEPTH, CLIENTS, BUDGET = 20, 2, 50_000
DEFAULT = "hybrid"
MODES = {"default": DEFAULT, "keyword": "keyword", "semantic": "semantic"}
"""The runs, and the mode each has to be answered in; the default is not even named in the call."""

WARM_S, GLANCE_S = 60.0, 0.1

Ranked = Mapping[str, list[str]]
"""The names found for each question, best first."""


@dataclass(frozen=True, slots=True)
class AnsweredRun:
    """A run, and what a call took: the median in seconds, with two clients."""

    ranked: Ranked
    seconds: float


def ask(judged: JudgedSet, port: int, token: str, run: str) -> AnsweredRun:
    """Put every question. Raises ``RuntimeError`` for an answer in another mode, one that was cut, or an error."""
    requests = [
        VaultEndpoint(port, question.vault, token).call(TOOL, _arguments(question.text, judged, run))
        for question in judged.questions
    ]
    driven = wire.drive(RequestLoad(port, CLIENTS, requests, 1 << 24))
    turns = name_turns(judged) if judged.task.as_transcripts else {}
    ranked = {}
    for question, body in zip(judged.questions, driven.bodies, strict=True):
        answer = result_of(body)
        if answer["mode_used"] != MODES[run] or answer.get("truncated"):
            how = "cut short" if answer.get("truncated") else f"answered by {answer['mode_used']}"
            raise RuntimeError(f"question {question.id} of {judged.task.name}, run {run}: {how}")
        names = (name for hit in answer["hits"] for name in hit_names(hit, judged, turns, question.vault))
        ranked[question.id] = list(dict.fromkeys(names))[:DEPTH]
    return AnsweredRun(ranked, p50(driven.seconds))


def warm(port: int, token: str, vault: str) -> None:
    """Wait until the model is loaded: before that, an answer may be by words alone."""
    call = VaultEndpoint(port, vault, token).call(TOOL, {"query": "warm", "limit": 1})
    until = time.monotonic() + WARM_S
    with RawConnection(port) as line:
        while result_of(line.ask(call))["mode_used"] != DEFAULT:
            if time.monotonic() > until:
                raise RuntimeError(f"{vault} still answers by words alone after {WARM_S:.0f} s")
            time.sleep(GLANCE_S)


def hit_names(hit: Mapping[str, Any], judged: JudgedSet, turns: TurnNames, vault: str) -> list[str]:
    """The ids the set knows a hit by: one, or those of all turns that it shows."""
    if judged.task.as_transcripts:
        places = dict.fromkeys(
            [hit["position"], *hit.get("positions", ())]
        )  # the turn that matched, then its neighbours
        return [name for place in places for name in turns[vault, hit["occurred_at"], place]]
    return [str(hit["parent"] if judged.task.by_parent else hit["external_id"])]


def _arguments(query: str, judged: JudgedSet, run: str) -> dict[str, Any]:
    arguments: dict[str, Any] = {"query": query, "limit": DEPTH, "max_tokens": BUDGET}
    if judged.task.by_parent:
        arguments["group_by"] = "parent"
    if judged.task.as_transcripts:
        arguments["kinds"] = ["transcript"]
    if run != "default":
        arguments["mode"] = MODES[run]
    return arguments
