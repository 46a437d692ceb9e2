"""How much of what matters in a conversation is made into memories, and how much of what is made matters.

``python -m bench.quality.extraction``. Thirty judged conversations with which the rules were written, thirty held out;
their README (``tests/vaults/transcripts/extraction/judged``) says how they are judged.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.quality.judged_conversations import HALVES, JudgedConversation, JudgedMemory, read_half
from vaults.transcripts.extraction.extracted_memory import ExtractedMemory
from vaults.transcripts.extraction.extraction import extract
from vaults.transcripts.extraction.kinds import ALL_KINDS, KINDS, PRECISION_FLOOR

READER = "judged"
_ALL = "all"


@dataclass(slots=True)
class ExtractionFigures:
    """Counts of one kind."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0


@dataclass(slots=True)
class JudgedHalf:
    """Figures of a half by kind, and by rule; ``mistakes``: what was wrong and what was missed, to be
    read of the development half only, and so not shown by accident."""

    kinds: dict[str, ExtractionFigures] = field(default_factory=lambda: defaultdict(ExtractionFigures))
    rules: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    mistakes: list[str] = field(default_factory=list, repr=False)


def judge(conversations: Sequence[JudgedConversation]) -> JudgedHalf:
    """What is made of the conversations, with every kind switched on."""
    half = JudgedHalf()
    for each in conversations:
        found = extract(each.conversation, READER, kinds=ALL_KINDS).memories.values()
        _judge_one(half, each, list(found))
    return half


def _judge_one(half: JudgedHalf, judged: JudgedConversation, found: Sequence[ExtractedMemory]) -> None:
    wanted = [each for each in judged.judged if each.required]
    for memory in found:
        hit = next((each for each in wanted if each.fits(memory.kind, memory.content)), None)
        verdict = "right" if hit else "let pass" if _may_be(judged.judged, memory) else "wrong"
        half.rules[f"{memory.kind}/{memory.rule}"][verdict] += 1
        if hit:
            wanted.remove(hit)
        for name in (memory.kind, _ALL):
            half.kinds[name].right += verdict == "right"
            half.kinds[name].wrong += verdict == "wrong"
        if verdict == "wrong":
            half.mistakes.append(f"wrong  {judged.conversation.id} {memory.kind}/{memory.rule}: {memory.content}")
    for each in wanted:
        for name in (each.kind, _ALL):
            half.kinds[name].missed += 1
        half.mistakes.append(f"missed {judged.conversation.id} {each.kind}: {each.wordings}")


def _may_be(judged: Sequence[JudgedMemory], memory: ExtractedMemory) -> bool:
    return any(each.fits(memory.kind, memory.content) for each in judged if not each.required)


def main(argv: Sequence[str] | None = None) -> int:
    """Print both halves; 1 when a kind that is on by default is below the floor on the held-out half."""
    parser = argparse.ArgumentParser(prog="python -m bench.quality.extraction", description=__doc__)
    parser.add_argument("--mistakes", action="store_true", help="also print the development half's mistakes and rules")
    parser.add_argument("--only-development", action="store_true", help="leave the held-out half alone")
    given = parser.parse_args(argv)
    halves = {name: judge(read_half(name)) for name in (HALVES[:1] if given.only_development else HALVES)}
    print(_table(halves))
    if given.mistakes:
        development = halves[HALVES[0]]
        print("\n".join(sorted(development.mistakes)))
        for rule, verdicts in sorted(development.rules.items()):
            right, wrong = verdicts["right"] + verdicts["let pass"], verdicts["wrong"]
            print(f"{rule:40} right {right:3} wrong {wrong:3}  {(right + 1) / (right + wrong + 2):.2f}")
    held_out = halves.get(HALVES[-1])
    return int(held_out is not None and any(is_below(held_out, kind) for kind in KINDS if KINDS[kind].is_default))


def is_below(half: JudgedHalf, kind: str) -> bool:
    """Whether a kind's precision is below what is asked of one that is on by default."""
    return half.kinds[kind].precision < PRECISION_FLOOR


def _table(halves: Mapping[str, JudgedHalf]) -> str:
    lines = [f"{'half':12} {'kind':11} {'precision':>9} {'recall':>7} {'right':>6} {'wrong':>6} {'missed':>6}"]
    for name, half in halves.items():
        for kind in (*KINDS, _ALL):
            of = half.kinds[kind]
            lines.append(
                f"{name:12} {kind:11} {of.precision:9.3f} {of.recall:7.3f} {of.right:6} {of.wrong:6} {of.missed:6}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
