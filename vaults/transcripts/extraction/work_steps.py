"""A conversation as steps: what was said, which commands ran, which files were changed, in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from vaults.transcripts.extraction.failures import find_error
from vaults.transcripts.extraction.spoken_text import SpokenSentence, read_spoken
from vaults.transcripts.extraction.tool_steps import EditedFile, has_failed, read_changes, read_command, read_outcome
from vaults.transcripts.transcript import Conversation, Turn


@dataclass(frozen=True)
class WorkStep:
    """One turn, read. ``command``: what a shell ran in it; ``failed``: None where nobody knows; ``changes``: files it
    changed; ``sentences``: what its speaker said, empty for tools."""

    turn: Turn
    command: str | None = None
    failed: bool | None = None
    error: str = ""
    changes: tuple[EditedFile, ...] = ()
    sentences: tuple[SpokenSentence, ...] = ()

    @property
    def position(self) -> int:
        """Where in the conversation it stands."""
        return self.turn.position

    @property
    def by_user(self) -> bool:
        """Whether the person said it."""
        return self.turn.role == "user" and self.turn.tool is None

    @property
    def is_spoken(self) -> bool:
        """Whether it was said aloud, and says something."""
        return bool(self.sentences) and not self.turn.thinking

    @cached_property
    def said(self) -> str:
        """Everything that was said in it, on one line."""
        return " ".join(each.text for each in self.sentences)


def read_steps(conversation: Conversation) -> Iterator[WorkStep]:
    """The steps of a conversation, in order. What a tool printed is nobody's words, so it has no sentences."""
    for turn in conversation.turns:
        if turn.tool is not None:
            failed = has_failed(turn.tool)
            error = find_error(read_outcome(turn.tool)) if failed else ""
            yield WorkStep(turn, read_command(turn.tool), failed, error, () if failed else read_changes(turn.tool))
        elif turn.role == "tool":
            yield WorkStep(turn)
        else:
            yield WorkStep(turn, sentences=read_spoken(turn.text))
