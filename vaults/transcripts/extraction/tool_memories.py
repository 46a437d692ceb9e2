"""Commands that worked and files that were changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vaults.transcripts.extraction.command_lines import WORTH_KEEPING, rate_command
from vaults.transcripts.extraction.extracted_memory import CONTENT_LENGTH, ExtractedMemory, cut
from vaults.transcripts.extraction.tool_steps import to_project_path
from vaults.transcripts.extraction.work_steps import WorkStep
from vaults.transcripts.own_tools import is_own_command
from vaults.transcripts.transcript import Conversation

MAX_COMMANDS = 30
"""Commands that are kept of one conversation, the first ones."""

_MAX_FILES = 20
_COMMAND_LENGTH = 300
_ASKED_LENGTH = 160
CHANGED_FILES = 0.95
"""Confidence in what the tools themselves say was changed."""

_UNSURE = 0.8
"""What is left of the confidence where the program did not say whether a command worked."""


def find_commands(conversation: Conversation, steps: Sequence[WorkStep]) -> list[ExtractedMemory]:
    """Each command that worked and is more than looking around, once, with the turns of all its successful runs."""
    runs: dict[str, list[WorkStep]] = {}
    for step in steps:
        command = step.command
        if command and len(command) <= _COMMAND_LENGTH and rate_command(command) and not is_own_command(command):
            runs.setdefault(command, []).append(step)
    where = _place(conversation)
    kept = [each for each in runs.items() if _is_worth_keeping(*each)]
    return [_to_command(line, [run for run in ran if not run.failed], where) for line, ran in kept[:MAX_COMMANDS]]


def _is_worth_keeping(line: str, ran: Sequence[WorkStep]) -> bool:
    often = len(ran) > 1 or rate_command(line) >= WORTH_KEEPING
    return often and any(not run.failed for run in ran)


def _to_command(line: str, ran: Sequence[WorkStep], where: str) -> ExtractedMemory:
    sure = rate_command(line)
    known = any(step.failed is False for step in ran)
    times = f" ({len(ran)} times)" if len(ran) > 1 else ""
    return ExtractedMemory(
        kind="command",
        content=f"Worked{where}{times}: `{line}`",
        confidence=sure if known else round(sure * _UNSURE, 2),
        turns=tuple(step.position for step in ran[:20]),
        anchor=line,
        rule="familiar-command" if sure >= WORTH_KEEPING else "command-ran-twice",
        at=ran[-1].turn.at,
        by_agent=True,
    )


def find_changed_files(conversation: Conversation, steps: Sequence[WorkStep]) -> Iterator[ExtractedMemory]:
    """All files that were changed, as one memory."""
    changed: dict[str, None] = {}
    turns = []
    last = None
    for step in steps:
        for change in step.changes:
            changed.setdefault(to_project_path(change.path, conversation.project))
        if step.changes:
            turns.append(step.position)
            last = step
    if last is None:
        return
    names = list(changed)
    more = f" and {len(names) - _MAX_FILES} more" if len(names) > _MAX_FILES else ""
    asked = next((cut(step.said, _ASKED_LENGTH) for step in steps if step.by_user and step.sentences), "")
    about = f" Asked for: “{asked}”" if asked else ""
    yield ExtractedMemory(
        kind="files",
        content=cut(f"Changed{_place(conversation)}: {', '.join(names[:_MAX_FILES])}{more}.{about}", CONTENT_LENGTH),
        confidence=CHANGED_FILES,
        turns=(turns[0], turns[-1]) if len(turns) > 1 else (turns[0],),
        anchor="files",
        rule="changed-files",
        at=last.turn.at,
        by_agent=True,
        applies_to=f"file:{names[0]}" if len(names) == 1 else None,
    )


def _place(conversation: Conversation) -> str:
    name = (conversation.project or "").replace("\\", "/").rstrip("/").rpartition("/")[2]
    return f" in {name}" if name else ""
