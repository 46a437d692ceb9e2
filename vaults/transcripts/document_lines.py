"""A conversation as lines that storage takes: a document of the format ``transcript``, or what is added to one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vaults.transcripts.own_tools import OWN_SERVERS, hide_own_tools
from vaults.transcripts.tool_lines import describe_use
from vaults.transcripts.transcript import Conversation, TranscriptReader, Turn

MAX_CHARACTERS = 200_000
"""Characters of the parts of one line; more of a conversation follow in lines that add to it."""

_USER = "user"


@dataclass(frozen=True, slots=True)
class LineMaker:
    """How lines are made. ``redact`` takes secrets out of a text, ``workspace_of`` gives the key of a project's
    workspace, ``servers`` are this server's names in other programs."""

    home: Path
    redact: Callable[[str], str]
    workspace_of: Callable[[str], str]
    servers: Collection[str] = OWN_SERVERS

    def to_lines(self, conversation: Conversation, reader: TranscriptReader, path: Path) -> Iterator[dict[str, Any]]:
        """The lines of what is new in a conversation; the first is whole if the conversation is."""
        parts: list[dict[str, Any]] = []
        size, append = 0, not conversation.whole
        for turn in conversation.turns:
            part = self.to_part(turn, conversation.agent or reader.program)
            if parts and size + len(part["text"]) > MAX_CHARACTERS:
                yield self._to_line(conversation, reader, path, parts, append=append)
                parts, size, append = [], 0, True
            parts.append(part)
            size += len(part["text"])
        yield self._to_line(conversation, reader, path, parts, append=append)

    def _to_line(
        self, conversation: Conversation, reader: TranscriptReader, path: Path, parts: list[Any], *, append: bool
    ) -> dict[str, Any]:
        line = {
            "kind": "document",
            "format": "transcript",
            "external_id": f"transcript:{reader.name}:{conversation.id}",
            "title": self.redact(conversation.title or f"A conversation with {reader.program}"),
            "uri": self._uri_of(path),
            "workspace": self.workspace_of(conversation.project) if conversation.project else None,
            "author": reader.program,
            "agent": conversation.agent,
            "parent": f"transcript:{reader.name}:{conversation.parent}" if conversation.parent else None,
            "created_at": conversation.started_at,
            "modified_at": conversation.ended_at,
            "append": append or None,
        }
        return {name: value for name, value in line.items() if value is not None} | {"parts": parts}

    def to_part(self, turn: Turn, agent: str) -> dict[str, Any]:
        """A turn as it may be shown: without secrets, and without what came from this server. ``agent``: who speaks
        where the turn does not say."""
        shown = hide_own_tools(turn, self.servers)
        part = {
            "position": turn.position,
            "text": describe_use(shown.tool, self.redact) if shown.tool else self.redact(shown.text),
            "author": _USER if turn.role == "user" else turn.author or agent,
            "role": turn.role,
        }
        return part | ({"at": turn.at} if turn.at else {}) | ({"thinking": True} if turn.thinking else {})

    def _uri_of(self, path: Path) -> str:
        shown = f"~/{path.relative_to(self.home).as_posix()}" if path.is_relative_to(self.home) else path.as_posix()
        return shown.encode("utf-8", "replace").decode()
