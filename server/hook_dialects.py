"""What agents' programs tell their hooks, and the answers they read: one dialect for each program, a value in a table.

After the documentation of each: "Hooks reference" of Claude Code (code.claude.com/docs/en/hooks), "Hooks" of Codex
(developers.openai.com/codex/hooks, and the schemas in codex-rs/hooks/schema), "Hooks" of Cursor
(cursor.com/docs/hooks), "Hooks reference" of Gemini CLI (geminicli.com/docs/hooks/reference). OpenCode runs no commands
but plugins: ours says what happened in the words of Claude Code.

Imports little: a hook is to cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

Answer = dict[str, object]

FIELDS = {"session_id": 200, "hook_event_name": 100, "cwd": 4096, "transcript_path": 4096}
"""What is read of the input besides the prompt, and how many bytes of each at most may be handed over to another
process: together they fit into a pipe, so nobody waits for a reader."""


class HookDialect:
    """A program's way to speak to hooks. Never changed; no dataclass, which would have to import three times as much.

    ``session`` begins the vault's name for a conversation; ``answer`` makes the answer for an event of ours and a text
    for the agent; ``goes_on`` names events at which a conversation is handed over and goes on; ``sources`` are those of
    fields that are called otherwise than in ``FIELDS``, tried in turn, and of a list the first is taken.
    """

    __slots__ = ("answer", "goes_on", "session", "sources")

    def __init__(
        self,
        session: str,
        answer: Callable[[str, str], Answer],
        goes_on: Iterable[str],
        sources: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.session = session
        self.answer = answer
        self.goes_on = frozenset(goes_on)
        self.sources = sources or {}

    def read(self, given: Mapping[str, object]) -> dict[str, object]:
        """The input in the words of ``FIELDS``. What was read once may be read again."""
        found: dict[str, object] = {}
        for field in (*FIELDS, "prompt"):
            for source in self.sources.get(field, (field,)):
                value = given.get(source)
                if isinstance(value, list):
                    value = next(iter(value), None)
                if value is not None:
                    found.setdefault(field, value)
        return found


def _specific(names: Mapping[str, str], **more: object) -> Callable[[str, str], Answer]:
    def answer(event: str, text: str) -> Answer:
        return {"hookSpecificOutput": {"hookEventName": names[event], "additionalContext": text}, **more}

    return answer


CLAUDE_CODE = "claude-code"
_CLAUDE_NAMES = {"session-start": "SessionStart", "prompt": "UserPromptSubmit"}

DIALECTS: Mapping[str, HookDialect] = {
    CLAUDE_CODE: HookDialect(
        session="claude-",
        answer=_specific(_CLAUDE_NAMES, suppressOutput=True),
        goes_on=("Stop", "PreCompact"),
    ),
    "codex": HookDialect(
        session="codex-",
        answer=_specific(_CLAUDE_NAMES),
        goes_on=("Stop", "PreCompact"),
    ),
    "cursor": HookDialect(
        session="cursor-",
        answer=lambda _, text: {"additional_context": text},
        goes_on=("stop", "preCompact"),
        # Its conversations stand in a database, which the path it tells does not lead to.
        sources={
            "session_id": ("conversation_id", "session_id"),
            "cwd": ("workspace_roots", "cwd"),
            "transcript_path": (),
        },
    ),
    "gemini-cli": HookDialect(
        session="gemini-",
        answer=_specific({"session-start": "SessionStart", "prompt": "BeforeAgent"}, suppressOutput=True),
        goes_on=("AfterAgent", "PreCompress"),
    ),
    "opencode": HookDialect(
        session="opencode-",
        answer=lambda _, text: {"context": text},
        goes_on=("session.idle", "session.compacting"),
        sources={"transcript_path": ()},  # its conversations stand in files of their own, or a database
    ),
}
