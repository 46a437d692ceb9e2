"""Every tool and action, asked of an installation in one order, and what it answers made comparable."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.cluster.installation import Installation, ToolAnswer
from tests.contracts.test_isolation import CALLS, TOOLS, VALID, _filled
from tests.contracts.test_private_twins import MORE, ROOM, UNTOLD
from tests.contracts.twins import NOTES, SHARED, TALK, comparable

VAULT = "main"
AGAIN, PAUSE_S = 100, 0.1
"""Times a reading that differs is asked again: what is still under way behind the answers ends."""

OWN = {("doctor", "config")}
"""What is told of the one server that answers, and differs from server to server."""

LAST = {("vaults", "rename"), ("vaults", "delete"), ("vaults", "copy"), ("vaults", "archive"), ("reindex", None)}
"""Of the vault that all else is asked of; ``life_of_a_vault`` has one for it. A copy is refused in a cluster."""
_SPECS = {spec.name: spec for spec in TOOLS}


@dataclass(frozen=True, slots=True)
class Step:
    """A call, with ``{own}`` and ``{other}`` for two memories, and ``{run}`` for the import that was begun."""

    tool: str
    arguments: dict[str, Any]
    vault: str = VAULT

    @property
    def writes(self) -> bool:
        return _SPECS[self.tool].action_of(self.arguments).writes

    def __str__(self) -> str:
        return f"{self.vault}: {self.tool} {json.dumps(self.arguments, ensure_ascii=False)[:200]}"


def setting_up() -> Iterator[Step]:
    """What stands in the vault before anything is asked."""
    for path, content in NOTES.items():
        yield Step("note_write", {"path": path, "content": content, "mode": "create"})
    for each in SHARED:
        yield Step("remember", each)
    yield Step("imports", {"action": "push", "lines": [TALK]})
    yield Step("imports", {"action": "end", "run": "{run}"})


def steps() -> Iterator[Step]:
    """First all that only reads, then all that writes, then the reading again."""
    every = [
        *(Step(spec.name, _filled(spec, action, "{own}", "{other}")) for spec, action in CALLS if spec.name in VALID),
        *(Step(spec.name, arguments) for spec in TOOLS for arguments in MORE.get(spec.name, ())),
    ]
    told = [each for each in every if (each.tool, each.arguments.get("action")) not in UNTOLD | LAST | OWN]
    reading = [each for each in told if not each.writes]
    yield from (*reading, *(each for each in told if each.writes), *reading)


def life_of_a_vault() -> Iterator[Step]:
    """From its making to its end, by the tool, with a memory in it."""
    for action, name, more in (
        ("create", "fresh", {}),
        ("create", "fresh", {}),
        ("rename", "fresh", {"to": "fresher"}),
        ("archive", "fresher", {"confirmed": True}),
        ("unarchive", "fresher", {}),
        ("delete", "fresher", {"name_again": "fresher", "confirmed": True}),
    ):
        yield Step("vaults", {"action": action, "name": name, **more})
        yield Step("vaults", {"action": "list"})
        yield Step("remember", {"content": f"The {name} vault came to {action}."}, more.get("to", name))
        yield Step("memory_list", {}, more.get("to", name))


class Recording:
    """An installation that is asked, step by step."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._known = {"{own}": "", "{other}": "", "{run}": "", "{hidden}": "0197a000-0000-7000-8000-000000000001"}
        self._ids: list[str] = []

    async def set_up(self) -> None:
        for step in setting_up():
            answer = await self.ask(step)
            assert answer.code is None, f"{step}: {answer.text}"
            if step.tool == "remember":
                self._ids.append(str(answer.content["id"]))
            if step.tool == "imports" and "run" in answer.content:
                self._known["{run}"] = str(answer.content["run"])
        self._known["{own}"], self._known["{other}"] = self._ids[:2]

    async def ask(self, step: Step) -> ToolAnswer:
        room = {name: ROOM for name in ("max_tokens", "budget_tokens") if name in _fields(step.tool)}
        return await self._installation.ask(step.vault, step.tool, self._filled(step.arguments | room))

    async def said(self, step: Step) -> str:
        """What is the same for all installations that do the same; also of a vault that is not there any more."""
        try:
            return _without_chance(comparable(await self.ask(step)))
        except LookupError as refusal:
            return _without_chance(str(refusal))

    def _filled(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._filled(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._filled(each) for each in value]
        return self._known.get(value, value) if isinstance(value, str) else value


async def differences(one: Recording, other: Recording) -> list[str]:
    """Where two installations answer differently, step by step. A reading that differs is asked again for a while."""
    await asyncio.gather(one.set_up(), other.set_up())
    wrong = []
    for step in (*steps(), *life_of_a_vault()):
        said = await asyncio.gather(one.said(step), other.said(step))
        for _ in range(AGAIN):
            if said[0] == said[1] or step.writes:
                break
            await asyncio.sleep(PAUSE_S)
            said = [await one.said(step), await other.said(step)]
        if said[0] != said[1]:
            wrong.append(f"{step}\n{_around(*said)}")
    return wrong


def _around(one: str, other: str) -> str:
    """What stands where two texts part."""
    at = next(n for n, (a, b) in enumerate(zip(one + "\0", other + "\1", strict=False)) if a != b)
    shown = slice(max(0, at - 150), at + 200)
    return f"  {one[shown]!r}\n  {other[shown]!r}"


def _fields(tool: str) -> Any:
    return _SPECS[tool].arguments.model_fields


_PLACE = re.compile(r"/[\w./-]*/server-\d\b")

_TOTALS = re.compile(r'"totals": \{.*', re.DOTALL)
"""What a job writes down when its turn comes, here sooner and there later; and the text that tells it after that."""


def _without_chance(said: str) -> str:
    return _TOTALS.sub("<totals>", _PLACE.sub("<data>", said))
