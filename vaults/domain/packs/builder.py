"""A context pack, from asking to the text: gather, then judge, choose, fit, order and render in ``assembling``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from vaults.context import run_in
from vaults.domain.memories import commit_anchors
from vaults.domain.packs import assembly, candidates
from vaults.domain.packs.assembly import Chosen, Frame
from vaults.domain.packs.pack import Decision, Gathered, Pack, Piece
from vaults.domain.packs.request import TOTAL, Asked
from vaults.search import tokenizer
from vaults.search.stage_timings import Timings
from vaults.vault import Vault

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
    _, chosen = await _chosen(vault, asked, None)
    _remember_shown(vault, asked.only.viewer, chosen.kept)
    return chosen.pack


async def account(vault: Vault, asked: Asked, timings: Timings) -> Account:
    """The same, made anew and shown to nobody, with its reasons."""
    gathered, chosen = await _chosen(vault, asked, timings)
    told = await _counted(vault, gathered, lambda: list(assembly.decisions(gathered, chosen, _frame(asked))))
    return Account(chosen.pack, told)


async def _chosen(vault: Vault, asked: Asked, timings: Timings | None) -> tuple[Gathered, Chosen]:
    limit = candidates.limit_for(asked.total)
    gathered, chosen = await _made(vault, asked, limit, timings)
    if limit < candidates.MOST and _flooded(gathered, chosen, limit):
        # Somebody said one thing many times: there may be others behind it.
        gathered, chosen = await _made(vault, asked, candidates.MOST, timings)
        if _flooded(gathered, chosen, candidates.MOST):
            return await _beside(vault, asked, gathered, chosen)
    return gathered, chosen


async def _made(vault: Vault, asked: Asked, limit: int, timings: Timings | None) -> tuple[Gathered, Chosen]:
    return await _assembled(vault, asked, await candidates.gather(vault, asked, limit, timings))


async def _beside(vault: Vault, asked: Asked, gathered: Gathered, chosen: Chosen) -> tuple[Gathered, Chosen]:
    """With what is found without whoever repeats: however often one says a thing, others are heard too."""
    repeated = {each.id for each in chosen.left if each.why == "duplicate"}
    keys = [piece.key for piece in gathered.pieces if piece.key is not None and piece.evidence.id in repeated]
    who = await vault.db.read(lambda tx: candidates.storer_of_most(tx, keys))
    if who is None:
        return gathered, chosen
    others = replace(asked, only=replace(asked.only, without=who))
    more = await candidates.gather(vault, others, candidates.limit_for(asked.total))
    return await _assembled(vault, asked, candidates.together(gathered, more))


async def _assembled(vault: Vault, asked: Asked, gathered: Gathered) -> tuple[Gathered, Chosen]:
    gathered, orphans = await _anchored(vault, asked, gathered)
    return gathered, await _counted(vault, gathered, lambda: assembly.assemble(gathered, orphans, _frame(asked)))


def _flooded(gathered: Gathered, chosen: Chosen, limit: int) -> bool:
    """Whether repetitions took the place of what else there may be."""
    found = sum(piece.score is not None for piece in gathered.pieces)
    repeated = sum(each.why == "duplicate" for each in chosen.left)
    unfit = len(chosen.left) - repeated
    return found >= limit and repeated > found // 2 and not unfit


def _remember_shown(vault: Vault, viewer: str, kept: Sequence[Piece]) -> None:
    """What was shown is no news when it comes back, and a memory that was shown whole was read."""
    shown = [piece for piece in kept if piece.evidence.kind in ("memory", "note")]
    vault.retrieved.note(viewer, ((piece.evidence.text or "", piece.evidence.id) for piece in shown))
    vault.atlas.together.found([piece.evidence.id for piece in shown if piece.evidence.kind == "note"])
    vault.accesses.update(piece.key for piece in shown if piece.key is not None and not piece.whole)


def _frame(asked: Asked) -> Frame:
    aim = asked.total if asked.query.strip() else min(asked.total, max(BRIEF, asked.total * BRIEF // TOTAL))
    return Frame(asked.total, asked.form, asked.only.now, aim)


async def _counted(vault: Vault, gathered: Gathered, work: Callable[[], T]) -> T:
    """Do what counts tokens: here where that is quick, else on a thread."""
    if tokenizer.is_quick([piece.evidence.text or "" for piece in gathered.pieces]):
        return work()
    return await run_in(vault.shared.pool, work)


async def _anchored(vault: Vault, asked: Asked, gathered: Gathered) -> tuple[Gathered, Collection[str]]:
    """The commits of candidates that are no part of the history of the one asked about."""
    commits = [piece.anchor for piece in gathered.pieces[:LOOKED_AT] if piece.anchor is not None]
    if asked.anchor_commit is None or asked.include_orphans or not commits:
        return gathered, ()
    orphans = await commit_anchors.orphans(vault, commits, asked.anchor_commit)
    if orphans is None:
        return replace(gathered, warnings=[*gathered.warnings, UNTOLD]), ()
    return gathered, orphans
