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


async def build_pack(vault: Vault, request: PackRequest) -> Pack:
    """The pack, never more than ``request.total`` tokens in its form."""
    _, chosen = await _choose(vault, request, None)
    _record_shown(vault, request.only.viewer, chosen.kept)
    return chosen.pack


async def explain_pack(vault: Vault, request: PackRequest, timings: StageTimings) -> ExplainedPack:
    """The same pack with its reasons, built anew and shown to nobody."""
    gathered, chosen = await _choose(vault, request, timings)
    decisions = await _run_counting(
        vault, gathered, lambda: list(assembly.list_decisions(gathered, chosen, _target_of(request)))
    )
    return ExplainedPack(chosen.pack, decisions)


async def _choose(
    vault: Vault, request: PackRequest, timings: StageTimings | None
) -> tuple[GatheredCandidates, PackChoice]:
    limit = candidates.limit_for(request.total)
    gathered, chosen = await _gather_and_assemble(vault, request, limit, timings)
    if limit < candidates.MAX_ITEMS and _is_flooded(gathered, chosen, limit):
        # Somebody stored one thing many times: other candidates may rank behind it.
        gathered, chosen = await _gather_and_assemble(vault, request, candidates.MAX_ITEMS, timings)
        if _is_flooded(gathered, chosen, candidates.MAX_ITEMS):
            return await _add_other_authors(vault, request, gathered, chosen)
    return gathered, chosen


async def _gather_and_assemble(
    vault: Vault, request: PackRequest, limit: int, timings: StageTimings | None
) -> tuple[GatheredCandidates, PackChoice]:
    return await _assemble(vault, request, await candidates.gather_candidates(vault, request, limit, timings))


async def _add_other_authors(
    vault: Vault, request: PackRequest, gathered: GatheredCandidates, chosen: PackChoice
) -> tuple[GatheredCandidates, PackChoice]:
    """Adds what a search without the main repeater finds: however often one says a thing, others are heard too."""
    repeated = {each.id for each in chosen.left if each.why == "duplicate"}
    keys = [
        candidate.key
        for candidate in gathered.candidates
        if candidate.key is not None and candidate.item.id in repeated
    ]
    who = await vault.db.read(lambda tx: candidates.find_main_storer(tx, keys))
    if who is None:
        return gathered, chosen
    others = replace(request, only=replace(request.only, without=who))
    more = await candidates.gather_candidates(vault, others, candidates.limit_for(request.total))
    return await _assemble(vault, request, candidates.merge_candidates(gathered, more))


async def _assemble(
    vault: Vault, request: PackRequest, gathered: GatheredCandidates
) -> tuple[GatheredCandidates, PackChoice]:
    gathered, orphans = await _find_orphans(vault, request, gathered)
    return gathered, await _run_counting(
        vault, gathered, lambda: assembly.assemble_pack(gathered, orphans, _target_of(request))
    )


def _is_flooded(gathered: GatheredCandidates, chosen: PackChoice, limit: int) -> bool:
    """Whether repetitions crowded out other candidates."""
    found = sum(candidate.score is not None for candidate in gathered.candidates)
    repeated = sum(each.why == "duplicate" for each in chosen.left)
    unfit = len(chosen.left) - repeated
    return found >= limit and repeated > found // 2 and not unfit


def _record_shown(vault: Vault, viewer: str, kept: Sequence[PackCandidate]) -> None:
    """Remember what was shown, so that storing it again is seen as an echo; a memory shown whole counts as read."""
    shown = [candidate for candidate in kept if candidate.item.kind in ("memory", "note")]
    vault.shown_texts.note(viewer, ((candidate.item.text or "", candidate.item.id) for candidate in shown))
    vault.graph_cache.co_access.record_found(
        [candidate.item.id for candidate in shown if candidate.item.kind == "note"]
    )
    vault.access_counts.update(
        candidate.key for candidate in shown if candidate.key is not None and not candidate.whole
    )


def _target_of(request: PackRequest) -> PackTarget:
    aim = (
        request.total
        if request.query.strip()
        else min(request.total, max(BRIEF_TOKENS, request.total * BRIEF_TOKENS // DEFAULT_TOKENS))
    )
    return PackTarget(request.total, request.form, request.only.now, aim)


async def _run_counting(vault: Vault, gathered: GatheredCandidates, work: Callable[[], T]) -> T:
    """Run ``work``, which counts tokens and widens texts: here if that is quick, else on a thread."""
    texts = [candidate.item.text or "" for candidate in gathered.candidates]
    texts += [candidate.section.text for candidate in gathered.candidates if candidate.section is not None]
    if tokenizer.is_quick_to_count(texts):
        return work()
    return await run_in(vault.shared.pool, work)


async def _find_orphans(
    vault: Vault, request: PackRequest, gathered: GatheredCandidates
) -> tuple[GatheredCandidates, Collection[str]]:
    """The candidates' commits that are not in the history of the commit asked about."""
    commits = [candidate.anchor for candidate in gathered.candidates[:MAX_ANCHORS] if candidate.anchor is not None]
    if request.anchor_commit is None or request.include_orphans or not commits:
        return gathered, ()
    orphans = await commit_anchors.find_orphans(vault, commits, request.anchor_commit)
    if orphans is None:
        return replace(gathered, warnings=[*gathered.warnings, UNKNOWN_COMMIT]), ()
    return gathered, orphans
