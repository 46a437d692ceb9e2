"""Stores what agents' programs wrote down: conversations as documents, and the memories made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vaults.context import run_in
from vaults.domain.actors import workspace_key
from vaults.domain.import_export.line_import import NumberedLine
from vaults.domain.import_export.row_writer import LineOutcome
from vaults.domain.import_export.source_import import Push
from vaults.domain.secrets import redaction
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

LINES_AT_ONCE = 64


@dataclass(slots=True)
class HarvestReport:
    """What a pass stored. ``outcomes``: of lines by their kind; ``rejected``: reasons, the first few;
    ``extraction``: what a model made of conversations."""

    seen: HarvestTally
    extraction: ExtractionTally = field(default_factory=ExtractionTally)
    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    rejected: list[str] = field(default_factory=list)

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

    async def run(self, push: Push, most_calls: int | None = None) -> HarvestReport:
        """One pass: store what is new, then ask the model about what waits, at most so often. Whatever is interrupted
        is stored by the next pass. Raises ``Conflict`` while another pass runs, and what ``push`` raises."""
        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        with ExitStack() as opened:
            thread = opened.enter_context(ThreadPoolExecutor(1, "harvest"))
            run = self._open(opened, thread)
            report = HarvestReport(run.one.tally)
            await run.store_new(push, report)
            if run.extractor is not None:
                report.extraction = run.extractor.tally
                await _extract(run.extractor, thread, push, report, most_calls)
        return report

    def _open(self, opened: ExitStack, thread: ThreadPoolExecutor) -> _OpenHarvest:
        state = opened.enter_context(HarvestState(self.state / "transcripts.db"))
        memories = opened.enter_context(MemoryState(self.state / "memories.db"))
        lines = LineMaker(self.home, _redact, workspace_key)
        one = HarvestPass(state, lines, self.rules)
        maker = MemoryMaker(self.home, memories, _redact, workspace_key, self.kinds)
        if self.extraction is None:
            return _OpenHarvest(thread, one, maker)
        waiting = opened.enter_context(WaitingState(self.state / "extraction.db"))
        replaced = replaced_kinds(self.extraction.limits.kinds)
        maker = replace(maker, share_of=waiting.share_of, replaced=replaced)
        exclusions = Exclusions(self.home, self.rules)
        extractor = ConversationExtractor(self.extraction, maker, lines, waiting, exclusions)
        return _OpenHarvest(thread, one, maker, extractor)


@dataclass(frozen=True, slots=True)
class _OpenHarvest:
    """A pass whose states are open. ``thread``: the one that all of it runs on."""

    thread: ThreadPoolExecutor
    one: HarvestPass
    maker: MemoryMaker
    extractor: ConversationExtractor | None = None

    async def store_new(self, push: Push, report: HarvestReport) -> None:
        """What was written down since the last pass, and what the rules make of it."""
        batches = self.one.batches()
        while (batch := await run_in(self.thread, next, batches, None)) is not None:
            await _push_all(push, batch.lines, report)
            for changed in await run_in(self.thread, list, self.maker.changed_memories(batch.lines)):
                await _push_all(push, changed.lines, report)
                await run_in(self.thread, self.maker.confirm, changed)
            if self.extractor is not None:
                await run_in(self.thread, self.extractor.note, batch.lines)
            await run_in(self.thread, self.one.confirm, batch)


async def _extract(
    extractor: ConversationExtractor,
    thread: ThreadPoolExecutor,
    push: Push,
    report: HarvestReport,
    most_calls: int | None,
) -> None:
    """Ask about one part of one conversation after the other; what was answered is stored before the next."""
    while True:
        may_call = most_calls is None or extractor.tally.calls < most_calls
        step = await run_in(thread, extractor.next_step, may_call=may_call)
        if step is None:
            return
        if isinstance(step, WindowCall):
            reply = await extractor.ask(step)
            await run_in(thread, extractor.take, step, reply)
        else:
            await _push_all(push, step.lines, report)
            await run_in(thread, extractor.confirm, step)


async def _push_all(push: Push, lines: Sequence[dict[str, Any]], report: HarvestReport) -> None:
    numbered = [NumberedLine(number, line) for number, line in enumerate(lines, 1)]
    while numbered:
        outcomes = await push(numbered[:LINES_AT_ONCE])
        report.add(outcomes)
        numbered = numbered[len(outcomes) :]


def _redact(text: str) -> str:
    return redaction.redact(text)[0]
