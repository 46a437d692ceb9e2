"""Questions put to a server through MCP, and what it found."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench import wire
from bench.measurements import p50
from bench.quality.as_files import name_place
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
    answers = [result_of(body) for body in driven.bodies]
    for question, answer in zip(judged.questions, answers, strict=True):
        if answer["mode_used"] != MODES[run] or answer.get("truncated"):
            how = "cut short" if answer.get("truncated") else f"answered by {answer['mode_used']}"
            raise RuntimeError(f"question {question.id} of {judged.task.name}, run {run}: {how}")
    if judged.task.as_transcripts:
        named = _rank_turns(judged, port, token, run, answers)
    else:
        named = ([hit_name(hit, judged) for hit in answer["hits"]] for answer in answers)
    ranked = {
        question.id: list(dict.fromkeys(names))[:DEPTH] for question, names in zip(judged.questions, named, strict=True)
    }
    return AnsweredRun(ranked, p50(driven.seconds))


def _rank_turns(
    judged: JudgedSet, port: int, token: str, run: str, answers: Sequence[Mapping[str, Any]]
) -> Iterator[list[str]]:
    """The turns that were found, each at its own place: a hit shows neighbours together, ``explain`` lists them as they
    rank."""
    requests = [
        VaultEndpoint(port, question.vault, token).call(
            "explain", {**_arguments(question.text, judged, run), "candidates": 1, "budget_tokens": 50}
        )
        for question in judged.questions
    ]
    turns = name_turns(judged)
    bodies = wire.drive(RequestLoad(port, CLIENTS, requests, 1 << 24)).bodies
    for question, answer, body in zip(judged.questions, answers, bodies, strict=True):
        yield name_returned(result_of(body)["returned"], answer["hits"], turns, question.vault)


def name_returned(
    returned: Sequence[str], hits: Sequence[Mapping[str, Any]], turns: TurnNames, vault: str
) -> list[str]:
    """The ids the set knows turns by, as they rank: of each reference all turns that share its passage. ``hits`` tell
    when each transcript was."""
    times = {hit["parent"]: hit["occurred_at"] for hit in hits}
    found = [ref.rpartition("#") for ref in returned]
    return [name for parent, _, place in found for name in turns[vault, times[parent], int(place)]]


def warm(port: int, token: str, vault: str) -> None:
    """Wait until the model is loaded: before that, an answer may be by words alone."""
    call = VaultEndpoint(port, vault, token).call(TOOL, {"query": "warm", "limit": 1})
    until = time.monotonic() + WARM_S
    with RawConnection(port) as line:
        while result_of(line.ask(call))["mode_used"] != DEFAULT:
            if time.monotonic() > until:
                raise RuntimeError(f"{vault} still answers by words alone after {WARM_S:.0f} s")
            time.sleep(GLANCE_S)


def hit_name(hit: Mapping[str, Any], judged: JudgedSet) -> str:
    """The id the set knows a hit by."""
    if judged.task.as_files:
        return name_place(hit["place"])
    return str(hit["parent"] if judged.task.by_parent else hit["external_id"])


def _arguments(query: str, judged: JudgedSet, run: str) -> dict[str, Any]:
    arguments: dict[str, Any] = {"query": query, "limit": DEPTH, "max_tokens": BUDGET}
    if judged.task.by_parent:
        arguments["group_by"] = "parent"
    if judged.task.as_transcripts:
        arguments["kinds"] = ["transcript"]
    if run != "default":
        arguments["mode"] = MODES[run]
    return arguments
