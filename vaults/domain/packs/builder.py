"""Builds a context pack from a request: gathers the candidates, then has ``assembly`` judge, choose, fit, order and
render."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from vaults.context import run_in
from vaults.domain.memories import commit_anchors
from vaults.domain.packs import assembly, candidates
from vaults.domain.packs.assembly import PackChoice, PackTarget
from vaults.domain.packs.pack import GatheredCandidates, Pack, PackCandidate, PackDecision
from vaults.domain.packs.request import DEFAULT_TOKENS, PackRequest
from vaults.search import tokenizer
from vaults.search.stage_timings import StageTimings
from vaults.vault import Vault

T = TypeVar("T")

BRIEF_TOKENS = 1_490
"""Tokens of a brief made with a budget of ``DEFAULT_TOKENS``; larger ones grow in proportion. It is to be read before
anything else."""

MAX_ANCHORS = 200
"""Max candidates whose commit is looked up."""

UNKNOWN_COMMIT = "anchor_commit: this vault's repository does not know it, so memories of any commit are shown"


@dataclass(frozen=True, slots=True)
class ExplainedPack:
    """A pack, and what became of every candidate."""

    pack: Pack
    decisions: list[PackDecision]


async def build_pack(vault: Vault, asked: PackRequest) -> Pack:
    """The pack, never more than ``asked.total`` tokens in its form."""
    _, chosen = await _choose(vault, asked, None)
    _record_shown(vault, asked.only.viewer, chosen.kept)
    return chosen.pack


async def explain_pack(vault: Vault, asked: PackRequest, timings: StageTimings) -> ExplainedPack:
    """The same pack with its reasons, built anew and shown to nobody."""
    gathered, chosen = await _choose(vault, asked, timings)
    decisions = await _run_counting(
        vault, gathered, lambda: list(assembly.list_decisions(gathered, chosen, _target_of(asked)))
    )
    return ExplainedPack(chosen.pack, decisions)


async def _choose(
    vault: Vault, asked: PackRequest, timings: StageTimings | None
) -> tuple[GatheredCandidates, PackChoice]:
    limit = candidates.limit_for(asked.total)
    gathered, chosen = await _gather_and_assemble(vault, asked, limit, timings)
    if limit < candidates.MAX_ITEMS and _is_flooded(gathered, chosen, limit):
        # Somebody stored one thing many times: other candidates may rank behind it.
        gathered, chosen = await _gather_and_assemble(vault, asked, candidates.MAX_ITEMS, timings)
        if _is_flooded(gathered, chosen, candidates.MAX_ITEMS):
            return await _add_other_authors(vault, asked, gathered, chosen)
    return gathered, chosen


async def _gather_and_assemble(
    vault: Vault, asked: PackRequest, limit: int, timings: StageTimings | None
) -> tuple[GatheredCandidates, PackChoice]:
    return await _assemble(vault, asked, await candidates.gather_candidates(vault, asked, limit, timings))


async def _add_other_authors(
    vault: Vault, asked: PackRequest, gathered: GatheredCandidates, chosen: PackChoice
) -> tuple[GatheredCandidates, PackChoice]:
    """Adds what a search without the main repeater finds: however often one says a thing, others are heard too."""
    repeated = {each.id for each in chosen.left if each.why == "duplicate"}
    keys = [piece.key for piece in gathered.pieces if piece.key is not None and piece.evidence.id in repeated]
    who = await vault.db.read(lambda tx: candidates.find_main_storer(tx, keys))
    if who is None:
        return gathered, chosen
    others = replace(asked, only=replace(asked.only, without=who))
    more = await candidates.gather_candidates(vault, others, candidates.limit_for(asked.total))
    return await _assemble(vault, asked, candidates.merge_candidates(gathered, more))


async def _assemble(
    vault: Vault, asked: PackRequest, gathered: GatheredCandidates
) -> tuple[GatheredCandidates, PackChoice]:
    gathered, orphans = await _find_orphans(vault, asked, gathered)
    return gathered, await _run_counting(
        vault, gathered, lambda: assembly.assemble_pack(gathered, orphans, _target_of(asked))
    )


def _is_flooded(gathered: GatheredCandidates, chosen: PackChoice, limit: int) -> bool:
    """Whether repetitions crowded out other candidates."""
    found = sum(piece.score is not None for piece in gathered.pieces)
    repeated = sum(each.why == "duplicate" for each in chosen.left)
    unfit = len(chosen.left) - repeated
    return found >= limit and repeated > found // 2 and not unfit


def _record_shown(vault: Vault, viewer: str, kept: Sequence[PackCandidate]) -> None:
    """Remember what was shown, so that storing it again is seen as an echo; a memory shown whole counts as read."""
    shown = [piece for piece in kept if piece.evidence.kind in ("memory", "note")]
    vault.shown_texts.note(viewer, ((piece.evidence.text or "", piece.evidence.id) for piece in shown))
    vault.graph_cache.co_access.found([piece.evidence.id for piece in shown if piece.evidence.kind == "note"])
    vault.access_counts.update(piece.key for piece in shown if piece.key is not None and not piece.whole)


def _target_of(asked: PackRequest) -> PackTarget:
    aim = (
        asked.total
        if asked.query.strip()
        else min(asked.total, max(BRIEF_TOKENS, asked.total * BRIEF_TOKENS // DEFAULT_TOKENS))
    )
    return PackTarget(asked.total, asked.form, asked.only.now, aim)


async def _run_counting(vault: Vault, gathered: GatheredCandidates, work: Callable[[], T]) -> T:
    """Run ``work``, which counts tokens: here if that is quick, else on a thread."""
    if tokenizer.is_quick_to_count([piece.evidence.text or "" for piece in gathered.pieces]):
        return work()
    return await run_in(vault.shared.pool, work)


async def _find_orphans(
    vault: Vault, asked: PackRequest, gathered: GatheredCandidates
) -> tuple[GatheredCandidates, Collection[str]]:
    """The candidates' commits that are not in the history of the commit asked about."""
    commits = [piece.anchor for piece in gathered.pieces[:MAX_ANCHORS] if piece.anchor is not None]
    if asked.anchor_commit is None or asked.include_orphans or not commits:
        return gathered, ()
    orphans = await commit_anchors.find_orphans(vault, commits, asked.anchor_commit)
    if orphans is None:
        return replace(gathered, warnings=[*gathered.warnings, UNKNOWN_COMMIT]), ()
    return gathered, orphans
