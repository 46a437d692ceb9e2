"""Searching several vaults: each needs its own grant, each hit names its vault."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from server.call import Call
from vaults.domain.notes.read import note_listing
from vaults.domain.retrieval import hybrid_search
from vaults.domain.retrieval.hybrid_search import SearchAnswer, SearchRequest
from vaults.domain.retrieval.search_hits import RankedHit
from vaults.errors import InvalidArgument, NotFound, Overloaded, StrongroomError
from vaults.search.fusion import ScoreRange, normalize_score
from vaults.vault import Vault

if TYPE_CHECKING:
    from server.services import Services


async def search_vaults(call: Call, request: SearchRequest, named: Sequence[str]) -> SearchAnswer:
    """Search the named vaults, or every granted one for ``*``, and merge. A vault without a grant answers as one that
    does not exist; one that cannot be searched now, or is not fully read, is named in the warnings."""
    names = _find_granted(call, named)
    closed = call.services.registry_cache.archived
    answers = await _search_each(call, request, [name for name in names if name not in closed])
    found, warnings = [], []
    for name in names:
        if name in closed:
            warnings.append(f"vault {name} is archived and was not searched")
            continue
        answer = answers[name]
        if isinstance(answer, StrongroomError):
            warnings.append(f"vault {name} could not be searched ({answer.code})")
        else:
            found.append(answer)
            warnings += [f"{name}: {warning}" for warning in answer.warnings]
    shown = merge_answers(found, call.services.settings.search.dense_weight)[: request.limit]
    mode = request.mode if all(answer.mode_used == request.mode for answer in found) else "keyword"
    terms = tuple(dict.fromkeys(term for answer in found for term in answer.terms))
    likely = any(answer.likely and answer.shown for answer in found)
    total = sum(answer.total for answer in found)
    return SearchAnswer(shown, total, mode, {}, warnings=warnings, terms=terms, likely=likely)


def merge_answers(answers: Sequence[SearchAnswer], weight: float) -> list[RankedHit]:
    """Hits of several vaults in one order: by relevance, which compares between vaults, each vault's in its own order.
    Of the same relevance, the one goes first whose raw signals, bm25 and cosine, scaled over all vaults together, are
    higher, its boosts added again; cosines are scaled over those with the same model."""
    keyword = _joint_span([answer.spans["keyword"] for answer in answers])
    semantic = {
        model: _joint_span([answer.spans["semantic"] for answer in answers if answer.model == model])
        for model in {answer.model for answer in answers}
    }
    weights = {"keyword": 1 - weight, "semantic": weight}
    if keyword is None or not any(semantic.values()):
        weights = dict.fromkeys(weights, 1.0)
    placed: list[tuple[tuple[float, float, str, int], RankedHit]] = []
    for answer in answers:
        last = float("inf")
        for place, each in enumerate(answer.shown):
            # Within a vault its own order stands, so that a page of one vault is a part of the page of several.
            last = min(last, _score(each, {"keyword": keyword, "semantic": semantic[answer.model]}, weights))
            placed.append(((-each.hit.score, -last, each.hit.vault, place), each))
    return [each for _, each in sorted(placed, key=lambda pair: pair[0])]


def _joint_span(spans: Sequence[ScoreRange]) -> ScoreRange | None:
    real = [span for span in spans if span != (0.0, 0.0)]
    return (min(low for low, _ in real), max(high for _, high in real)) if real else None


def _score(ranked: RankedHit, spans: Mapping[str, ScoreRange | None], weights: Mapping[str, float]) -> float:
    score = 0.0
    for name, value in ranked.hit.signals.items():
        span = spans.get(name)
        if span is not None:
            score += weights[name] * normalize_score(value, span)
        elif name not in ("keyword", "semantic", "rerank"):
            score += value
    return score


def _find_granted(call: Call, named: Sequence[str]) -> list[str]:
    services, principal = call.services, call.caller.principal
    if "*" in named:
        if len(named) > 1:
            raise InvalidArgument("vaults", "must be names, or * alone")
        known = [*(entry.name for entry in services.registry_cache.entries()), *services.registry_cache.archived]
        return list(services.access_cache.current.vaults_of(principal, known))
    names = list(dict.fromkeys([call.vault.name, *named]))
    for name in names:
        if services.role_in(principal, name) is None:
            raise NotFound("no such vault, or no grant for it")
    return names


async def _search_each(
    call: Call, request: SearchRequest, names: Sequence[str]
) -> dict[str, SearchAnswer | StrongroomError]:
    """The answer of each vault. Vaults besides the call's own take turns: all at once would take every place in the
    pool from other callers, and there may be more vaults than places."""
    answers: dict[str, SearchAnswer | StrongroomError] = {}
    left = iter(names)

    async def take_turns() -> None:
        for name in left:
            try:
                answers[name] = await _search_one(call, request, name, crowded=_is_crowded(answers))
            except StrongroomError as failure:
                answers[name] = failure

    async with asyncio.TaskGroup() as turns:
        for _ in range(min(call.services.pool.beside, len(names))):
            turns.create_task(take_turns())
    return answers


def _is_crowded(answers: dict[str, SearchAnswer | StrongroomError]) -> bool:
    return any(isinstance(answer, Overloaded) for answer in answers.values())


async def _search_one(call: Call, request: SearchRequest, name: str, *, crowded: bool) -> SearchAnswer:
    # The budget is the whole answer's: each vault may fill it, the merge cuts.
    if name == call.vault.name:
        return await _search_vault(call.vault, request)
    if (elsewhere := call.services.routes.search) is not None:
        found: SearchAnswer | None = await elsewhere(call.caller, name, request)
        if found is not None:
            return found
    pool, entry = call.services.pool, call.services.registry_cache.entry(name)
    if crowded and not pool.has_room(entry):
        # One futile wait is enough for a call: its time is for the vaults that can be searched.
        raise Overloaded("every vault this server may keep open is in use")
    async with pool.lease_additional(entry) as vault:
        return await _search_vault(vault, request)


async def search_here(services: Services, name: str, request: SearchRequest) -> SearchAnswer:
    """One vault's answer, for another server that merges it with others'. Raises what ``pool.lease`` raises, and the
    search."""
    async with services.pool.lease_additional(services.registry_cache.entry(name)) as vault:
        return await _search_vault(vault, request)


async def _search_vault(vault: Vault, request: SearchRequest) -> SearchAnswer:
    """One vault's answer, and how far it is read. The state is taken first: what is read meanwhile only helps."""
    state = await _unread_warnings(vault)
    answer = await hybrid_search.search_vault(vault, request)
    return replace(answer, warnings=[*state, *answer.warnings])


async def _unread_warnings(vault: Vault) -> list[str]:
    """Warnings about notes missing from an answer. A vault just opened gets a moment to catch up: mostly nothing has
    changed since it was last read."""
    await note_listing.warn_if_behind(vault)
    now = vault.notes.now
    if now.phase == "unavailable":
        return [f"notes are as last read: the folder cannot be read now ({now.reason or 'unknown'})"]
    if now.phase == "scanning" and now.total:
        return [f"still being read: {now.done:,} of {now.total:,} notes"]
    return ["still being read"] if now.phase == "scanning" or (now.phase == "unread" and vault.lease.held) else []
