"""What a person complained of and what helped, where no command tells: a change after it, or advice they confirm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from vaults.transcripts.extraction.extracted_memory import CONTENT_LENGTH, ExtractedMemory, cut
from vaults.transcripts.extraction.fix_rules import (
    ADVICE_CONFIRMED,
    CHANGED_ON_COMPLAINT,
    COMPLAINT,
    CONFIRMED,
    DENIED,
    FixRule,
    describe_change,
    find_cause,
)
from vaults.transcripts.extraction.spoken_text import SpokenSentence
from vaults.transcripts.extraction.tool_steps import to_project_path
from vaults.transcripts.extraction.work_steps import WorkStep
from vaults.transcripts.transcript import Conversation

MAX_COMPLAINTS = 30
"""Settled complaints that are kept of one conversation, the first ones."""

_SAID_LENGTH = 220
_CONFIRMING_WORDS = 14
_MAX_FILES = 5
_MAX_STEPS = 40
"""Steps that belong to one request at most, when its cause and its changes are looked for."""


@dataclass(slots=True)
class _Request:
    """What a person asked in one turn, and all that was done before they spoke again."""

    asked: WorkStep
    done: list[WorkStep] = field(default_factory=list)


def find_complaints_settled(
    conversation: Conversation, steps: Sequence[WorkStep], mended: Sequence[ExtractedMemory]
) -> Iterator[ExtractedMemory]:
    """A fix for each complaint that something helped against, unless one of ``mended``, which commands prove, stands
    between it and the person's next words."""
    proven = sorted(each.turns[-1] for each in mended)
    requests = list(_requests(steps))
    left = MAX_COMPLAINTS
    for number, request in enumerate(requests):
        complaint = _complaint(request.asked)
        if complaint is None:
            continue
        reply = requests[number + 1] if number + 1 < len(requests) else None
        done = _with_reply(request, reply) if reply else request
        found = _settle(conversation, complaint, done, reply.asked if reply else None)
        if found and not _is_proven(request, reply, proven):
            yield found
            left -= 1
        if not left:
            return


def _complaint(step: WorkStep) -> SpokenSentence | None:
    return next((each for each in step.sentences if COMPLAINT.search(each.plain)), None)


def _requests(steps: Sequence[WorkStep]) -> Iterator[_Request]:
    current: _Request | None = None
    for step in steps:
        if step.by_user and step.sentences:
            if current:
                yield current
            current = _Request(step)
        elif current and len(current.done) < _MAX_STEPS:
            current.done.append(step)
    if current:
        yield current


def _with_reply(request: _Request, reply: _Request) -> _Request:
    """A complaint that the agent met with an offer is settled by what is done on the reply."""
    if any(step.changes for step in request.done) or _confirmation(reply.asked) or _complaint(reply.asked):
        return request
    return _Request(request.asked, [*request.done, *reply.done])


def _is_proven(request: _Request, reply: _Request | None, proven: Sequence[int]) -> bool:
    until = reply.asked.position if reply else float("inf")
    return any(request.asked.position < turn < until for turn in proven)


def _settle(
    conversation: Conversation, complaint: SpokenSentence, request: _Request, reply: WorkStep | None
) -> ExtractedMemory | None:
    answer = reply.sentences[0].plain if reply else ""
    if reply and DENIED.search(answer):
        return None
    cause = find_cause(request.done)
    changed = [step for step in request.done if step.changes]
    if cause and changed:
        names = dict.fromkeys(to_project_path(e.path, conversation.project) for step in changed for e in step.changes)
        files = list(names)[:_MAX_FILES]
        told = f"“{cause}” Changed {', '.join(files)}{describe_change([e for step in changed for e in step.changes])}."
        return _word(CHANGED_ON_COMPLAINT, complaint, told, request, changed[-1])
    confirmation = _confirmation(reply) if reply else None
    if cause and reply and confirmation:
        said = " ".join(s.text for step in request.done if step.is_spoken for s in step.sentences)
        told = f"What helped: “{cut(said, _SAID_LENGTH)}” “{cut(confirmation.text, _SAID_LENGTH)}”"
        return _word(ADVICE_CONFIRMED, complaint, told, request, reply)
    return None


def _confirmation(reply: WorkStep) -> SpokenSentence | None:
    short = (each for each in reply.sentences if len(each.plain.split()) <= _CONFIRMING_WORDS and not each.is_question)
    return next((each for each in short if CONFIRMED.search(each.plain)), None)


def _word(rule: FixRule, complaint: SpokenSentence, told: str, request: _Request, last: WorkStep) -> ExtractedMemory:
    return ExtractedMemory(
        kind="fix",
        content=cut(f"Problem: “{cut(complaint.text, _SAID_LENGTH)}” {told}", CONTENT_LENGTH),
        confidence=rule.precision,
        turns=(request.asked.position, last.position),
        anchor=complaint.text,
        rule=rule.name,
        at=last.turn.at,
        by_agent=True,
    )
