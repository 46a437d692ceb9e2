"""Hands conversations to a model, part by part, and makes memories of what it answers.

Before a call its cost is counted, and after it the answer is kept before anything is stored of it: wherever a harvest
is killed, no call is free and none is made twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from vaults.transcripts.document_lines import LineMaker
from vaults.transcripts.exclusions import Exclusions
from vaults.transcripts.model_extraction.answer import CheckedAnswer, answer_schema, check_answer
from vaults.transcripts.model_extraction.call_budget import estimate_tokens
from vaults.transcripts.model_extraction.extraction_setup import ExtractionTally, ModelSetup
from vaults.transcripts.model_extraction.language_model import BadAnswer, ModelFailure, ModelReply, ModelUnavailable
from vaults.transcripts.model_extraction.model_memory import model_memory_id
from vaults.transcripts.model_extraction.model_share import ModelShare, WindowResult, is_by_model
from vaults.transcripts.model_extraction.prompt import build_prompt, is_own_prompt
from vaults.transcripts.model_extraction.turn_window import TurnWindow, next_window
from vaults.transcripts.model_extraction.waiting_state import WaitingConversation, WaitingState
from vaults.transcripts.remembering import ChangedMemories, MemoryMaker
from vaults.transcripts.transcript import Conversation
from vaults.transcripts.whole_conversation import path_of, read_conversation, reader_of

MAX_FAILURES = 5
"""Failed calls after which a part of a conversation is left to the rules: it may be what the model fails at."""

LONGEST_WAIT_S = 7 * 86_400.0
"""Seconds after which a conversation is left to the rules: a budget that is too small would never come round to it."""

MAX_KNOWN = 30
"""Memories of the same conversation that a model is shown, the last ones."""

_LEAVING = ("/exit", "/quit")
"""With what people end a session, where the program writes it down."""


@dataclass(frozen=True, slots=True)
class WindowCall:
    """A part of a conversation that is to be asked about. ``known``: external ids of the memories it was shown."""

    transcript: str
    conversation: Conversation
    share: ModelShare
    window: TurnWindow
    known: tuple[str, ...]
    prompt: str

    @property
    def read(self) -> ModelShare:
        """What is read once there is an answer."""
        return replace(self.share, read_to=self.window.end, mark=self.window.mark)


@dataclass(frozen=True, slots=True)
class ConversationExtractor:
    """All but ``ask`` block, and belong on one thread. ``maker`` has the memories, ``lines`` shows turns without
    secrets; what ``exclusions`` name is not asked about, also where it was harvested before they did."""

    setup: ModelSetup
    maker: MemoryMaker
    lines: LineMaker
    state: WaitingState
    exclusions: Exclusions
    tally: ExtractionTally = field(default_factory=ExtractionTally)

    def note(self, documents: Sequence[Mapping[str, Any]]) -> None:
        """Conversations have grown: these are the lines of it."""
        now = self.setup.clock()
        for line in documents:
            if uri := line.get("uri"):
                changed_at = min(now, max(self._written_at(uri), _to_seconds(line.get("modified_at"))))
                self.state.note(line["external_id"], uri, changed_at, now, ended=_has_ended(line["parts"]))

    def next_step(self, *, may_call: bool = True) -> ChangedMemories | WindowCall | None:
        """Memories to be stored and confirmed, or a call to be made and taken; None if there is nothing to do now."""
        for transcript, uri, result in self.state.results():
            conversation = read_conversation(path_of(self.maker.home, uri), transcript)
            if conversation is not None and result.share.checked(conversation) == result.share:
                return self.maker.compare(transcript, conversation, result)
            self.state.drop_result(transcript)
        now = self.setup.clock()
        if not may_call or self.state.is_paused(now):
            return None
        waiting = list(self.state.due(now, self.setup.limits.quiet_s))
        for done, each in enumerate(waiting):
            if (call := self._prepare(each)) is None:
                continue
            if each.failures >= MAX_FAILURES or not 0 <= now - each.since <= LONGEST_WAIT_S:
                self.tally.left_to_rules += 1
                return self._leave_to_rules(call)
            if not self.setup.budget.take(estimate_tokens(call.prompt)):
                self.tally.waiting = len(waiting) - done
                return None
            return call
        return None

    async def ask(self, call: WindowCall) -> ModelReply | ModelFailure:
        """What the model says, or why it says nothing."""
        self.tally.calls += 1
        try:
            return await self.setup.model.ask(call.prompt, answer_schema(self.setup.limits.kinds))
        except ModelFailure as failure:
            return failure

    def take(self, call: WindowCall, reply: ModelReply | ModelFailure) -> None:
        """Keep what was answered; ``next_step`` then has its memories."""
        if isinstance(reply, ModelUnavailable):
            self.tally.failed[reply.reason] += 1
            self.state.fail(call.transcript, self.setup.clock())
            return
        self.state.succeed()
        try:
            if isinstance(reply, ModelFailure):
                raise reply
            self._correct_budget(call, reply)
            answer = check_answer(reply.text, call.window.shown, self.setup.limits.kinds, len(call.known))
        except BadAnswer as failure:
            self.tally.unusable[failure.reason] += 1
            self._leave_to_rules(call)
            return
        self.tally.memories += len(answer.memories)
        self.tally.rejected += answer.rejected
        self.state.keep_result(call.transcript, self._to_result(call, answer))

    def confirm(self, changed: ChangedMemories) -> None:
        """The memories are stored."""
        self.maker.confirm([changed])
        for transcript, _, result in self.state.results():
            if transcript == changed.transcript:
                self.state.confirm(transcript, result.share)

    def _prepare(self, waiting: WaitingConversation) -> WindowCall | None:
        path = path_of(self.maker.home, waiting.uri)
        conversation = read_conversation(path, waiting.transcript)
        share = self.state.share_of(waiting.transcript)
        if conversation is None or is_own_prompt(conversation.turns) or self._is_excluded(path, conversation):
            self.state.settle(waiting.transcript, share)
            return None
        share = share.checked(conversation)
        agent = conversation.agent or conversation.program
        window = next_window(
            conversation.turns,
            share.read_to,
            self.setup.limits.max_characters,
            lambda turn: self.lines.to_part(turn, agent),
        )
        if window is None:
            self.state.settle(waiting.transcript, share)
            return None
        known = self._known(waiting.transcript) if share.read_to else []
        ids = tuple(line["external_id"] for line in known)
        prompt = build_prompt(window, known, self.setup.limits.kinds)
        return WindowCall(waiting.transcript, conversation, share, window, ids, prompt)

    def _is_excluded(self, path: Path, conversation: Conversation) -> bool:
        return self.exclusions.exclude_file(path) or self.exclusions.exclude_project(conversation.project)

    def _known(self, transcript: str) -> list[dict[str, Any]]:
        lines = [line for line in self.maker.state.read(transcript).values() if is_by_model(line)]
        return sorted(lines, key=lambda line: (line["position"], line["external_id"]))[-MAX_KNOWN:]

    def _leave_to_rules(self, call: WindowCall) -> ChangedMemories:
        ruled = (*call.share.ruled, (call.window.begin, call.window.end))
        result = WindowResult(replace(call.read, ruled=ruled))
        self.state.keep_result(call.transcript, result)
        return self.maker.compare(call.transcript, call.conversation, result)

    def _correct_budget(self, call: WindowCall, reply: ModelReply) -> None:
        counted = estimate_tokens(call.prompt)
        spent = reply.tokens if reply.tokens is not None else counted + estimate_tokens(reply.text)
        self.setup.budget.correct(spent - counted)

    def _to_result(self, call: WindowCall, answer: CheckedAnswer) -> WindowResult:
        reader = reader_of(call.transcript)
        memories = {model_memory_id(reader, call.conversation.id, each): each for each in answer.memories}
        maker = self.maker.to_line_maker(call.conversation)
        former = self.maker.state.read(call.transcript)
        made = maker.to_lines(call.conversation, memories, call.transcript)
        lines = [_with_turns_of(former.get(line["external_id"]), line) for line in made]
        replaced = [call.known[number - 1] for number in sorted(answer.replaced)]
        return WindowResult(call.read, lines, replaced)

    def _written_at(self, uri: str) -> float:
        try:
            return path_of(self.maker.home, uri).stat().st_mtime
        except OSError:
            return 0.0


def _with_turns_of(former: Mapping[str, Any] | None, line: dict[str, Any]) -> dict[str, Any]:
    """A memory that was made before under the same title rests on the turns of both."""
    if former is None:
        return line
    turns = sorted({*former["metadata"]["turns"], *line["metadata"]["turns"]})
    return line | {"metadata": line["metadata"] | {"turns": turns}}


def _to_seconds(moment: str | None) -> float:
    try:
        return datetime.fromisoformat(moment).timestamp() if moment else 0.0
    except (ValueError, OverflowError):
        return 0.0


def _has_ended(parts: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the person left, by the last thing that was said."""
    last = list(parts)[-1:]
    return any(part["role"] == "user" and part["text"].strip() in _LEAVING for part in last)
