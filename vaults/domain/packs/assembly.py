"""From candidates to a pack: ``assemble_pack`` runs the stages in order. Pure but for the nonce."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from vaults.domain.packs import rendering
from vaults.domain.packs.budget_fit import fit_to_budget
from vaults.domain.packs.pack import (
    TOKENIZER,
    DroppedItem,
    GatheredCandidates,
    Pack,
    PackBudget,
    PackCandidate,
    PackDecision,
    PackFormat,
    PackItem,
    PackLink,
    PackPart,
)
from vaults.domain.packs.selection import bounded_title, select_candidates, to_dropped
from vaults.domain.packs.widening import merge_candidates, widen_candidates
from vaults.domain.text.sanitize import MARK
from vaults.search import tokenizer
from vaults.search.token_counts import TOKEN_COUNTS

MAX_NAMED = 50
"""Max candidates that ``dropped`` names."""

RESERVED_SHARE = 0.04
"""Share of a budget reserved for links, and in JSON as much again for ``dropped``, if there are any."""

LIST_OVERHEAD = 12
"""Tokens of a list besides its items."""

MAX_CANDIDATES = 1_000
"""The most candidates there may be: a prompt's budget leaves room for the digits of their number."""

AGE_SLACK = 8
"""Tokens by which a pack's text may grow when it is rendered again: ages advance."""


@dataclass(frozen=True, slots=True)
class PackTarget:
    """What a pack is made to fit."""

    total: int  # tokens of the budget
    form: PackFormat
    now: str  # the present time in stored form
    aim: int  # tokens to stay within; a brief needs fewer than ``total``


@dataclass(frozen=True, slots=True)
class PackChoice:
    """A pack, the candidates in it, and all others with the reason."""

    pack: Pack
    kept: list[PackCandidate]
    left: list[DroppedItem]
    joined: Mapping[str, str] = field(default_factory=dict)  # of those in another one's text: its id


def _count_item_tokens(candidate: PackCandidate, target: PackTarget) -> int:
    """Tokens of a candidate as it stands in a pack of this form."""
    item = candidate.item
    if target.form == "json":
        if candidate.part == "state":
            return TOKEN_COUNTS.of(f", {json.dumps(item.title, ensure_ascii=False)}: {item.text}")
        return TOKEN_COUNTS.of(f", {rendering.to_spaced_json(item)}")
    if candidate.part == "state":
        return TOKEN_COUNTS.of(_escape_json(f"\n{item.title}: {item.text}"))
    head, body = rendering.render_header(item, 1, target.now), rendering.render_body(item)
    return TOKEN_COUNTS.of(_escape_json(f"\n{head}")) + TOKEN_COUNTS.of(_escape_json(f"\n{body}"))


def _escape_json(text: str) -> str:
    """A text as it stands in JSON: line feeds and quotes cost a token more there."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def assemble_pack(gathered: GatheredCandidates, orphans: Collection[str], target: PackTarget) -> PackChoice:
    """The pack, never more than ``target.aim`` tokens."""
    judged, refused = select_candidates(gathered.candidates, orphans)
    room, count = _tokens_for_candidates(gathered, judged, target), partial(_count_item_tokens, target=target)
    kept, over = fit_to_budget(judged, room, count)
    pack, kept, late = _shrink_to_fit(gathered, kept, target)
    unfit = sorted([*over, *late], key=lambda candidate: candidate.rank)
    fitted = _Fitted(pack, kept, unfit)
    if not late:
        fitted = _to_sections(fitted, gathered, target, (room, count))
    left = [
        *(to_dropped(candidate, "instruction-like" if candidate.suspect else "budget") for candidate in fitted.unfit),
        *refused,
    ]
    missed = [each for each in left if each.why != "unlikely"]  # of these a warning tells: nobody is to ask for more
    pack = _add_dropped(_add_links(fitted.pack, gathered, target), missed, target)
    return PackChoice(_finish(pack, target), fitted.kept, left, fitted.joined)


@dataclass(frozen=True, slots=True)
class _Fitted:
    """What fits into a budget: the pack, what is in it, what is not, and what stands in the text of another."""

    pack: Pack
    kept: list[PackCandidate]
    unfit: list[PackCandidate]
    joined: Mapping[str, str] = field(default_factory=dict)


def _to_sections(
    fitted: _Fitted,
    gathered: GatheredCandidates,
    target: PackTarget,
    budget: tuple[int, Callable[[PackCandidate], int]],
) -> _Fitted:
    """The same with neighbours merged, as much more as that leaves place for, and the best widened. Nothing that
    fitted goes for it."""
    room, count = budget
    merged = merge_candidates(fitted.kept)
    kept, unfit = merged.candidates, fitted.unfit
    if merged.joined and unfit:
        more, less = fit_to_budget(sorted([*kept, *unfit], key=lambda candidate: candidate.rank), room, count)
        if {candidate.rank for candidate in kept} <= {candidate.rank for candidate in more}:
            kept, unfit = more, less
    for wanted in (widen_candidates(kept, room, count), kept):
        if wanted == fitted.kept:
            break
        pack, chosen, late = _shrink_to_fit(gathered, wanted, target)
        if not late:
            return _Fitted(pack, chosen, unfit, merged.joined)
    return fitted


def _tokens_for_candidates(gathered: GatheredCandidates, judged: Sequence[PackCandidate], target: PackTarget) -> int:
    """Tokens left for candidates after the pack's own words."""
    empty = _make_pack(gathered, [], target)
    if target.form == "json":
        own = TOKEN_COUNTS.of(rendering.to_spaced_json(replace(empty, checkpoint=gathered.checkpoint)))
    else:
        bare = replace(empty, checkpoint=gathered.checkpoint, state={"": ""}, warnings=None)
        parts = {candidate.part for candidate in judged}
        own = _count_tokens(bare, target) + 6 * len(parts)
    apart = int(RESERVED_SHARE * target.aim)
    links = min(apart, sum(_link_cost(link, target) for link in gathered.links[:MAX_NAMED])) if gathered.links else 0
    dropped = apart if target.form == "json" and len(judged) > 1 else 0
    return target.aim - own - links - dropped


