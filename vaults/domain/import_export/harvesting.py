"""Stores what agents' programs wrote down: conversations as documents, and the memories made of them."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from vaults.context import run_in
from vaults.domain.actors import workspace_key
from vaults.domain.import_export.line_import import NumberedLine
from vaults.domain.import_export.row_writer import LineOutcome
from vaults.domain.import_export.source_import import Push
from vaults.domain.secrets import redaction
from vaults.errors import Conflict
from vaults.transcripts.document_lines import LineMaker
from vaults.transcripts.exclusions import Exclusions, HarvestRules
from vaults.transcripts.extraction.extracted_memory import ExtractionKind
from vaults.transcripts.extraction.kinds import DEFAULT_KINDS
from vaults.transcripts.harvest import HarvestPass, HarvestTally
from vaults.transcripts.harvest_state import HarvestState
from vaults.transcripts.memory_state import MemoryState
from vaults.transcripts.model_extraction.conversation_extraction import ConversationExtractor, WindowCall
from vaults.transcripts.model_extraction.extraction_setup import ExtractionTally, ModelSetup
from vaults.transcripts.model_extraction.model_kinds import replaced_kinds
from vaults.transcripts.model_extraction.waiting_state import WaitingState
from vaults.transcripts.remembering import MemoryMaker
from vaults.transcripts.transcript import TranscriptReader

LINES_AT_ONCE = 64
CHARACTERS_AT_ONCE = 200_000
"""Characters of the turns that are pushed at once: whoever else writes waits for so much, and a server takes so much in
one request."""

_LOOK_S = 0.1
"""Seconds between two looks whether another pass has ended."""

MayGoOn: TypeAlias = Callable[[], Awaitable[bool]]
"""Awaited before each push; may wait until others are done. False ends the pass."""


async def go_on() -> bool:
    """For a pass that nothing holds up."""
    return True


@dataclass(slots=True)
class HarvestReport:
    """What a pass stored. ``outcomes``: of lines by their kind; ``rejected``: reasons, the first few; ``more``: it was
    ended before everything was read; ``extraction``: what a model made of conversations."""

    seen: HarvestTally
    extraction: ExtractionTally = field(default_factory=ExtractionTally)
    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    rejected: list[str] = field(default_factory=list)
    more: bool = False

    def add(self, outcomes: Sequence[LineOutcome]) -> None:
        """Count what became of lines."""
        for each in outcomes:
            self.outcomes.setdefault(each.kind, Counter())[each.outcome] += 1
            if each.outcome == "rejected" and len(self.rejected) < 10:
                self.rejected.append(each.reason or "")

    def count(self, kind: str) -> int:
        """Lines of a kind that were stored or changed something."""
        found = self.outcomes.get(kind, Counter())
        return found["stored"] + found["updated"]


@dataclass(frozen=True, slots=True)
class Harvester:
    """What is harvested, and where it is kept how far that is. ``state``: a folder of this harvest's own; ``kinds``:
    what memories the rules make; ``extraction``: the model that makes memories instead of some of them."""

    home: Path
    state: Path
    rules: HarvestRules = field(default_factory=HarvestRules)
    kinds: Collection[ExtractionKind] = DEFAULT_KINDS
    extraction: ModelSetup | None = None

    async def run(
        self,
        push: Push,
        files: Iterable[tuple[TranscriptReader, Path]] | None = None,
        may_go_on: MayGoOn = go_on,
        most_calls: int | None = None,
    ) -> HarvestReport:
        """One pass over ``files``, or over all there are: store what is new, then ask the model about what waits, at
        most so often. Whatever is interrupted is stored by the next pass. Raises ``Conflict`` while another pass runs,
        and what ``push`` raises."""
        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        with ExitStack() as opened:
            thread = opened.enter_context(ThreadPoolExecutor(1, "harvest"))
            run = self._open(opened, thread, push, may_go_on)
            if await run.store_new(files) and run.extractor is not None:
                await run.extract(run.extractor, most_calls)
        return run.report

    async def run_after_others(
        self,
        push: Push,
        files: Iterable[tuple[TranscriptReader, Path]] | None = None,
        may_go_on: MayGoOn = go_on,
        most_calls: int | None = None,
        seconds: float = 10.0,
    ) -> HarvestReport:
        """``run``, as soon as passes of other programs have ended; raises ``Conflict`` only after so many seconds."""
        files = None if files is None else tuple(files)
        until = time.monotonic() + seconds
        while True:
            try:
                return await self.run(push, files, may_go_on, most_calls)
            except Conflict:
                if time.monotonic() > until:
                    raise
            await asyncio.sleep(_LOOK_S)

    async def close(self) -> None:
        """Let go of the model's connections; a later pass makes new ones."""
        if self.extraction is not None:
            await self.extraction.model.close()

    def _open(self, opened: ExitStack, thread: ThreadPoolExecutor, push: Push, may_go_on: MayGoOn) -> _OpenHarvest:
        state = opened.enter_context(HarvestState(self.state / "transcripts.db"))
        memories = opened.enter_context(MemoryState(self.state / "memories.db"))
        lines = LineMaker(self.home, _redact, workspace_key)
        one = HarvestPass(state, lines, self.rules)
        maker = MemoryMaker(self.home, memories, _redact, workspace_key, self.kinds)
        extractor = None
        if self.extraction is not None:
            waiting = opened.enter_context(WaitingState(self.state / "extraction.db"))
            replaced = replaced_kinds(self.extraction.limits.kinds)
            maker = replace(maker, share_of=waiting.share_of, replaced=replaced)
            exclusions = Exclusions(self.home, self.rules)
            extractor = ConversationExtractor(self.extraction, maker, lines, waiting, exclusions)
        report = HarvestReport(one.tally) if extractor is None else HarvestReport(one.tally, extractor.tally)
        return _OpenHarvest(thread, one, maker, extractor, push, may_go_on, report)


