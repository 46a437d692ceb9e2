"""Recall over several vaults: each one granted by itself, each hit says where it is from."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from server.call import Call
from vaults.domain import recalling
from vaults.domain.recalling import Ask, Recalled
from vaults.errors import InvalidArgument, NotFound, Overloaded, StrongroomError


async def recall_across(call: Call, ask: Ask, named: Sequence[str]) -> Recalled:
    """Ask the named vaults, or every granted one for ``*``, and merge. A vault without a grant answers as one that
    does not exist; one that cannot be opened now is left out and said so."""
    names = _granted(call, named)
    answers = await _answers(call, ask, names)
    found, warnings = [], []
    for name in names:
        answer = answers[name]
        if isinstance(answer, StrongroomError):
            warnings.append(f"vault {name} could not be searched ({answer.code})")
        else:
            found.append(answer)
            warnings += [f"{name}: {warning}" for warning in answer.warnings]
    hits = sorted((hit for answer in found for hit in answer.hits), key=lambda hit: (-hit.score, hit.vault, hit.id))
    kept = await recalling.fit(call.vault, hits[: ask.limit], ask.max_tokens)
    total = sum(answer.total for answer in found)
    mode = ask.mode if all(answer.mode_used == ask.mode for answer in found) else "keyword"
    return Recalled(kept, total, mode, len(kept) < min(total, ask.limit), warnings)


def _granted(call: Call, named: Sequence[str]) -> list[str]:
    services, principal = call.services, call.caller.principal
    if "*" in named:
        if len(named) > 1:
            raise InvalidArgument("vaults", "must be names, or * alone")
        known = [entry.name for entry in services.roster.entries()]
        return list(services.board.current.vaults_of(principal, known))
    names = list(dict.fromkeys([call.vault.name, *named]))
    for name in names:
        if services.role_in(principal, name) is None:
            raise NotFound("no such vault, or no grant for it")
    return names


async def _answers(call: Call, ask: Ask, names: Sequence[str]) -> dict[str, Recalled | StrongroomError]:
    """What each vault says. Vaults beside the call's own are taken in turns: all of them at once would take every
    place of the pool from other callers, and there may be more of them than places."""
    answers: dict[str, Recalled | StrongroomError] = {}
    left = iter(names)

    async def take_turns() -> None:
        for name in left:
            try:
                answers[name] = await _one(call, ask, name, crowded=_crowded(answers))
            except StrongroomError as failure:
                answers[name] = failure

    async with asyncio.TaskGroup() as turns:
        for _ in range(min(call.services.pool.beside, len(names))):
            turns.create_task(take_turns())
    return answers


def _crowded(answers: dict[str, Recalled | StrongroomError]) -> bool:
    return any(isinstance(answer, Overloaded) for answer in answers.values())


async def _one(call: Call, ask: Ask, name: str, *, crowded: bool) -> Recalled:
    # The budget is the whole answer's: each vault may fill it, the merge cuts.
    if name == call.vault.name:
        return await recalling.recall(call.vault, ask)
    pool, entry = call.services.pool, call.services.roster.entry(name)
    if crowded and not pool.has_room(name):
        # One wait in vain is enough for a call: the time it has is for the vaults that can be searched.
        raise Overloaded("every vault this server may keep open is in use")
    async with pool.lease_beside(entry) as vault:
        return await recalling.recall(vault, ask)
