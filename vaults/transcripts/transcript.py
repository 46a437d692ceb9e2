"""What a transcript is: the turns of one conversation, whichever program wrote it down."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

Role: TypeAlias = Literal["user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool an agent called in a turn. ``arguments`` are cut short, and so is ``outcome``, what came back; ``failed``:
    None where nobody knows. An MCP tool is called ``mcp__server__tool``."""

    name: str
    arguments: dict[str, Any]
    outcome: str = ""
    failed: bool | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing said or done. ``position`` counts from 0 within the conversation and never changes as it grows; ``at``
    is RFC 3339, None where the program wrote no time; ``thinking``: reasoning of the agent, not meant for the reader.
    ``author``: the model, or the agent that works for another; None where it is the conversation's, or the user."""

    position: int
    role: Role
    text: str
    at: str | None = None
    thinking: bool = False
    tool: ToolUse | None = None
    author: str | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation as far as it was written down. ``id`` is the program's own; ``project``: the folder it was held
    in, or the key of its workspace where the program wrote no more; ``agent``: the model or agent, where known;
    ``parent``: the conversation whose agent started this one. ``whole``: the turns are all there are, what was known
    of it is void; else they follow those known."""

    id: str
    program: str
    turns: tuple[Turn, ...]
    title: str | None = None
    project: str | None = None
    agent: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    parent: str | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class ReadPlace:
    """How far a file was read. ``mark``: digest of the last bytes before ``offset``, to notice that the file was
    replaced; ``state``: what the reader has to know to go on, as JSON."""

    offset: int = 0
    mark: str = ""
    state: str = ""


@dataclass(frozen=True, slots=True)
class TranscriptPart:
    """What a file has held since it was last read. ``more``: there is more to read from ``place`` on right now."""

    conversations: tuple[Conversation, ...]  # with the turns that are new, or all of them: see Conversation.whole
    place: ReadPlace
    more: bool = False


def _nothing_beside(_: Path) -> tuple[Path, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class TranscriptReader:
    """One program's transcripts. ``find`` yields the files below a home folder; ``read`` what is new in one, reading
    about ``max_bytes``; it raises ``InvalidArgument`` for a file that is none of its own, and ``OSError`` for one that
    cannot be read. ``beside``: what has to be looked at, too, to see whether a file holds anything new."""

    name: str  # as in settings and documents, such as claude-code
    program: str  # as its users write it
    find: Callable[[Path], Iterable[Path]]
    read: Callable[[Path, ReadPlace, int], TranscriptPart]
    beside: Callable[[Path], Iterable[Path]] = field(default=_nothing_beside)
