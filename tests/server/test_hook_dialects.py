"""What each program tells its hooks, in the forms its documentation gives: server.hook_dialects and server.hooks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from server.cli.hand_over import is_plain
from server.hook_dialects import DIALECTS
from server.hooks import EVENTS, HookHarvest, HookRun, parse_input
from tests.server.cli.command import Strongroom
from vaults.errors import InvalidArgument

PROMPT = "when do our deploys run?"
BRIEF = "From shared memory.\n<1>\n§ Memories\ndeploys on Monday\n</1>"

CODEX: dict[str, Any] = {
    "session_id": "0199", "transcript_path": None, "cwd": "/", "model": "gpt-5", "permission_mode": "default",
}  # fmt: skip
CURSOR: dict[str, Any] = {
    "conversation_id": "0199", "generation_id": "7", "model": "auto", "cursor_version": "3.20", "user_email": None,
    "workspace_roots": ["/", "/tmp"], "transcript_path": "/home/ann/.cursor/projects/x/agent-transcripts/0199.jsonl",
}  # fmt: skip
GEMINI: dict[str, Any] = {
    "session_id": "0199", "transcript_path": "/home/ann/.gemini/tmp/x/chats/session-0199.json", "cwd": "/",
    "timestamp": "2026-11-26T10:00:00Z",
}  # fmt: skip
OPENCODE: dict[str, Any] = {"session_id": "0199", "cwd": "/"}

SAID: dict[str, dict[str, dict[str, Any]]] = {
    "codex": {
        "session-start": {**CODEX, "hook_event_name": "SessionStart", "source": "startup"},
        "prompt": {**CODEX, "hook_event_name": "UserPromptSubmit", "turn_id": "1", "prompt": PROMPT},
        "goes on": {**CODEX, "hook_event_name": "Stop", "turn_id": "1", "stop_hook_active": False},
    },
    "cursor": {
        "session-start": {
            **CURSOR, "hook_event_name": "sessionStart", "session_id": "0199", "is_background_agent": False,
            "composer_mode": "agent",
        },
        "goes on": {**CURSOR, "hook_event_name": "stop", "status": "completed", "loop_count": 0},
        "ends": {**CURSOR, "hook_event_name": "sessionEnd", "session_id": "0199", "reason": "user_close"},
    },
    "gemini-cli": {
        "session-start": {**GEMINI, "hook_event_name": "SessionStart", "source": "startup"},
        "prompt": {**GEMINI, "hook_event_name": "BeforeAgent", "prompt": PROMPT},
        "goes on": {**GEMINI, "hook_event_name": "PreCompress", "trigger": "auto"},
        "ends": {**GEMINI, "hook_event_name": "SessionEnd", "reason": "exit"},
    },
    "opencode": {
        "session-start": {**OPENCODE, "hook_event_name": "session.start"},
        "prompt": {**OPENCODE, "hook_event_name": "chat.message", "prompt": PROMPT},
        "goes on": {**OPENCODE, "hook_event_name": "session.idle"},
        "ends": {**OPENCODE, "hook_event_name": "session.deleted"},
    },
}  # fmt: skip

ANSWERED: dict[tuple[str, str], dict[str, Any]] = {
    ("codex", "session-start"): {
        "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": BRIEF},
    },
    ("codex", "prompt"): {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": BRIEF}},
    ("cursor", "session-start"): {"additional_context": BRIEF},
    ("gemini-cli", "session-start"): {
        "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": BRIEF}, "suppressOutput": True,
    },
    ("gemini-cli", "prompt"): {
        "hookSpecificOutput": {"hookEventName": "BeforeAgent", "additionalContext": BRIEF}, "suppressOutput": True,
    },
    ("opencode", "session-start"): {"context": BRIEF},
    ("opencode", "prompt"): {"context": BRIEF},
}  # fmt: skip


class Asked:
    """Tools that answer the same, and remember what they were asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []

    async def ask(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        self.calls.append((tool, dict(arguments)))
        return {"context": {"prompt": BRIEF}, "session_resume": {"session": {"claims": ["deploy.sh"]}}}.get(tool, {})


async def run(client: str, event: str, said: Mapping[str, Any], asked: Asked) -> str | None:
    return await EVENTS[event](HookRun(asked.ask, parse_input(json.dumps(said).encode(), client), shared=False))


@pytest.mark.parametrize(("client", "event"), ANSWERED)
async def test_an_answer_stands_where_the_program_reads_it(client: str, event: str) -> None:
    answer = await run(client, event, SAID[client][event], Asked())
    assert answer is not None
    assert json.loads(answer) == ANSWERED[client, event]


async def test_the_session_is_the_conversation_and_the_prompt_is_searched_for() -> None:
    for client, events in SAID.items():
        for said in events.values():
            read = parse_input(json.dumps(said).encode(), client)
            assert (read.session, str(read.folder)) == (f"{client.removesuffix('-cli')}-0199", "/")
            again = DIALECTS[client].read({**DIALECTS[client].read(said)})
            assert again == DIALECTS[client].read(said), "what was handed over is read once more"
        if "prompt" in events:
            asked = Asked()
            await run(client, "prompt", events["prompt"], asked)
            assert asked.calls[0][1]["query"] == PROMPT


async def test_a_turn_that_ends_leaves_the_session_and_its_claims_alone() -> None:
    for client, events in SAID.items():
        asked = Asked()
        await run(client, "stop", events["goes on"], asked)
        assert [tool for tool, _ in asked.calls] == ["session_resume"], client
        if "ends" in events:
            await run(client, "stop", events["ends"], asked)
            assert asked.calls[-1] == ("session_save", {"status": "paused"}), client


async def test_a_path_that_leads_to_no_transcript_is_not_looked_for(tmp_path: Path) -> None:
    async def keep(_: object) -> None:
        raise AssertionError

    harvest = HookHarvest(tmp_path, lambda _: (), keep)
    asked = Asked()
    for client, right in (("cursor", True), ("gemini-cli", False)):
        said = parse_input(json.dumps(SAID[client]["ends"]).encode(), client)
        work = HookRun(asked.ask, said, shared=False, harvest=harvest).stop()
        if right:
            await work
        else:
            with pytest.raises(InvalidArgument):
                await work


def test_a_client_that_is_none_is_said(strongroom: Strongroom) -> None:
    for event in ("prompt", "stop"):
        refused = strongroom("hook", event, "--client", "emacs", stdin="{}")
        assert (refused.code, "--client" in refused.err) == (2, True)
    assert not is_plain(["hook", "stop", "--client=emacs"])
    assert is_plain(["hook", "stop", "--client", "cursor", "--vault", "main"])


@pytest.fixture
def strongroom(tmp_path: Path) -> Strongroom:
    return Strongroom(tmp_path / "data")
