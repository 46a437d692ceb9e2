"""What a conversation left open: said so at its end, asked and not answered, or failing to the last."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from vaults.transcripts.extraction.command_lines import rate_command
from vaults.transcripts.extraction.echoes import EchoFinder
from vaults.transcripts.extraction.extracted_memory import CONTENT_LENGTH, ExtractedMemory, cut
from vaults.transcripts.extraction.open_end_rules import OPEN_END_RULES, WITHDRAWN
from vaults.transcripts.extraction.spoken_text import words_of
from vaults.transcripts.extraction.statement_rules import match_rule, rules_for
from vaults.transcripts.extraction.work_steps import WorkStep
from vaults.transcripts.transcript import Conversation

MAX_OPEN_ENDS = 4
"""Open ends of one conversation at most, the last ones: they are what somebody goes on with."""

LAST_SPOKEN = 5
"""Spoken turns at the end in which something left open is looked for; what was open before was gone on with."""

UNANSWERED, LEFT_FAILING = 0.67, 0.33
"""Confidence, as measured on the development half of the judged conversations: (right + 1) / (found + 2)."""

_SENTENCE_WORDS, _CLEAR_WORDS = 3, 7
_SAID_LENGTH = 300
_CONTEXT_LENGTH = 240
_RULES = {True: rules_for("user", *OPEN_END_RULES), False: rules_for("agent", *OPEN_END_RULES)}
"""By whether the person speaks."""

_OFFER_OF_HELP = re.compile(
    r"\b(?:anything else|would you like|do you want to|what would you|how would you|is there anything"
    r"|shall i (?:go on|continue|proceed)|let me know|want me to|do you want me to|noch etwas"
    r"|how can i help|ready to|does that (?:help|work|answer))\b"
)
_POINTS_BACK = re.compile(r"\b(?:that|this|it|one|them|these|those|both|all|das|die|es|beide)\b")
_WORD = re.compile(r"[^\W\d_][\w./-]{3,}")
_FRAME = words_of("open still tomorrow later agent asked answered with that this have will need needs missing there")
_SHARED_WORDS = 2
"""Words of four letters and more that two open ends share when they are one: "the cron entry on ingest-02"."""


def find_open_ends(conversation: Conversation, steps: Sequence[WorkStep]) -> list[ExtractedMemory]:
    """What is open, the earliest first."""
    ends = _End(conversation, steps)
    found: list[ExtractedMemory] = []
    for each in (*ends.said(), *ends.unanswered()):
        if not any(_is_same(each, other) for other in found):
            found.append(each)
    said_until = max((each.turns[-1] for each in found), default=-1)
    found += [each for each in ends.failing() if each.turns[-1] > said_until]
    return sorted(found, key=lambda each: each.turns)[-MAX_OPEN_ENDS:]


class _End:
    """The last part of a conversation."""

    def __init__(self, conversation: Conversation, steps: Sequence[WorkStep]) -> None:
        project = (conversation.project or "").replace("\\", "/").rstrip("/").rpartition("/")[2]
        self._where = f" in {project}" if project else ""
        self._steps = steps
        self._spoken = [step for step in steps if step.is_spoken]
        self._echoes = EchoFinder()
        for step in steps[-200:]:
            self._echoes.follow(step)

    def said(self) -> Iterator[ExtractedMemory]:
        """What somebody called open. A reply to it in the next turn adds to it instead of being a second one."""
        last: ExtractedMemory | None = None
        for step in self._after_withdrawal(self._spoken[-LAST_SPOKEN:]):
            for number, each in enumerate(step.sentences):
                rule = match_rule(_RULES[step.by_user], each)
                if rule is None or self._echoes.is_echo(each.text) or _is_heading(each.text):
                    continue
                if last is not None and step.position - last.turns[-1] <= 1:
                    continue
                said = (
                    step.sentences[number - 1].text + " " + each.text if number and _is_vague(each.plain) else each.text
                )
                last = self._word(said, step, rule.name, rule.precision, each.plain)
                yield last

    def _after_withdrawal(self, spoken: Sequence[WorkStep]) -> Sequence[WorkStep]:
        withdrawn = [n for n, step in enumerate(spoken) if step.by_user and WITHDRAWN.search(step.said.casefold())]
        return spoken[withdrawn[-1] + 1 :] if withdrawn else spoken

    def unanswered(self) -> Iterator[ExtractedMemory]:
        """A question nobody replied to: the person's last words, or the agent's."""
        if not self._spoken:
            return
        step = self._spoken[-1]
        last = step.sentences[-1]
        if last.is_question and not (not step.by_user and _OFFER_OF_HELP.search(last.plain)) and len(last.text) > 12:
            who = "asked, not answered" if step.by_user else "the agent asked"
            yield self._word(f"{last.text}", step, "unanswered", UNANSWERED, last.plain, who)

    def failing(self) -> Iterator[ExtractedMemory]:
        """Commands worth keeping whose last run failed, and nothing else of their kind worked afterwards."""
        last: dict[str, WorkStep] = {}
        for step in self._steps:
            if step.command and step.failed is not None and rate_command(step.command):
                last.pop(step.command, None)
                last[step.command] = step
        for line, step in list(last.items())[-1:]:
            if step.failed:
                error = f": {step.error}" if step.error else ""
                yield ExtractedMemory(
                    kind="open",
                    content=cut(f"Left failing{self._where}: `{cut(line, 160)}`{error}", CONTENT_LENGTH),
                    confidence=LEFT_FAILING,
                    turns=(step.position,),
                    anchor=f"failing {line}",
                    rule="left-failing",
                    at=step.turn.at,
                    by_agent=True,
                )

    def _word(
        self, said: str, step: WorkStep, rule: str, precision: float, plain: str, how: str = ""
    ) -> ExtractedMemory:
        before = self._before(step) if step.by_user and _is_vague(plain) else None
        context = f" To: “{cut(before.said, _CONTEXT_LENGTH)}”" if before else ""
        return ExtractedMemory(
            kind="open",
            content=cut(
                f"Open{self._where}{f' ({how})' if how else ''}: “{cut(said, _SAID_LENGTH)}”{context}", CONTENT_LENGTH
            ),
            confidence=precision,
            turns=(before.position, step.position) if before else (step.position,),
            anchor=said,
            rule=rule,
            at=step.turn.at,
            by_agent=not step.by_user,
        )

    def _before(self, step: WorkStep) -> WorkStep | None:
        earlier = [
            each for each in self._spoken[-LAST_SPOKEN - 1 :] if each.position < step.position and not each.by_user
        ]
        return earlier[-1] if earlier else None


def _is_heading(text: str) -> bool:
    return len(text.split()) < _SENTENCE_WORDS or text.rstrip("* ").endswith(":")


def _is_vague(plain: str) -> bool:
    return len(plain.split()) < _CLEAR_WORDS or _POINTS_BACK.search(plain) is not None


def _is_same(one: ExtractedMemory, other: ExtractedMemory) -> bool:
    """Whether two open ends speak of the same thing."""
    words = [{word.casefold() for word in _WORD.findall(each.content)} - _FRAME for each in (one, other)]
    return len(words[0] & words[1]) >= _SHARED_WORDS
