"""What an agent's program tells its hooks, and what they answer: a brief at the start, memories that fit a prompt, and
where it was left off at the end.

A hook never stands in the way: whatever goes wrong, the agent goes on without it. What it answers is a context pack,
which is fenced as data, and the name of the session.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from server.transcript_tail import LastWork, read_last_work
from vaults.domain.packs import rendering
from vaults.errors import InvalidArgument

INPUT_BYTES = 8 * 1024 * 1024
CLIENT = "claude-code"
TOOL_MODULES = ("server.tools.context", "server.tools.sessions")
"""Where the tools stand that hooks call."""

START_TOKENS, PROMPT_TOKENS = 1500, 1000
_NAME_TOKENS = 60
"""What the line with the session's name may cost, of either."""

_QUERY_CHARACTERS = 2000
"""Characters of a prompt that are searched for; what it is about stands in the first of them."""

_LEFT_OFF_CHARACTERS = 2000
"""Characters ``session_save`` takes of where it was left off."""

_MIN_PROMPT = 12
"""Characters, without blanks, below which a prompt says too little to search for."""

_SESSION = re.compile(r"[0-9A-Za-z._-]{1,100}", re.ASCII)

CallTool = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Calls a tool of the vault and returns its structured result; raises ``StrongroomError``."""


class HookInput(BaseModel):
    """The input of a hook; what else stands in it is not looked at."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    session_id: str = ""
    cwd: str = ""
    prompt: str = ""
    transcript_path: str = ""
    hook_event_name: str = ""

    @property
    def session(self) -> str | None:
        """What the vault knows the conversation by."""
        return f"claude-{self.session_id}" if _SESSION.fullmatch(self.session_id) else None

    @property
    def folder(self) -> Path:
        """Where the agent works."""
        named = Path(self.cwd)
        return named if self.cwd and named.is_dir() else Path.cwd()


def parse_input(raw: bytes) -> HookInput:
    """The input as it came. Raises ``InvalidArgument``, which says nothing of what is in it."""
    if len(raw) > INPUT_BYTES:
        raise InvalidArgument("stdin", f"must be at most {INPUT_BYTES} bytes")
    try:
        return HookInput.model_validate(json.loads(raw))
    except (ValueError, RecursionError, ValidationError):
        raise InvalidArgument("stdin", "is not the JSON of a hook") from None


@dataclass(frozen=True, slots=True)
class HookRun:
    """One run of a hook. ``shared``: the agent's own calls may go on in the session of its hooks, so it is told its
    name. Where each hook is a process that ends, it would be ended with it."""

    ask: CallTool
    said: HookInput
    shared: bool

    async def start(self) -> str | None:
        """The brief of a session that begins."""
        pack = await self.ask("context", {"format": "prompt", "budget_tokens": START_TOKENS - _NAME_TOKENS})
        return self._answer("SessionStart", pack)

    async def prompt(self) -> str | None:
        """What is known of what the person just asked; None where that is nothing, or too little was asked."""
        query = self.said.prompt.strip()[:_QUERY_CHARACTERS]
        if query.startswith("/") or len("".join(query.split())) < _MIN_PROMPT:
            return None
        arguments = {"query": query, "format": "prompt", "budget_tokens": PROMPT_TOKENS - _NAME_TOKENS}
        return self._answer("UserPromptSubmit", await self.ask("context", arguments))

    async def stop(self) -> str | None:
        """Save where the session was left off, unless it has said so itself. The end of a turn is not the end of the
        session: what it claimed stays claimed, so one that claimed something is left alone until it ends."""
        session = (await self.ask("session_resume", {"limit": 1}))["session"]
        turn = self.said.hook_event_name == "Stop"
        if turn and (session.get("summary") or session.get("claims")):
            return None
        work = LastWork() if session.get("summary") else self._work()
        left = {"where_left_off": "; ".join(work.lines)[:_LEFT_OFF_CHARACTERS]} if work.lines else {}
        if left or not turn:
            await self.ask("session_save", {"status": "paused", **left})
        return None

    def _work(self) -> LastWork:
        return (
            read_last_work(Path(self.said.transcript_path), self.said.folder)
            if self.said.transcript_path
            else LastWork()
        )

    def _answer(self, event: str, pack: Mapping[str, Any]) -> str | None:
        told = str(pack.get("prompt", ""))
        if not rendering.has_content(told):
            return None
        name = f"strongroom session: {self.said.session}\n" if self.shared and self.said.session else ""
        found = {"hookEventName": event, "additionalContext": name + told}
        return json.dumps({"hookSpecificOutput": found, "suppressOutput": True})


EVENTS: Mapping[str, Callable[[HookRun], Awaitable[str | None]]] = {
    "session-start": HookRun.start,
    "prompt": HookRun.prompt,
    "stop": HookRun.stop,
}
