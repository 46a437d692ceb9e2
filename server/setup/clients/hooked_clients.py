"""The clients that run hooks: where these stand, and how one is written there.

After the documentation that ``server.hook_dialects`` names. Each is the file of the user, which holds in every project.
What a client has no hook for is left out: Cursor's documentation lets none add to a prompt, Codex has none at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from server.setup.clients.known_clients import UserFolders

Json = dict[str, Any]

WAIT_S = {"session-start": 10, "prompt": 5, "stop": 10}
"""Seconds a client waits for a hook of ours, by event: it gives up by itself before that."""


@dataclass(frozen=True, slots=True)
class HookedClient:
    """A client whose hooks stand in lists of a JSON file, below ``hooks``. ``events``: its events, with ours; ``hook``:
    an element of such a list, of a command and an event of ours; ``beside``: what else the file must say."""

    title: str
    file: Callable[[UserFolders], Path]
    events: Mapping[str, str]
    hook: Callable[[str, str], Json]
    beside: Json = field(default_factory=dict)
    afterwards: str = ""
    """What is left to the person."""


def _group(command: str, event: str) -> Json:
    return {"hooks": [{"type": "command", "command": command, "timeout": WAIT_S[event]}]}


def _named_group(command: str, event: str) -> Json:
    hook = {"name": "strongroom", "type": "command", "command": command, "timeout": WAIT_S[event] * 1000}
    return {"hooks": [hook]}


HOOKED = {
    "claude-code": HookedClient(
        title="Claude Code",
        file=lambda where: where.folder("CLAUDE_CONFIG_DIR", ".claude") / "settings.json",
        events={"SessionStart": "session-start", "UserPromptSubmit": "prompt", "Stop": "stop", "SessionEnd": "stop"},
        hook=_group,
    ),
    "codex": HookedClient(
        title="Codex",
        file=lambda where: where.folder("CODEX_HOME", ".codex") / "hooks.json",
        events={"SessionStart": "session-start", "UserPromptSubmit": "prompt", "PreCompact": "stop", "Stop": "stop"},
        hook=_group,
        afterwards="Codex runs them once you have reviewed and trusted them: /hooks",
    ),
    "cursor": HookedClient(
        title="Cursor",
        file=lambda where: where.home / ".cursor" / "hooks.json",
        events={"sessionStart": "session-start", "preCompact": "stop", "stop": "stop", "sessionEnd": "stop"},
        hook=lambda command, event: {"command": command, "timeout": WAIT_S[event]},
        beside={"version": 1},
    ),
    "gemini-cli": HookedClient(
        title="Gemini CLI",
        file=lambda where: where.home / ".gemini" / "settings.json",
        events={
            "SessionStart": "session-start",
            "BeforeAgent": "prompt",
            "PreCompress": "stop",
            "AfterAgent": "stop",
            "SessionEnd": "stop",
        },
        hook=_named_group,
    ),
}
