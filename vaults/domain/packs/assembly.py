"""From candidates to a pack: the stages stand in ``assemble``, in order. Pure but for the nonce."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from vaults.domain.packs import rendering
from vaults.domain.packs.budget_fit import fit
from vaults.domain.packs.pack import (
    TOKENIZER,
    Bond,
    Budget,
    Decision,
    Evidence,
    Form,
    Gathered,
    Left,
    Pack,
    Part,
    Piece,
)
from vaults.domain.packs.selection import judge, label, left_out
from vaults.domain.packs.token_counts import COUNTS
from vaults.domain.text.sanitize import MARK
from vaults.search import tokenizer

NAMED = 50
"""Candidates that ``dropped`` names at most."""

APART = 0.04
"""Share of a budget that is kept for links, and in JSON as much again for ``dropped``, where there is any."""

EDGE = 12
"""Tokens of a list's own words."""

MANY = 1_000
"""As many candidates as there may be: its digits are kept free beside a prompt."""

SLACK = 8
"""Tokens by which the text of a pack may differ that is made anew: ages pass."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What a pack is made for. ``now``: the stored form of the present. ``aim``: tokens beyond which there is no need
    to go."""

    total: int
    form: Form
    now: str
    aim: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """A pack, the pieces in it, and every candidate that is not, with the reason."""

    pack: Pack
    kept: list[Piece]
    left: list[Left]


@dataclass(frozen=True, slots=True)
class _Size:
    """What pieces cost in one form."""

    frame: Frame

    def cost(self, piece: Piece) -> int:
        each = piece.evidence
        if self.frame.form == "json":
            if piece.part == "state":
                return COUNTS.of(f", {json.dumps(each.title, ensure_ascii=False)}: {each.text}")
            return COUNTS.of(f", {rendering.spaced(each)}")
        if piece.part == "state":
            return COUNTS.of(_escaped(f"\n{each.title}: {each.text}"))
        head = rendering.header(each, 1, self.frame.now)
        return COUNTS.of(_escaped(f"\n{head}")) + COUNTS.of(_escaped(f"\n{rendering.body(each)}"))


def _escaped(text: str) -> str:
    """A text as it stands in JSON: line feeds and quotes cost a token more there."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def assemble(gathered: Gathered, orphans: Collection[str], frame: Frame) -> Chosen:
    """The pack, never more than ``frame.aim`` tokens."""
    judged, refused = judge(gathered.pieces, orphans)
    kept, over = fit(judged, _room(gathered, judged, frame), _Size(frame))
    pack, kept, late = _settled(gathered, kept, frame)
    unfit = sorted([*over, *late], key=lambda piece: piece.rank)
    left = [*(left_out(piece, "instruction-like" if piece.suspect else "budget") for piece in unfit), *refused]
    pack = _told(_linked(pack, gathered, frame), left, frame)
    return Chosen(_finished(pack, frame), kept, left)


def _room(gathered: Gathered, judged: Sequence[Piece], frame: Frame) -> int:
    """What is left for pieces once the pack's own words are paid for."""
    empty = _packed(gathered, [], frame)
    if frame.form == "json":
        own = COUNTS.of(rendering.spaced(replace(empty, checkpoint=gathered.checkpoint)))
    else:
        bare = replace(empty, checkpoint=gathered.checkpoint, state={"": ""}, warnings=None)
        parts = {piece.part for piece in judged}
        own = _used(bare, frame) + 6 * len(parts)
    apart = int(APART * frame.aim)
    links = min(apart, sum(_bond_cost(bond, frame) for bond in gathered.bonds[:NAMED])) if gathered.bonds else 0
    dropped = apart if frame.form == "json" and len(judged) > 1 else 0
    return frame.aim - own - links - dropped


def _settled(gathered: Gathered, kept: list[Piece], frame: Frame) -> tuple[Pack, list[Piece], list[Piece]]:
    """The pack of ``kept``, counted as a whole: costs of pieces add up to it but for a few tokens. What is over goes,
    last ranked first; warnings go when nothing else is left. JSON comes with the same in words, for clients that show
    no JSON: that must not be longer either."""
    late: list[Piece] = []
    while True:
        pack = _packed(gathered, kept, frame)
        used = _used(pack, frame)
        if used <= frame.aim and (frame.form == "prompt" or _fits_in_words(pack, kept, frame)):
            return _spending(pack, used if kept else 0), kept, late
        if not kept:
            return _spending(replace(pack, warnings=None), 0), kept, late
        *kept, last = kept
        late.append(last)


def _fits_in_words(pack: Pack, kept: Sequence[Piece], frame: Frame) -> bool:
    """Words are shorter than JSON, unless lines of the texts have to be quoted."""
    marked = any(MARK in (piece.evidence.text or "") for piece in kept)
    return not marked or _in_words(pack, frame) + SLACK <= frame.aim


def _spending(pack: Pack, used: int) -> Pack:
    return replace(pack, budget=replace(pack.budget, used=used))


