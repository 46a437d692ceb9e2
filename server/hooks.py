"""Hooks of an agent's program: a brief at the start, memories that fit a prompt, and at the end where work was left off
and what was said.

A hook never stands in the way: whatever goes wrong, the agent goes on without it. It answers with a context pack,
fenced as data, and the name of the session.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from server.hook_dialects import CLAUDE_CODE, DIALECTS, HookDialect
from vaults.domain.packs.no_content import NOTHING_ANSWERS, has_content
from vaults.errors import InvalidArgument

if TYPE_CHECKING:
    from vaults.transcripts.handed_file import HandedFile

INPUT_BYTES = 8 * 1024 * 1024
TOOL_MODULES = ("server.tools.context", "server.tools.sessions")
"""Modules of the tools that hooks call."""

START_TOKENS, PROMPT_TOKENS = 1500, 1000
_NAME_TOKENS = 60
"""Tokens of either budget reserved for the line with the session's name."""

_QUERY_CHARACTERS = 2000
"""Characters of a prompt that are searched for: its subject stands at the beginning."""

_LEFT_OFF_CHARACTERS = 2000
"""Max characters ``session_save`` takes for ``where_left_off``."""

_MIN_PROMPT = 12
"""Fewest characters, blanks not counted, of a prompt worth searching for."""

_SESSION = re.compile(r"[0-9A-Za-z._-]{1,100}", re.ASCII)

CallTool = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Calls a tool of the vault and returns its structured result; raises ``StrongroomError``."""


class HookInput(BaseModel):
    """The input of a hook, as its program's dialect has it; other fields are ignored. ``client``: the program."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    client: str = CLAUDE_CODE
    session_id: str = ""
    cwd: str = ""
    prompt: str = ""
    transcript_path: str = ""
    hook_event_name: str = ""

    @property
    def session(self) -> str | None:
        """The vault's name for the conversation."""
        return f"{self.dialect.session}{self.session_id}" if _SESSION.fullmatch(self.session_id) else None

    @property
    def dialect(self) -> HookDialect:
        """How the program speaks to hooks."""
        return DIALECTS[self.client]

    @property
    def folder(self) -> Path:
        """Where the agent works."""
        named = Path(self.cwd)
        return named if self.cwd and named.is_dir() else Path.cwd()


def parse_input(raw: bytes, client: str = CLAUDE_CODE) -> HookInput:
    """Parse raw input of a client's hook. Raises ``InvalidArgument``, which repeats nothing of it."""
    if len(raw) > INPUT_BYTES:
        raise InvalidArgument("stdin", f"must be at most {INPUT_BYTES} bytes")
    try:
        given = json.loads(raw)
        if not isinstance(given, dict):
            raise ValueError  # noqa: TRY004  it is the text that is wrong
        return HookInput.model_validate({**DIALECTS[client].read(given), "client": client})
    except (ValueError, RecursionError, ValidationError):
        raise InvalidArgument("stdin", "is not the JSON of a hook") from None


@dataclass(frozen=True, slots=True)
class HookHarvest:
    """What becomes of the transcript a hook names. ``last_work``: where the work in it stands, in words that may be
    stored; ``keep``: harvests it."""

    home: Path
    last_work: Callable[[HandedFile], Sequence[str]]
    keep: Callable[[HandedFile], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class HookRun:
    """One run of a hook."""

    ask: CallTool
    said: HookInput
    # The agent may continue the hooks' session, so it is given the name. Not where each hook is a process of its own:
    # the session would end with it.
    shared: bool
    harvest: HookHarvest | None = None

    async def start(self) -> str | None:
        """The brief of a session that begins."""
        pack = await self.ask("context", {"format": "prompt", "budget_tokens": START_TOKENS - _NAME_TOKENS})
        return self._answer("session-start", pack)

    async def prompt(self) -> str | None:
        """What is known about the person's prompt; None if nothing seems to answer it, or it is too short."""
        query = self.said.prompt.strip()[:_QUERY_CHARACTERS]
        if query.startswith("/") or len("".join(query.split())) < _MIN_PROMPT:
            return None
        arguments = {"query": query, "format": "prompt", "budget_tokens": PROMPT_TOKENS - _NAME_TOKENS}
        pack = await self.ask("context", arguments)
        # What is pinned stands in the brief: with nothing that answers, it would only be said again at every prompt.
        return None if NOTHING_ANSWERS in pack.get("warnings", ()) else self._answer("prompt", pack)

    async def stop(self) -> str | None:
        """Save where the session was left off, and keep the conversation. Raises ``InvalidArgument`` for a path that is
        no transcript; the session is saved all the same."""
        from vaults.transcripts.handed_file import find_handed_file

        path, harvest = self.said.transcript_path, self.harvest
        if not path or harvest is None:
            await self._save_session(())
            return None
        try:
            handed = find_handed_file(harvest.home, Path(path))
        except InvalidArgument:
            await self._save_session(())
            raise
        await self._save_session(harvest.last_work(handed))
        await harvest.keep(handed)
        return None

    async def _save_session(self, work: Sequence[str]) -> None:
        """Save where the session was left off, unless it did so itself. The end of a turn is not the end of the
        session: what it claimed stays claimed, so a session with claims is left alone until it ends."""
        session = (await self.ask("session_resume", {"limit": 1}))["session"]
        goes_on = self.said.hook_event_name in self.said.dialect.goes_on
        if goes_on and (session.get("summary") or session.get("claims")):
            return
        words = "" if session.get("summary") else "; ".join(work)[:_LEFT_OFF_CHARACTERS]
        left = {"where_left_off": words} if words else {}
        if left or not goes_on:
            await self.ask("session_save", {"status": "paused", **left})

    def _answer(self, event: str, pack: Mapping[str, Any]) -> str | None:
        brief = str(pack.get("prompt", ""))
        if not has_content(brief):
            return None
        name = f"strongroom session: {self.said.session}\n" if self.shared and self.said.session else ""
        return json.dumps(self.said.dialect.answer(event, name + brief))


EVENTS: Mapping[str, Callable[[HookRun], Awaitable[str | None]]] = {
    "session-start": HookRun.start,
    "prompt": HookRun.prompt,
    "stop": HookRun.stop,
}
