"""Stores what agents' programs wrote down: conversations as documents, and the memories made of them."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
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
from vaults.transcripts.exclusions import HarvestRules
from vaults.transcripts.extraction.extracted_memory import ExtractionKind
from vaults.transcripts.extraction.kinds import DEFAULT_KINDS
from vaults.transcripts.harvest import HarvestPass, HarvestTally
from vaults.transcripts.harvest_state import HarvestState
from vaults.transcripts.memory_state import MemoryState
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
    ended before everything was read."""

    seen: HarvestTally
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
    what memories are made of."""

    home: Path
    state: Path
    rules: HarvestRules = field(default_factory=HarvestRules)
    kinds: Collection[ExtractionKind] = DEFAULT_KINDS

    async def run(
        self,
        push: Push,
        files: Iterable[tuple[TranscriptReader, Path]] | None = None,
        may_go_on: MayGoOn = go_on,
    ) -> HarvestReport:
        """One pass over ``files``, or over all there are: store what is new. Whatever is interrupted is stored by the
        next pass. Raises ``Conflict`` while another pass runs, and what ``push`` raises."""
        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        with ExitStack() as opened:
            thread = opened.enter_context(ThreadPoolExecutor(1, "harvest"))
            state = opened.enter_context(HarvestState(self.state / "transcripts.db"))
            memories = opened.enter_context(MemoryState(self.state / "memories.db"))
            one = HarvestPass(state, LineMaker(self.home, _redact, workspace_key), self.rules)
            maker = MemoryMaker(self.home, memories, _redact, workspace_key, self.kinds)
            report = HarvestReport(one.tally)
            batches = one.batches(files)
            while (batch := await run_in(thread, next, batches, None)) is not None:
                if not await _push_all(push, batch.lines, report, may_go_on):
                    return report
                for changed in await run_in(thread, list, maker.changed_memories(batch.lines)):
                    if not await _push_all(push, changed.lines, report, may_go_on):
                        return report
                    await run_in(thread, maker.confirm, changed)
                await run_in(thread, one.confirm, batch)
        return report

    async def run_after_others(
        self,
        push: Push,
        files: Iterable[tuple[TranscriptReader, Path]] | None = None,
        may_go_on: MayGoOn = go_on,
        seconds: float = 10.0,
    ) -> HarvestReport:
        """``run``, as soon as passes of other programs have ended; raises ``Conflict`` only after so many seconds."""
        files = None if files is None else tuple(files)
        until = time.monotonic() + seconds
        while True:
            try:
                return await self.run(push, files, may_go_on)
            except Conflict:
                if time.monotonic() > until:
                    raise
            await asyncio.sleep(_LOOK_S)


async def _push_all(push: Push, lines: Sequence[dict[str, Any]], report: HarvestReport, may_go_on: MayGoOn) -> bool:
    """Whether all were pushed, and the pass may go on."""
    for piece in _pieces(lines):
        numbered = [NumberedLine(number, line) for number, line in enumerate(piece, 1)]
        while numbered:
            if not await may_go_on():
                report.more = True
                return False
            outcomes = await push(numbered)
            report.add(outcomes)
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
