"""What ``strongroom harvest`` prints of its passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vaults.domain.import_export.harvesting import HarvestReport
    from vaults.transcripts.model_extraction.extraction_setup import ExtractionTally


@dataclass(slots=True)
class ShownReports:
    """``quiet``: passes that change nothing are passed over, since there is one every few seconds."""

    quiet: bool
    _waited: bool = False

    def show(self, report: HarvestReport) -> None:
        """One pass."""
        from server.cli.output import say, say_on_stderr
        from vaults.domain.text.plurals import pluralize

        documents, memories, model = report.count("document"), report.count("memory"), report.extraction
        if not self.quiet or documents or memories:
            turns, files = report.seen.turns, report.seen.files
            seen = f"{pluralize(turns, 'new turn')} in {pluralize(files, 'transcript')}"
            say(f"{seen}; {pluralize(memories, 'memory', 'memories')} stored or changed")
        if model.calls:
            made = pluralize(model.memories, "memory", "memories")
            say(f"the model was asked {pluralize(model.calls, 'time')} and made {made}")
        for path, reason in report.seen.failed[:10]:
            say_on_stderr(f"{path}: {reason}")
        for reason in report.rejected:
            say_on_stderr(f"not taken: {reason}")
        for line in _what_went_wrong(model):
            say_on_stderr(line)
        if model.waiting and not self._waited:
            say_on_stderr(f"{model.waiting} conversations wait for tomorrow: what may be asked in a day is used up")
        self._waited = bool(model.waiting)


def _what_went_wrong(model: ExtractionTally) -> Iterator[str]:
    for reason, times in model.failed.items():
        yield f"no answer of the model, asked again later: {reason} ({times})"
    for reason, times in model.unusable.items():
        yield f"no use in an answer of the model, rules instead: {reason} ({times})"
    for reason, times in model.rejected.items():
        yield f"left out of an answer of the model: {reason} ({times})"
    if model.left_to_rules:
        yield f"left to the rules after waiting in vain: {model.left_to_rules}"