def _shrink_to_fit(
    gathered: GatheredCandidates, kept: list[PackCandidate], target: PackTarget
) -> tuple[Pack, list[PackCandidate], list[PackCandidate]]:
    """The pack of ``kept``, counted as a whole: the candidates' costs add up to it within a few tokens. What exceeds
    the budget goes, last ranked first; warnings go when nothing else is left. JSON is sent with the same in words, for
    clients that show no JSON: that must not be longer either."""
    late: list[PackCandidate] = []
    while True:
        pack = _make_pack(gathered, kept, target)
        used = _count_tokens(pack, target)
        if used <= target.aim and (target.form == "prompt" or _prompt_fits(pack, kept, target)):
            return _with_used(pack, used if kept else 0), kept, late
        if not kept:
            return _with_used(replace(pack, warnings=None), 0), kept, late
        *kept, last = kept
        late.append(last)


def _prompt_fits(pack: Pack, kept: Sequence[PackCandidate], target: PackTarget) -> bool:
    """Whether the words fit: they are shorter than JSON, unless lines of the texts have to be quoted."""
    marked = any(MARK in (candidate.item.text or "") for candidate in kept)
    return not marked or _count_prompt_tokens(pack, target) + AGE_SLACK <= target.aim


def _with_used(pack: Pack, used: int) -> Pack:
    return replace(pack, budget=replace(pack.budget, used=used))


def _make_pack(gathered: GatheredCandidates, kept: Iterable[PackCandidate], target: PackTarget) -> Pack:
    parts: dict[PackPart, list[PackItem]] = {}
    whole = 0
    for candidate in kept:
        parts.setdefault(candidate.part, []).append(candidate.item)
        whole += max(0, candidate.whole - TOKEN_COUNTS.of(candidate.item.text or "")) if candidate.whole else 0
    state = {each.title or "": json.loads(each.text or "null") for each in parts.get("state", ())}
    return Pack(
        state=state,
        memories=parts.get("memories", []),
        passages=parts.get("passages", []),
        links=[],
        rules=parts.get("rules", []),
        budget=PackBudget(TOKENIZER, target.total, target.total, whole or None),
        dropped=[],
        brief=parts.get("brief"),
        checkpoint=gathered.checkpoint if state else None,
        warnings=gathered.warnings or None,
    )


def _count_tokens(pack: Pack, target: PackTarget) -> int:
    """Tokens of a pack in its form. A prompt is sent as text and in JSON, which takes more."""
    if target.form == "json":
        return tokenizer.count_tokens(rendering.to_spaced_json(pack))
    counted = replace(pack, dropped_total=MAX_CANDIDATES)
    return tokenizer.count_tokens(
        rendering.to_spaced_json(_only_prompt(counted, rendering.render_prompt(counted, "123456789", target.now)))
    )


def _only_prompt(pack: Pack, prompt: str) -> Pack:
    """The pack with its prompt instead of the lists."""
    bare = replace(pack, state={}, memories=[], passages=[], links=[], rules=[], dropped=[])
    return replace(bare, brief=None, checkpoint=None, prompt=prompt)


def _count_prompt_tokens(pack: Pack, target: PackTarget) -> int:
    return tokenizer.count_tokens(rendering.render_prompt(pack, "123456789", target.now))