@dataclass(frozen=True, slots=True)
class _OpenHarvest:
    """A pass whose states are open. ``thread``: the one that all of it runs on."""

    thread: ThreadPoolExecutor
    one: HarvestPass
    maker: MemoryMaker
    extractor: ConversationExtractor | None
    push: Push
    may_go_on: MayGoOn
    report: HarvestReport

    async def store_new(self, files: Iterable[tuple[TranscriptReader, Path]] | None) -> bool:
        """What was written down since the last pass, and what the rules make of it; whether all of it is stored."""
        batches = self.one.batches(files)
        while (batch := await run_in(self.thread, next, batches, None)) is not None:
            if not await self._push_all(batch.lines):
                return False
            made = self.maker.changed_memories(batch.lines, batch.conversations)
            changed = await run_in(self.thread, list, made)
            if not await self._push_all([line for each in changed for line in each.lines]):
                return False
            await run_in(self.thread, self.maker.confirm, changed)
            if self.extractor is not None:
                await run_in(self.thread, self.extractor.note, batch.lines)
            await run_in(self.thread, self.one.confirm, batch)
        return True

    async def extract(self, extractor: ConversationExtractor, most_calls: int | None) -> None:
        """Ask about one part of one conversation after the other; what was answered is stored before the next."""
        while True:
            may_call = most_calls is None or extractor.tally.calls < most_calls
            step = await run_in(self.thread, extractor.next_step, may_call=may_call)
            if step is None:
                return
            if isinstance(step, WindowCall):
                reply = await extractor.ask(step)
                await run_in(self.thread, extractor.take, step, reply)
                continue
            if not await self._push_all(step.lines):
                return
            await run_in(self.thread, extractor.confirm, step)

    async def _push_all(self, lines: Sequence[dict[str, Any]]) -> bool:
        """Whether all were pushed, and the pass may go on."""
        for piece in _pieces(lines):
            numbered = [NumberedLine(number, line) for number, line in enumerate(piece, 1)]
            while numbered:
                if not await self.may_go_on():
                    self.report.more = True
                    return False
                outcomes = await self.push(numbered)
                self.report.add(outcomes)
                numbered = numbered[len(outcomes) :]
        return True


def _pieces(lines: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The lines in their order, in pieces that are pushed at once."""
    piece: list[dict[str, Any]] = []
    size = 0
    for line in lines:
        characters = sum(len(part["text"]) for part in line.get("parts", ()))
        if piece and (len(piece) >= LINES_AT_ONCE or size + characters > CHARACTERS_AT_ONCE):
            yield piece
            piece, size = [], 0
        piece.append(line)
        size += characters
    if piece:
        yield piece


def _redact(text: str) -> str:
    return redaction.redact(text)[0]
