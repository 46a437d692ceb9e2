"""Decisions and preferences: sentences that settle something, told with what they answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from vaults.transcripts.extraction.decision_rules import (
    ANSWERED,
    CHOICE_QUESTION,
    DECISION_RULES,
    NO_ANSWER,
    OFFER,
    PERMISSION,
)
from vaults.transcripts.extraction.echoes import EchoFinder
from vaults.transcripts.extraction.extracted_memory import CONTENT_LENGTH, ExtractedMemory, cut, normalize
from vaults.transcripts.extraction.fix_rules import CONFIRMED
from vaults.transcripts.extraction.preference_rules import PREFERENCE_RULES
from vaults.transcripts.extraction.spoken_text import SpokenSentence
from vaults.transcripts.extraction.statement_rules import Speaker, StatementRule, match_rule, rules_for
from vaults.transcripts.extraction.work_steps import WorkStep
from vaults.transcripts.transcript import Conversation

MAX_STATEMENTS = 60
"""Statements that are kept of one conversation, the first ones."""

_ANSWER_WORDS = 12
_CHOICE_WORDS = 4
_TASK_SENTENCES = 10
"""Sentences of a turn from which on what it asks for is taken to be about its task only."""

_REPLY_SENTENCES = 4
"""Sentences of a reply at most; what is longer holds something pasted, or a new task."""

_CLEAR_WORDS = 8
"""Words from which on a sentence is taken to say by itself what it is about."""

_CONTEXT_LENGTH = 240
_SAID_LENGTH = 400
_POINTS_BACK = re.compile(r"\b(?:that|this|it|them|those|these|one|both|either|same|das|die|den|beides|dies\w*)\b")
_RULES: dict[Speaker, tuple[StatementRule, ...]] = {
    "user": rules_for("user", *PREFERENCE_RULES, *DECISION_RULES),
    "agent": rules_for("agent", *DECISION_RULES),
    "thinking": rules_for("thinking", *DECISION_RULES),
}
_LONG_TURN = 24
"""Sentences from which on the middle of a turn is taken to be pasted, and only this share of both ends to be said."""

_OBJECTS = re.compile(r"(?:no|nope|nein|don't|do not|stop|wrong|please don't|bitte nicht)\b")
"""How objections begin that are understood only beside what was just done."""

_CONTENT_WORD = re.compile(r"[^\W\d_]{4,}")
_NAME = re.compile(r"\w{3,}")


def find_statements(conversation: Conversation, steps: Sequence[WorkStep]) -> list[ExtractedMemory]:
    """Decisions and preferences in the order in which they were said, each once."""
    found: dict[tuple[str, str], ExtractedMemory] = {}
    for memory in _Listener(conversation).listen(steps):
        found.setdefault((memory.kind, normalize(memory.anchor)), memory)
        if len(found) >= MAX_STATEMENTS:
            break
    return list(found.values())


class _Listener:
    """Hears a conversation turn by turn, and remembers what a reply may refer to."""

    def __init__(self, conversation: Conversation) -> None:
        project = (conversation.project or "").replace("\\", "/").rstrip("/").rpartition("/")[2]
        self._where = f" in {project}" if project else ""
        self._echoes = EchoFinder()
        self._offer: WorkStep | None = None
        """What the agent said last."""
        self._action = ""
        """What the agent did last, in code."""
        self._settled_by_user = -1
        """Position of the person's last decision, until they speak again."""

    def listen(self, steps: Sequence[WorkStep]) -> Iterator[ExtractedMemory]:
        """What each step settles."""
        for step in steps:
            if step.sentences:
                yield from self._hear(step)
            self._echoes.follow(step)
            self._note(step)

    def _note(self, step: WorkStep) -> None:
        if step.is_spoken and not step.by_user:
            self._offer = step
        elif step.by_user and step.sentences:
            self._action = ""
        elif step.command or step.changes:
            self._action = step.command or step.changes[0].path

    def _hear(self, step: WorkStep) -> Iterator[ExtractedMemory]:
        speaker: Speaker = "user" if step.by_user else "thinking" if step.turn.thinking else "agent"
        if speaker == "user":
            self._settled_by_user = -1
        matched = [pair for pair in self._match(step, speaker) if not self._echoes.is_echo(pair[1].text)]
        if speaker == "agent" and self._settled_by_user >= 0:
            return  # the agent repeats what the person has just settled
        for rule, sentences in _join_related(matched):
            if speaker == "user" and rule.kind == "decision":
                self._settled_by_user = step.position
            yield self._to_memory(rule, sentences, step, speaker)

    def _match(self, step: WorkStep, speaker: Speaker) -> Iterator[tuple[StatementRule, SpokenSentence]]:
        any_found = False
        for each in _ends_of(step.sentences):
            rule = match_rule(_RULES[speaker], each)
            if rule and self._is_due(rule, step):
                any_found = True
                yield rule, each
        if speaker == "user" and not any_found and len(step.sentences) <= _REPLY_SENTENCES:
            answer = next((each for each in step.sentences[:2] if self._answers(each)), None)
            if answer:
                yield ANSWERED, answer

    def _is_due(self, rule: StatementRule, step: WorkStep) -> bool:
        """Whether a rule holds where a sentence stands: a list of requirements is a task, whatever it forbids."""
        if rule.is_reply:
            return self._offer is not None and len(step.sentences) <= _REPLY_SENTENCES
        return rule.kind != "preference" or rule.is_lasting or len(step.sentences) <= _TASK_SENTENCES

    def _answers(self, reply: SpokenSentence) -> bool:
        """Whether a sentence of the person's chooses from what the agent offered: it answers a question with something
        that was in it, or is hardly more than one of the things that were offered."""
        length = len(reply.plain.split())
        if self._offer is None or reply.is_question or length > _ANSWER_WORDS:
            return False
        if NO_ANSWER.search(reply.plain) or CONFIRMED.search(reply.plain):
            return False
        last = self._offer.sentences[-3:]
        if any(PERMISSION.search(each.plain) and not CHOICE_QUESTION.search(each.plain) for each in last):
            return False
        if not any(OFFER.search(each.plain) for each in last):
            return False
        asked = any(each.is_question for each in last)
        named = not words_in(reply.text).isdisjoint(words_in(" ".join(each.text for each in last)))
        return (asked and (named or length <= _CHOICE_WORDS)) or (named and length < _CHOICE_WORDS)

    def _to_memory(
        self, rule: StatementRule, sentences: Sequence[SpokenSentence], step: WorkStep, speaker: Speaker
    ) -> ExtractedMemory:
        said = cut(" ".join(each.text for each in sentences), _SAID_LENGTH)
        if rule.kind == "preference":
            action = self._action if _OBJECTS.match(sentences[0].plain) else ""
            told = f"Wanted{self._where}: “{said}”" + (f" (said after `{cut(action, 120)}`)" if action else "")
            turns: tuple[int, ...] = (step.position,)
        else:
            before = self._context(rule, sentences) if speaker == "user" else ""
            told = f"{'Reasoned' if speaker == 'thinking' else 'Decided'}{self._where}: “{said}”{before}"
            turns = (self._offer.position, step.position) if before and self._offer else (step.position,)
        anchor = sentences[0].text if rule is not ANSWERED or not self._offer else f"{self._offer.said[-200:]} {said}"
        return ExtractedMemory(
            kind=rule.kind,
            content=cut(told, CONTENT_LENGTH),
            confidence=rule.precision,
            turns=turns,
            anchor=anchor,
            rule=rule.name,
            at=step.turn.at,
            by_agent=speaker != "user",
            is_thinking=speaker == "thinking",
        )

    def _context(self, rule: StatementRule, sentences: Sequence[SpokenSentence]) -> str:
        """What the agent had said, where the statement does not stand alone: its question, or else its end."""
        plain = " ".join(each.plain for each in sentences)
        alone = len(plain.split()) >= _CLEAR_WORDS and not _POINTS_BACK.search(plain)
        if self._offer is None or (alone and rule is not ANSWERED):
            return ""
        said = [each.text for each in self._offer.sentences]
        last, text = said[-1], " ".join(said)
        context = (
            text if len(text) <= _CONTEXT_LENGTH else f"{cut(text, _CONTEXT_LENGTH - len(last[:120]))} {last[:120]}"
        )
        return f" To the agent's: “{context}”"


def words_in(text: str) -> frozenset[str]:
    """Words of three characters and more, in lower case, those in code too."""
    return frozenset(_NAME.findall(text.casefold()))


def _ends_of(sentences: Sequence[SpokenSentence]) -> Sequence[SpokenSentence]:
    quarter = _LONG_TURN // 4
    return sentences if len(sentences) <= _LONG_TURN else (*sentences[:quarter], *sentences[-quarter:])


def _join_related(
    matched: Sequence[tuple[StatementRule, SpokenSentence]],
) -> Iterator[tuple[StatementRule, list[SpokenSentence]]]:
    """Sentences of one turn that say the same kind of thing about the same subject, as one statement."""
    groups: list[tuple[StatementRule, list[SpokenSentence], set[str]]] = []
    for rule, sentence in matched:
        words = set(_CONTENT_WORD.findall(sentence.plain))
        last = groups[-1] if groups else None
        if last and last[0].kind == rule.kind and last[2] & words:
            last[1].append(sentence)
            last[2].update(words)
        else:
            groups.append((rule, [sentence], words))
    yield from ((rule, sentences) for rule, sentences, _ in groups)
