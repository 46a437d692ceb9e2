"""A context pack, from asking to the text: gather, then judge, choose, fit, order and render in ``assembling``."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import ParamSpec, TypeVar

from vaults.context import run_in
from vaults.domain import anchors
from vaults.domain.packs import assembling, gathering
from vaults.domain.packs.assembling import Frame
from vaults.domain.packs.pack import Decision, Gathered, Pack
from vaults.domain.packs.request import TOTAL, Asked
from vaults.search import budget
from vaults.search.timing import Timings
from vaults.vault import Vault

P = ParamSpec("P")
T = TypeVar("T")

BRIEF = 1_490
"""Tokens of a brief for which no more is asked than ``TOTAL``: it is to be read before anything else."""

LOOKED_AT = 200
"""Candidates whose commit is looked at."""

UNTOLD = "anchor_commit: this vault's repository does not know it, so memories of any commit are shown"


@dataclass(frozen=True, slots=True)
class Account:
    """A pack, and what became of every candidate."""

    pack: Pack
    decisions: list[Decision]


async def build(vault: Vault, asked: Asked) -> Pack:
    """The pack, never more than ``asked.total`` tokens in its form."""
    gathered, orphans = await _candidates(vault, asked, None)
    return (await _counted(vault, gathered, assembling.assemble, gathered, orphans, _frame(asked))).pack


async def account(vault: Vault, asked: Asked, timings: Timings) -> Account:
    """The same, made anew, with its reasons."""
    gathered, orphans = await _candidates(vault, asked, timings)

    def explained() -> Account:
        chosen = assembling.assemble(gathered, orphans, _frame(asked))
        return Account(chosen.pack, list(assembling.decisions(gathered, chosen, _frame(asked))))

    return await _counted(vault, gathered, explained)


def _frame(asked: Asked) -> Frame:
    aim = asked.total if asked.query.strip() else min(asked.total, max(BRIEF, asked.total * BRIEF // TOTAL))
    return Frame(asked.total, asked.form, asked.only.now, aim)


async def _candidates(vault: Vault, asked: Asked, timings: Timings | None) -> tuple[Gathered, Collection[str]]:
    return await _anchored(vault, asked, await gathering.gather(vault, asked, timings))


async def _counted(vault: Vault, gathered: Gathered, work: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
    """Do what counts tokens: here where that is quick, else on a thread."""
    if budget.is_quick([piece.evidence.text or "" for piece in gathered.pieces]):
        return work(*args, **more)
    return await run_in(vault.shared.pool, work, *args, **more)


async def _anchored(vault: Vault, asked: Asked, gathered: Gathered) -> tuple[Gathered, Collection[str]]:
    """The commits of candidates that are no part of the history of the one asked about."""
    commits = [piece.anchor for piece in gathered.pieces[:LOOKED_AT] if piece.anchor is not None]
    if asked.anchor_commit is None or asked.include_orphans or not commits:
        return gathered, ()
    orphans = await anchors.orphans(vault, commits, asked.anchor_commit)
    if orphans is None:
        return replace(gathered, warnings=[*gathered.warnings, UNTOLD]), ()
    return gathered, orphans
