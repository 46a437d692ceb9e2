"""Recall over several vaults: each one granted by itself, each hit says where it is from."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from server.call import Call
from vaults.domain import recalling
from vaults.domain.recalling import Ask, Recalled
from vaults.errors import InvalidArgument, NotFound, StrongroomError


async def recall_across(call: Call, ask: Ask, named: Sequence[str]) -> Recalled:
    """Ask the named vaults, or every granted one for ``*``, and merge. A vault without a grant answers as one that
    does not exist; one that cannot be opened now is left out and said so."""
    names = _granted(call, named)
    answers = await asyncio.gather(*(_one(call, ask, name) for name in names), return_exceptions=True)
    found, warnings = [], []
    for name, answer in zip(names, answers, strict=True):
        if isinstance(answer, StrongroomError):
            warnings.append(f"vault {name} could not be searched ({answer.code})")
        elif isinstance(answer, BaseException):
            raise answer
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


async def _one(call: Call, ask: Ask, name: str) -> Recalled:
    # The budget is the whole answer's: each vault may fill it, the merge cuts.
    if name == call.vault.name:
        return await recalling.recall(call.vault, ask)
    async with call.services.pool.lease(call.services.roster.entry(name)) as vault:
        return await recalling.recall(vault, ask)
