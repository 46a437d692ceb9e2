"""Errors and what made them go: a command that failed and worked later, with what was done in between."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from vaults.transcripts.extraction.command_lines import changes_something, is_other_form
from vaults.transcripts.extraction.extracted_memory import CONTENT_LENGTH, ExtractedMemory, cut
from vaults.transcripts.extraction.failures import signature
from vaults.transcripts.extraction.fix_rules import (
    EDITED_THEN_WORKED,
    OTHER_COMMAND_THEN_WORKED,
    OTHER_FORM_WORKED,
    FixRule,
    describe_change,
    find_cause,
)
from vaults.transcripts.extraction.tool_steps import to_project_path
from vaults.transcripts.extraction.work_steps import WorkStep
from vaults.transcripts.transcript import Conversation

MAX_FIXES = 40
"""Fixes that are kept of one conversation, the first ones."""

_WINDOW = 60
"""Steps before a success in which its cause is looked for."""

_NEAR = 8
"""Steps after a failure in which the same command in another form is a reply to it."""

_MAX_OPEN = 50
"""Commands that failed and are still waited for; the oldest ones are given up."""

_MAX_FILES = 5
_COMMAND = 120


def find_fixes(conversation: Conversation, steps: Sequence[WorkStep]) -> list[ExtractedMemory]:
    """What was repaired, in order."""
    return list(_Repairs(conversation, steps).find())[:MAX_FIXES]


class _Repairs:
    """Follows the commands of a conversation."""

    def __init__(self, conversation: Conversation, steps: Sequence[WorkStep]) -> None:
        self._project, self._steps = conversation.project, steps
        self._open: dict[str, list[int]] = {}
        """Runs of each command that failed since it last worked, as indices of steps."""
        self._changing: list[int] = []
        """Indices of steps that changed files."""

    def find(self) -> Iterator[ExtractedMemory]:
        """Fixes as they become complete."""
        for number, step in enumerate(self._steps):
            if step.changes:
                self._changing.append(number)
            if step.command is None or step.failed is None:
                continue
            if step.failed:
                self._fail(number, step.command)
            else:
                yield from self._worked(number, step.command)

    def _fail(self, number: int, command: str) -> None:
        if command not in self._open and len(self._open) >= _MAX_OPEN:
            self._open.pop(next(iter(self._open)))
        self._open.setdefault(command, []).append(number)

    def _worked(self, number: int, command: str) -> Iterator[ExtractedMemory]:
        failures = self._open.pop(command, None)
        if failures:
            yield from self._repaired(failures, number)
            return
        for other in list(self._open)[-3:]:
            last = self._open[other][-1]
            edited = self._edits(last, number)
            if number - last <= _NEAR and is_other_form(other, command) and (not edited or other in command):
                yield from self._repaired(self._open.pop(other), number)

    def _repaired(self, runs: Sequence[int], worked: int) -> Iterator[ExtractedMemory]:
        """One fix for each error on the way: the same error twice in a row is one that the first try did not mend."""
        first = 0
        for place, run in enumerate(runs):
            after = runs[place + 1] if place + 1 < len(runs) else worked
            here = signature(self._steps[run].error)
            if after != worked and signature(self._steps[after].error) == here:
                continue
            found = self._to_fix(runs[first], after, self._steps[worked])
            first = place + 1
            if found:
                yield found

    def _to_fix(self, failed: int, after: int, worked: WorkStep) -> ExtractedMemory | None:
        edits, before = self._edits(failed, after), self._steps[failed]
        commands = [] if edits else self._commands(failed, after)
        if edits:
            rule, how = EDITED_THEN_WORKED, self._describe_edits(edits)
        elif self._steps[after].command != before.command:
            rule, how = OTHER_FORM_WORKED, f"Worked as `{cut(self._steps[after].command or '', _COMMAND)}`"
        elif commands:
            ran = ", ".join(f"`{cut(step.command or '', _COMMAND)}`" for step in commands[:3])
            rule, how = OTHER_COMMAND_THEN_WORKED, f"Worked after {ran}"
        else:
            return None  # it worked by itself: nobody knows why
        return self._word(rule, how, failed, after, worked)

    def _word(self, rule: FixRule, how: str, failed: int, after: int, worked: WorkStep) -> ExtractedMemory:
        before = self._steps[failed]
        error = f": {before.error}" if before.error else ""
        cause = find_cause(self._steps[failed + 1 : min(after, failed + _WINDOW)])
        said = f" “{cause}”" if cause else ""
        files = self._files(self._edits(failed, after))
        return ExtractedMemory(
            kind="fix",
            content=cut(f"`{cut(before.command or '', _COMMAND)}` failed{error}.{said} {how}.", CONTENT_LENGTH),
            confidence=rule.precision,
            turns=(before.position, *(step.position for step in self._steps[after : after + 1]), worked.position)
            if self._steps[after] is not worked
            else (before.position, worked.position),
            anchor=f"{before.position} {before.command}",
            rule=rule.name,
            at=worked.turn.at,
            by_agent=True,
            applies_to=f"file:{files[0]}" if len(files) == 1 else None,
        )

    def _edits(self, since: int, until: int) -> list[WorkStep]:
        """Steps in between that changed files, the nearest ones to the success."""
        low = bisect_right(self._changing, max(since, until - _WINDOW))
        return [self._steps[number] for number in self._changing[low : bisect_right(self._changing, until)]]

    def _commands(self, since: int, until: int) -> list[WorkStep]:
        between = self._steps[max(since + 1, until - _WINDOW) : until]
        return [step for step in between if step.command and step.failed is False and changes_something(step.command)]

    def _files(self, edits: Sequence[WorkStep]) -> list[str]:
        return list(dict.fromkeys(to_project_path(each.path, self._project) for step in edits for each in step.changes))

    def _describe_edits(self, edits: Sequence[WorkStep]) -> str:
        files, changes = self._files(edits), [each for step in edits for each in step.changes]
        more = f" and {len(files) - _MAX_FILES} more" if len(files) > _MAX_FILES else ""
        told = f"Worked after a change of {', '.join(files[:_MAX_FILES])}{more}"
        return told + describe_change(changes)
