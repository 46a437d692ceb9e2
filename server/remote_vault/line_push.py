"""Pushes lines to a vault on another server, through its tools ``imports`` and ``transcripts``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from vaults.domain.import_export.line_import import NumberedLine
from vaults.domain.import_export.row_writer import LineOutcome

CallTool = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Calls a tool of the remote vault; raises for an error that a retry does not change."""

MAX_TOKENS = 100_000
"""Room for the reasons of a batch that is rejected as a whole."""


@dataclass(slots=True)
class LinePush:
    """One import into a remote vault. ``run`` is known once the first lines are there."""

    call: CallTool
    source: str
    path: str
    run: str | None = None

    async def push(self, lines: Sequence[NumberedLine]) -> list[LineOutcome]:
        """Store a batch, or the first lines of it, as ``import_lines`` does."""
        arguments: dict[str, Any] = {
            "action": "push", "source": self.source, "path": self.path, "lines": [each.fields for each in lines],
            "first": lines[0].number, "max_tokens": MAX_TOKENS,
        }  # fmt: skip
        answer = await self.call("imports", arguments if self.run is None else {**arguments, "run": self.run})
        self.run = answer["run"]
        return _to_outcomes(lines, answer)

    async def end(self) -> None:
        """Say that there is no more."""
        if self.run is not None:
            await self.call("imports", {"action": "end", "run": self.run})


@dataclass(frozen=True, slots=True)
class TranscriptPush:
    """What a harvest found, into a remote vault: the caller's run of this day."""

    call: CallTool

    async def push(self, lines: Sequence[NumberedLine]) -> list[LineOutcome]:
        """Store a batch, or the first lines of it."""
        numbered = [NumberedLine(number, each.fields) for number, each in enumerate(lines, 1)]
        arguments = {"action": "push", "lines": [each.fields for each in numbered], "max_tokens": MAX_TOKENS}
        return _to_outcomes(numbered, await self.call("transcripts", arguments))


def _to_outcomes(lines: Sequence[NumberedLine], answer: dict[str, Any]) -> list[LineOutcome]:
    """An outcome for each line that is done with. The answer names rejected lines; of the others it has numbers by
    kind, and which of a kind is which makes no difference."""
    reasons = {each["line"]: each["reason"] for each in answer.get("rejected", ())}
    left = {kind: dict(found) for kind, found in answer.get("counts", {}).items()}
    outcomes = []
    for line in lines[: answer.get("done", 0)]:
        kind = str(line.fields.get("kind", "memory"))
        if line.number in reasons:
            outcomes.append(LineOutcome(kind, "rejected", reasons[line.number]))
            continue
        outcome = next(name for name, number in left[kind].items() if number and name != "rejected")
        left[kind][outcome] -= 1
        outcomes.append(LineOutcome(kind, outcome))
    return outcomes
