"""Stores what agents' programs wrote down: conversations as documents, and the memories made of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Collection, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vaults.context import run_in
from vaults.domain.actors import workspace_key
from vaults.domain.import_export.line_import import NumberedLine
from vaults.domain.import_export.row_writer import LineOutcome
from vaults.domain.import_export.source_import import Prepare, Push, leave_as_is
from vaults.domain.secrets import redaction
from vaults.transcripts.document_lines import LineMaker
from vaults.transcripts.exclusions import HarvestRules
from vaults.transcripts.extraction.extracted_memory import ExtractionKind
from vaults.transcripts.extraction.kinds import DEFAULT_KINDS
from vaults.transcripts.harvest import HarvestBatch, HarvestPass, HarvestTally
from vaults.transcripts.harvest_state import HarvestState
from vaults.transcripts.memory_state import MemoryState
from vaults.transcripts.remembering import ChangedMemories, MemoryMaker

LINES_AT_ONCE = 64


@dataclass(slots=True)
class HarvestReport:
    """What a pass stored. ``outcomes``: of lines by their kind; ``rejected``: reasons, the first few."""

    seen: HarvestTally
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
    what memories are made of."""

    home: Path
    state: Path
    rules: HarvestRules = field(default_factory=HarvestRules)
    kinds: Collection[ExtractionKind] = DEFAULT_KINDS

    async def run(self, push: Push, prepare: Prepare = leave_as_is) -> HarvestReport:
        """One pass: store what is new. Whatever is interrupted is stored by the next pass. Raises ``Conflict`` while
        another pass runs, and what ``push`` raises."""
        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        with ExitStack() as opened:
            thread = opened.enter_context(ThreadPoolExecutor(1, "harvest"))
            state = opened.enter_context(HarvestState(self.state / "transcripts.db"))
            memories = opened.enter_context(MemoryState(self.state / "memories.db"))
            one = HarvestPass(state, LineMaker(self.home, _redact, workspace_key), self.rules)
            maker = MemoryMaker(self.home, memories, _redact, workspace_key, self.kinds)
            report = HarvestReport(one.tally)
            async with aclosing(_read_ahead(thread, one, maker, prepare)) as batches:
                async for batch, lines, making in batches:
                    await _push_all(push, lines, report)
                    changed = await making
                    await _push_all(push, _number([line for each in changed for line in each.lines]), report)
                    await run_in(thread, _confirm, one, batch, maker, changed)
        return report


async def _read_ahead(
    thread: Executor, one: HarvestPass, maker: MemoryMaker, prepare: Prepare
) -> AsyncGenerator[tuple[HarvestBatch, Sequence[NumberedLine], asyncio.Task[list[ChangedMemories]]]]:
    """Batches, each with its lines, and its memories that are being made. While one is stored, the next is read and
    prepared; its memories are made once that is confirmed: they are compared with what was stored before."""
    batches, making = one.batches(), None

    async def read() -> tuple[HarvestBatch, Sequence[NumberedLine]] | None:
        batch = await run_in(thread, next, batches, None)
        return None if batch is None else (batch, await prepare(_number(batch.lines)))

    coming = asyncio.create_task(read())
    try:
        while (found := await coming) is not None:
            making = asyncio.create_task(run_in(thread, _make, maker, found[0]))
            coming = asyncio.create_task(read())
            yield *found, making
    finally:
        for task in (coming, making):
            if task is not None:
                task.cancel()
        await asyncio.gather(*filter(None, (coming, making)), return_exceptions=True)


def _make(maker: MemoryMaker, batch: HarvestBatch) -> list[ChangedMemories]:
    return list(maker.changed_memories(batch.lines, batch.conversations))


def _confirm(one: HarvestPass, batch: HarvestBatch, maker: MemoryMaker, changed: Sequence[ChangedMemories]) -> None:
    maker.confirm(changed)
    one.confirm(batch)


def _number(lines: Sequence[dict[str, Any]]) -> list[NumberedLine]:
    return [NumberedLine(number, line) for number, line in enumerate(lines, 1)]


async def _push_all(push: Push, lines: Sequence[NumberedLine], report: HarvestReport) -> None:
    while lines:
        outcomes = await push(lines[:LINES_AT_ONCE])
        report.add(outcomes)
        lines = lines[len(outcomes) :]


def _redact(text: str) -> str:
    return redaction.redact(text)[0]
