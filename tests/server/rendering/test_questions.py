"""Two hundred questions about what was stored, asked by readers who are shown the text alone, or the JSON alone."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.server.http.serving import LATEST_HANDSHAKE, MODERN, Raw, raw, served

TEXT_ONLY = "2025-03-26"
"""The last revision that knows no structured content."""

Called = Callable[..., Awaitable[dict[str, Any]]]

POLICY = """version: "1.0"
name: {name}
description: {said}
variables:
  word: {{type: string, required: true, description: {needle}}}
steps:
  - {{id: file, tool: note_write, args: {{path: "P/{{{{ word | slug }}}}.md", content: "{{{{ word }}}}"}}}}
"""


@dataclass(frozen=True)
class Question:
    """What is looked for, and the call a model would make for it."""

    needle: str
    about: str
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


class Stored:
    """Fills a vault with words nobody could guess, and keeps a question for each."""

    def __init__(self, call: Called, seed: int) -> None:
        self._call = call
        self._random = random.Random(seed)
        self._words: set[str] = set()
        self.questions: list[Question] = []

    def word(self) -> str:
        while True:
            made = "".join(self._random.choice("bdfgklmnprstvz") + self._random.choice("aeiou") for _ in range(5))
            if made not in self._words:
                self._words.add(made)
                return made

    def ask(self, needle: str, about: str, tool: str, **arguments: Any) -> None:
        self.questions.append(Question(needle, about, tool, arguments))

    async def memories(self, count: int) -> None:
        for _ in range(count):
            key, said, title, tag, meta, thread = (self.word() for _ in range(6))
            made = await self._call(
                "remember", content=f"The {key} is kept in the {said}.", title=f"Where {key} is: {title}", tags=[tag],
                type="fact", metadata={"shelf": meta}, thread=thread,
            )  # fmt: skip
            self.ask(said, "memory content", "recall", query=f"where is the {key} kept")
            self.ask(title, "memory title", "search", query=key, limit=3)
            self.ask(tag, "memory tag", "recall", query=key)
            self.ask(meta, "memory metadata", "memory_get", ids=[made["id"]])
            self.ask(thread, "memory thread", "memory_list", limit=1, tags=[tag])

    async def notes(self, count: int) -> None:
        for _ in range(count):
            path, key, body, heading, prop, task, target = (self.word() for _ in range(7))
            await self._call(
                "note_write", path=f"{path}/{key}.md", frontmatter={"status": prop},
                content=f"# {key}\n\n## {heading}\n\nThe {key} needs {body}, see [[{target}]].\n\n- [ ] call {task}\n",
            )  # fmt: skip
            note = f"{path}/{key}.md"
            self.ask(body, "note text", "search", query=f"{key} needs")
            self.ask(heading, "note heading", "note_read", path=note)
            self.ask(prop, "note property", "find_notes", folder=path)
            self.ask(task, "note task", "tasks", path=note)
            self.ask(target, "link", "graph", action="forward_links", path=note)
            self.ask(body, "note text", "fetch", id=note)

    async def sessions(self, count: int) -> None:
        summary, left, goal = "", "", ""
        for _ in range(count):
            summary, left, goal = self.word(), self.word(), self.word()
            await self._call(
                "session_save", summary=f"Did the {summary}", where_left_off=f"At the {left}", goal=f"A {goal}",
                actions=["looked around"], status="completed",
            )  # fmt: skip
            for needle, about in ((summary, "summary"), (left, "where left off"), (goal, "goal")):
                self.ask(needle, f"session {about}", "session_history", limit=50, max_tokens=8000)
        self.ask(summary, "session summary", "session_resume")
        self.ask(left, "session where left off", "session_resume")
        self.ask(goal, "session goal", "session_resume")

    async def handoffs(self, count: int) -> None:
        for _ in range(count):
            words = {
                name: self.word()
                for name in (
                    "goal", "current_state", "next_action", "constraints", "known_unknowns", "artifacts",
                    "stop_conditions",
                )
            }  # fmt: skip
            lists = ("constraints", "known_unknowns", "artifacts", "stop_conditions")
            said = {name: [f"a {each}"] if name in lists else f"the {each}" for name, each in words.items()}
            left = await self._call("handoff_create", **said)
            for name, needle in words.items():
                self.ask(needle, f"handoff {name}", "handoff_load", id=left["handoff"]["id"])

    async def claims(self, count: int) -> None:
        for _ in range(count):
            resource, description = self.word(), self.word()
            await self._call("claims", action="claim", resources=[f"src/{resource}.py"], description=description)
            self.ask(resource, "claimed resource", "claims")
            self.ask(description, "claim description", "claims")

    async def states(self, count: int) -> None:
        for _ in range(count):
            thread, value, name, reason = (self.word() for _ in range(4))
            await self._call("checkpoint", reason=f"before {reason}", state={"at": {name: value}}, thread=thread)
            self.ask(value, "state", "threads", action="show", thread=thread)
            self.ask(name, "state", "threads", action="show", thread=thread)
            self.ask(reason, "state reason", "threads", action="show", thread=thread)

    async def corrections(self, count: int) -> None:
        for _ in range(count):
            subject, wrong, right = (self.word() for _ in range(3))
            await self._call("corrections", action="record", subject=subject, wrong=f"uses {wrong}", right=right)
            self.ask(wrong, "correction wrong", "corrections", subject=subject)
            self.ask(right, "correction right", "corrections", subject=subject)

    async def names(self, count: int) -> None:
        for _ in range(count):
            name, alias, memory = (self.word() for _ in range(3))
            await self._call("note_write", path=f"people/{name}.md", content=f"# {name}\n\nA person.\n")
            await self._call("entities", action="alias", entity=f"people/{name}.md", alias=alias)
            made = await self._call("remember", content=f"Of {memory} there are many", type="fact")
            await self._call("memory_link", from_id=made["id"], relation="about", to_id=f"people/{name}.md")
            self.ask(alias, "alias", "entities", contains=name)
            self.ask(name, "memory link", "memory_get", ids=[made["id"]])
            self.ask(memory, "memory of a note", "graph", path=f"people/{name}.md")

    async def policies(self, count: int) -> None:
        for _ in range(count):
            name, said, needle = (self.word() for _ in range(3))
            content = POLICY.format(name=name, said=said, needle=needle)
            await self._call("policies", action="author", name=name, content=content)
            self.ask(said, "policy description", "policies", action="list")
            self.ask(needle, "policy variable", "policies", action="show", name=name)


async def _fill(owner: Raw) -> list[Question]:
    async def call(tool: str, **arguments: Any) -> dict[str, Any]:
        answer = await owner.call(tool, arguments)
        assert not answer.get("isError", True), (tool, answer)
        content: dict[str, Any] = answer["structuredContent"]
        return content

    stored = Stored(call, 13)
    await stored.memories(10)
    await stored.notes(8)
    await stored.states(6)
    await stored.corrections(6)
    await stored.names(5)
    await stored.policies(4)
    await stored.handoffs(3)
    await stored.sessions(5)
    await stored.claims(6)
    return stored.questions


async def _answer(owner: Raw, question: Question, era: str, form: str) -> str:
    """What a reader of one form is shown."""
    message = owner.message("tools/call", {"name": question.tool, "arguments": question.arguments}, era)
    result = (await owner.post(message, era=era, query=f"?tools=full{form}")).json()["result"]
    assert not result.get("isError"), (question, result)
    if form == "&content=structured":
        assert not any("text" in block for block in result["content"])
        return json.dumps(result["structuredContent"], ensure_ascii=False)
    if form == "&content=text":
        assert "structuredContent" not in result
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")


READERS = [(MODERN, "&content=text"), (MODERN, "&content=structured"), (TEXT_ONLY, "")]
BY_HANDSHAKE = [(LATEST_HANDSHAKE, "&content=text"), (LATEST_HANDSHAKE, "&content=structured")]
"""Who is shown the same by the same code, through another door: asked one question of each kind."""


async def test_whoever_is_shown_one_form_answers_questions_about_what_was_stored(tmp_path: Path) -> None:
    async with served(tmp_path) as site, raw(site, "owner") as owner:
        questions = await _fill(owner)
        assert len(questions) >= 200
        assert not [each for each in questions if each.needle in str(each.arguments)]
        of_each_kind = list({question.about: question for question in questions}.values())
        for readers, asked in ((READERS, questions), (BY_HANDSHAKE, of_each_kind)):
            for era, form in readers:
                missed = [each for each in asked if each.needle not in await _answer(owner, each, era, form)]
                share = 1 - len(missed) / len(asked)
                print(f"{era} {form or 'as it comes'}: {len(asked) - len(missed)} of {len(asked)}, {share:.1%}")
                assert share >= 0.95, Counter(question.about for question in missed)