def _add_links(pack: Pack, gathered: GatheredCandidates, target: PackTarget) -> Pack:
    """The pack with the links of its items, as many as fit."""
    shown = {each.id for each in (*pack.memories, *pack.rules, *(pack.brief or ()))}
    links = [link for link in gathered.links if link.from_id in shown or link.to_id in shown]
    fitting, used = [], pack.budget.used + LIST_OVERHEAD
    for link in (_add_title(link, gathered, shown) for link in links[:MAX_NAMED]):
        used += _link_cost(link, target)
        if used > target.aim:
            break
        fitting.append(link)
    return _keep_if_fits(_with_used(replace(pack, links=fitting), used), pack, target) if fitting else pack


def _keep_if_fits(more: Pack, less: Pack, target: PackTarget) -> Pack:
    """``more`` with its exact size, or ``less`` where that turns out too large."""
    used = _count_tokens(more, target)
    return _with_used(more, used) if used <= target.aim else less


def _add_title(link: PackLink, gathered: GatheredCandidates, shown: Collection[str]) -> PackLink:
    other = next((name for name in (link.from_id, link.to_id) if name not in shown), None)
    return replace(link, title=gathered.titles.get(other)) if other else link


def _link_cost(link: PackLink, target: PackTarget) -> int:
    return TOKEN_COUNTS.of(
        f", {rendering.to_spaced_json(link)}" if target.form == "json" else f"\n{rendering.render_link_line(link)}"
    )


def _add_dropped(pack: Pack, left: Sequence[DroppedItem], target: PackTarget) -> Pack:
    """The pack with the names of what was dropped, as many as fit; with a prompt only their number."""
    if not left:
        return pack
    if target.form == "prompt":
        return replace(pack, dropped_total=len(left))
    fitting, used = [], pack.budget.used + LIST_OVERHEAD
    for each in left[:MAX_NAMED]:
        used += TOKEN_COUNTS.of(f", {rendering.to_spaced_json(each)}")
        if used > target.aim:
            break
        fitting.append(each)
    for some in (fitting, []):
        listed = replace(pack, dropped=some, dropped_total=len(left))
        used = _count_sent_tokens(listed)
        if max(used, tokenizer.count_tokens(rendering.to_spaced_json(listed))) <= target.aim:
            return _with_used(listed, used)
    return pack


def _finish(pack: Pack, target: PackTarget) -> Pack:
    """The pack with its size; a prompt is rendered, and then the text stands there and nowhere else."""
    if target.form == "json":
        return _with_used(pack, _count_sent_tokens(pack)) if pack.dropped_total is None else pack
    text = rendering.render_text(pack, target.now)
    return _only_prompt(_with_used(pack, tokenizer.count_tokens(text)), text)


def _count_sent_tokens(pack: Pack) -> int:
    """Tokens of the JSON as it is sent, this figure included: every three digits are a token."""
    bare = tokenizer.count_tokens(rendering.to_sent_json(pack)) - _count_digit_tokens(pack.budget.used)
    used = bare + _count_digit_tokens(bare)
    return bare + _count_digit_tokens(used)


def _count_digit_tokens(number: int) -> int:
    return -(-len(str(number)) // 3)


def list_decisions(gathered: GatheredCandidates, chosen: PackChoice, target: PackTarget) -> Iterator[PackDecision]:
    """What became of every candidate, and its cost: best first."""
    taken = {(candidate.part, candidate.item.id, candidate.item.title): candidate for candidate in chosen.kept}
    reasons = {(each.id, each.title): each for each in chosen.left}
    for candidate in gathered.candidates:
        item = candidate.item
        kept = taken.get((candidate.part, item.id, item.title))
        if kept is not None:
            outcome = _describe_kept(kept, item)
        elif item.id in chosen.joined:
            outcome = f"kept, in the text of {chosen.joined[item.id]}"
        else:
            reason = reasons.get((item.id, bounded_title(candidate)))
            outcome = f"dropped: {reason.why}" + (f" of {reason.of}" if reason.of else "") if reason else "dropped"
        tokens = _count_item_tokens(kept or candidate, target)
        yield PackDecision(
            part=candidate.part,
            id=item.id,
            kind=item.kind,
            rank=candidate.rank + 1,
            tokens=tokens,
            outcome=outcome,
            score=candidate.score,
            title=bounded_title(candidate),
        )


def _describe_kept(kept: PackCandidate, item: PackItem) -> str:
    if kept.item.positions:
        return "kept, with its neighbours"
    before, after = len(item.text or ""), len(kept.item.text or "")
    return "kept" if kept.item.text == item.text else "kept, widened" if after > before else "kept, shortened"
