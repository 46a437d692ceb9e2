"""Turns in the order in which a program wrote them down, and calls whose outcome is still to come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vaults.sources.record_fields import clean_text
from vaults.sources.times import to_rfc3339
from vaults.transcripts.shortening import cut_text, shorten_arguments, shorten_outcome
from vaults.transcripts.transcript import Conversation, Role, ToolUse, Turn

_TITLE = 200
_MAX_CALLS = 100
"""Calls that may wait for their outcome; of more, the oldest have none."""


class TurnLog:
    """What is read of one conversation, and what has to be known to go on reading later.

    A call becomes a turn when its outcome is there, or when the person speaks and it can have none: so the turns are
    the same however often the file is looked at while it grows."""

    def __init__(self, state: Mapping[str, Any] | None = None) -> None:
        known = state or {}
        self.turns: list[Turn] = []
        self.facts: dict[str, Any] = dict(known.get("facts") or {})
        self._next = int(known.get("next") or 0)
        self._calls: dict[str, Any] = dict(known.get("calls") or {})
        self._renamed = False

    def to_state(self) -> dict[str, Any]:
        """What ``TurnLog`` takes to go on."""
        return {"next": self._next, "calls": self._calls, "facts": self.facts}

    def note(self, fact: str, value: Any) -> None:
        """Keep what is first said of the conversation."""
        if fact not in self.facts and isinstance(value, str) and value:
            self.facts[fact] = clean_text(value)

    def name(self, title: Any, rank: int = 1) -> None:
        """Give the conversation a title; one of a lower rank does not replace it."""
        if not isinstance(title, str) or rank < self.facts.get("rank", 0):
            return
        line = " ".join(clean_text(title[: 4 * _TITLE]).split())
        line = line if len(line) <= _TITLE else line[: _TITLE - 1].rstrip() + "…"
        if line and line != self.facts.get("title"):
            self._renamed = self._renamed or self._next > 0
            self.facts |= {"title": line, "rank": rank}

    def say(self, role: Role, text: Any, at: Any = None, *, thinking: bool = False, author: str | None = None) -> None:
        """Add what was said, if it is anything. What a person says ends the calls before it."""
        if not isinstance(text, str) or not (said := cut_text(text)):
            return
        moment = self._moment(at)
        if role == "user":
            self.end_calls(moment)
            if "rank" not in self.facts:
                self.name(said.partition("\n")[0], 0)
                self._renamed = False
        self._add(role, said, moment, thinking=thinking, author=author)

    def call(self, call: Any, name: Any, arguments: Any, at: Any = None, author: str | None = None) -> None:
        """Keep a call until its outcome is known."""
        moment, key = self._moment(at), str(call or f"#{self._next}.{len(self._calls)}")
        if key in self._calls:
            self._end(key, moment)
        while len(self._calls) >= _MAX_CALLS:
            self._end(next(iter(self._calls)), moment)
        shown = arguments if isinstance(arguments, dict) else {"input": arguments} if arguments else {}
        self._calls[key] = [clean_text(str(name or "tool"))[:_TITLE], shorten_arguments(shown), moment, author]

    def answer(self, call: Any, outcome: Any, *, failed: bool | None, at: Any = None) -> None:
        """Add the turn of a call, now that its outcome is known."""
        self._end(str(call), self._moment(at), outcome if isinstance(outcome, str) else "", failed=failed)

    def did(self, use: ToolUse, at: Any = None, author: str | None = None) -> None:
        """Add the turn of a call whose outcome is known."""
        self.call("", use.name, use.arguments, at, author)
        self._end(next(reversed(self._calls)), self._moment(at), use.outcome, failed=use.failed)

    def end_calls(self, at: str | None = None) -> None:
        """Add the turns of calls that can have no outcome any more."""
        for key in tuple(self._calls):
            self._end(key, at)

    def to_conversation(self, conversation: str, program: str, *, whole: bool) -> Conversation | None:
        """What is new, unless that is nothing. It is whole if it begins with the first turn."""
        if not self.turns and not self._renamed:
            return None
        facts = {
            name: self.facts.get(name) for name in ("title", "project", "agent", "started_at", "ended_at", "parent")
        }
        first = bool(self.turns) and self.turns[0].position == 0
        return Conversation(conversation, program, tuple(self.turns), **facts, whole=whole or first)

    def _end(self, key: str, at: str | None, outcome: str = "", *, failed: bool | None = None) -> None:
        if (call := self._calls.pop(key, None)) is None:
            return
        name, arguments, called, author = call
        use = ToolUse(name, arguments, shorten_outcome(outcome), failed)
        self._add("tool", "", at or called, tool=use, author=author)

    def _add(
        self,
        role: Role,
        text: str,
        at: str | None,
        *,
        thinking: bool = False,
        tool: ToolUse | None = None,
        author: str | None = None,
    ) -> None:
        self.turns.append(
            Turn(position=self._next, role=role, text=text, at=at, thinking=thinking, tool=tool, author=author)
        )
        self._next += 1

    def _moment(self, at: Any) -> str | None:
        moment = to_rfc3339(at) if at else None
        if moment is not None:
            self.facts.setdefault("started_at", moment)
            self.facts["ended_at"] = max(moment, self.facts.get("ended_at", moment))
        return moment
