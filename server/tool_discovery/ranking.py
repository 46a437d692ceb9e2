"""Which tools fit a task, best first: words before meaning, shifted by callers' feedback on each tool. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from server.tool_discovery.patterns import ToolMatch, find_matches
from server.tool_spec import ToolSpec

MAX_ADVISED = 3
"""Max tools advised, each of a different group."""

EXPECTED_RIGHT = 0.8
"""How often a tool is assumed right without feedback: four times out of five."""

MIN_SHIFT, MAX_SHIFT = 0.5, 1.25
"""Bounds of the factor by which feedback changes a score."""


MIN_COMMON_WORDS = 2
"""Common words for which a tool is advised where nothing else matches."""

_WORD = re.compile(r"\w{4,}")


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """A tool that fits, and the action that the task's words name, if any."""

    spec: ToolSpec
    action: str | None
    score: float


def rank_tools(
    specs: Sequence[ToolSpec], task: str, near: Mapping[str, float], right: Mapping[str, float]
) -> list[ToolChoice]:
    """The best tool of each of the best groups. ``near``: cosines of tools near the task; ``right``: how often each
    tool with enough feedback is the right one. A tool that the task's words name comes before one that is only near.
    Of the tools everybody is shown anyway, only the nearest of all counts by meaning. Where neither words nor meaning
    match, common words decide."""
    named = find_matches(task)
    known = {spec.name: spec for spec in specs}
    within = {name: cosine for name, cosine in near.items() if name in known}
    nearest = max(within, key=lambda name: within[name], default=None)
    further = [name for name in within if known[name].preset != "agent" or name == nearest]
    scored = [
        _score_tool(known[name], named.get(name), near, right) for name in known if name in named or name in further
    ]
    scored = scored or [
        ToolChoice(spec, None, shared) for spec in specs if (shared := _common_words(spec, task)) >= MIN_COMMON_WORDS
    ]
    ordered = sorted(scored, key=lambda each: (-each.score, each.spec.name))
    return list(_one_per_group(ordered))[:MAX_ADVISED]


def _common_words(spec: ToolSpec, task: str) -> float:
    """Number of longer words shared by a task and a tool's description; those of its name count twice."""
    words = set(_WORD.findall(task.casefold()))
    own = set(_WORD.findall(f"{spec.name.replace('_', ' ')} {spec.description}".casefold()))
    return len(words & own) + len(words & set(spec.name.split("_")))


def _score_tool(
    spec: ToolSpec, match: ToolMatch | None, near: Mapping[str, float], right: Mapping[str, float]
) -> ToolChoice:
    cosine = near.get(spec.name, 0.0)
    score = 1 + match.score + cosine if match else cosine
    shift = min(MAX_SHIFT, max(MIN_SHIFT, right.get(spec.name, EXPECTED_RIGHT) / EXPECTED_RIGHT))
    return ToolChoice(spec, match.action if match else None, score * shift)


def _one_per_group(ordered: Iterable[ToolChoice]) -> Iterable[ToolChoice]:
    groups: set[str] = set()
    for each in ordered:
        if each.spec.group not in groups:
            groups.add(each.spec.group)
            yield each