def _packed(gathered: Gathered, kept: Iterable[Piece], frame: Frame) -> Pack:
    parts: dict[Part, list[Evidence]] = {}
    whole = 0
    for piece in kept:
        parts.setdefault(piece.part, []).append(piece.evidence)
        whole += max(0, piece.whole - COUNTS.of(piece.evidence.text or "")) if piece.whole else 0
    state = {each.title or "": json.loads(each.text or "null") for each in parts.get("state", ())}
    return Pack(
        state=state,
        memories=parts.get("memories", []),
        passages=parts.get("passages", []),
        links=[],
        rules=parts.get("rules", []),
        budget=Budget(TOKENIZER, frame.total, frame.total, whole or None),
        dropped=[],
        brief=parts.get("brief"),
        checkpoint=gathered.checkpoint if state else None,
        warnings=gathered.warnings or None,
    )


def _used(pack: Pack, frame: Frame) -> int:
    """Tokens of a pack in its form. A prompt is sent as text and in JSON, where it takes more."""
    if frame.form == "json":
        return tokenizer.count(rendering.spaced(pack))
    counted = replace(pack, dropped_total=MANY)
    return tokenizer.count(rendering.spaced(_only_prompt(counted, rendering.prompt(counted, "123456789", frame.now))))


def _only_prompt(pack: Pack, prompt: str) -> Pack:
    """A pack whose prompt says it all."""
    bare = replace(pack, state={}, memories=[], passages=[], links=[], rules=[], dropped=[])
    return replace(bare, brief=None, checkpoint=None, prompt=prompt)


def _in_words(pack: Pack, frame: Frame) -> int:
    return tokenizer.count(rendering.prompt(pack, "123456789", frame.now))


def _linked(pack: Pack, gathered: Gathered, frame: Frame) -> Pack:
    """With the links of what is in it, as many as fit."""
    shown = {each.id for each in (*pack.memories, *pack.rules, *(pack.brief or ()))}
    bonds = [bond for bond in gathered.bonds if bond.from_id in shown or bond.to_id in shown]
    fitting, used = [], pack.budget.used + EDGE
    for bond in (_titled(bond, gathered, shown) for bond in bonds[:NAMED]):
        used += _bond_cost(bond, frame)
        if used > frame.aim:
            break
        fitting.append(bond)
    return _checked(_spending(replace(pack, links=fitting), used), pack, frame) if fitting else pack


def _checked(more: Pack, less: Pack, frame: Frame) -> Pack:
    """``more`` with its true size, or ``less`` where that is too much after all."""
    used = _used(more, frame)
    return _spending(more, used) if used <= frame.aim else less


def _titled(bond: Bond, gathered: Gathered, shown: Collection[str]) -> Bond:
    other = next((name for name in (bond.from_id, bond.to_id) if name not in shown), None)
    return replace(bond, title=gathered.titles.get(other)) if other else bond


def _bond_cost(bond: Bond, frame: Frame) -> int:
    return COUNTS.of(f", {rendering.spaced(bond)}" if frame.form == "json" else f"\n{rendering.bond_line(bond)}")


def _told(pack: Pack, left: Sequence[Left], frame: Frame) -> Pack:
    """With the names of what is left out, as many as fit; beside a prompt only their number."""
    if not left:
        return pack
    if frame.form == "prompt":
        return replace(pack, dropped_total=len(left))
    fitting, used = [], pack.budget.used + EDGE
    for each in left[:NAMED]:
        used += COUNTS.of(f", {rendering.spaced(each)}")
        if used > frame.aim:
            break
        fitting.append(each)
    for some in (fitting, []):
        told = replace(pack, dropped=some, dropped_total=len(left))
        used = _exact(told)
        if max(used, tokenizer.count(rendering.spaced(told))) <= frame.aim:
            return _spending(told, used)
    return pack


def _finished(pack: Pack, frame: Frame) -> Pack:
    """With its size, and as a prompt where it is one: then the text stands there and nowhere else."""
    if frame.form == "json":
        return _spending(pack, _exact(pack)) if pack.dropped_total is None else pack
    text = rendering.text(pack, frame.now)
    return _only_prompt(_spending(pack, tokenizer.count(text)), text)


def _exact(pack: Pack) -> int:
    """Tokens of the JSON as it is sent, its own figure in it: of three digits each is a token."""
    bare = tokenizer.count(rendering.sent(pack)) - _figure(pack.budget.used)
    used = bare + _figure(bare)
    return bare + _figure(used)


def _figure(number: int) -> int:
    return -(-len(str(number)) // 3)


def decisions(gathered: Gathered, chosen: Chosen, frame: Frame) -> Iterator[Decision]:
    """What became of every candidate, and what it cost: best first."""
    size = _Size(frame)
    taken = {(piece.part, piece.evidence.id, piece.evidence.title): piece for piece in chosen.kept}
    reasons = {(each.id, each.title): each for each in chosen.left}
    for piece in gathered.pieces:
        each = piece.evidence
        held = taken.get((piece.part, each.id, each.title))
        if held is not None:
            outcome = "kept" if held.evidence.text == each.text else "kept, shortened"
        else:
            reason = reasons.get((each.id, label(piece)))
            outcome = f"dropped: {reason.why}" + (f" of {reason.of}" if reason.of else "") if reason else "dropped"
        tokens = size.cost(held or piece)
        yield Decision(piece.part, each.id, each.kind, piece.rank + 1, tokens, outcome, piece.score, label(piece))
