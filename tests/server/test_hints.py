"""What a caller is told to do next names the tools it is shown.

Covers server.audience, vaults.advice.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest

from auth.grants import set_grant
from auth.roles import Role
from server.audience import audience_of, word_warnings
from server.call import Caller
from server.caller_views import WriteMode
from server.services import Services
from tests.conftest import Asking, asker, local
from vaults.advice import ELSEWHERE_HINT, Advice, tool_clause


async def caller(services: Services, role: Role, preset: str, write_mode: WriteMode = "auto") -> Caller:
    await services.access_cache.write(partial(set_grant, subject="bee", issuer="local", vault="main", role=role))
    return Caller(local("bee"), "main", role, "http", preset=preset, write_mode=write_mode)


async def hint_of(ask: Asking, tool: str, **arguments: Any) -> str | None:
    refused = await ask(tool, **arguments)
    assert not refused.ok
    hint: str | None = refused.content["error"].get("hint")
    assert (hint or "").rstrip(".") in refused.text
    return hint


@pytest.mark.parametrize(("preset", "said"), [("agent", ELSEWHERE_HINT), ("notes", "find_notes lists what there is")])
async def test_a_tool_of_a_wider_list_is_said_to_be_elsewhere(services: Services, preset: str, said: str) -> None:
    ask = asker(services, await caller(services, Role.READER, preset))
    assert await hint_of(ask, "fetch", id="nowhere/*.md") == said
    assert await hint_of(ask, "note_read", path="nowhere") == said


@pytest.mark.parametrize(
    ("role", "write_mode", "said"),
    [(Role.READER, "auto", None), (Role.ADMIN, "off", None), (Role.WRITER, "auto", "note_write makes it")],
)
async def test_nobody_is_told_to_do_what_they_may_not(
    services: Services, role: Role, write_mode: WriteMode, said: str | None
) -> None:
    ask = asker(services, await caller(services, role, "full", write_mode))
    assert await hint_of(ask, "note_read", path="@daily") == said


async def test_of_several_ways_those_that_are_shown_are_told(services: Services) -> None:
    ask = asker(services, await caller(services, Role.WRITER, "agent"))
    await ask("note_write", path="plan", content="# Plan", frontmatter={"status": "open"})
    assert await hint_of(ask, "note_edit", path="plan", action="replace", search="status", replacement="x") == (
        f"{ELSEWHERE_HINT}; note_write with mode overwrite changes the whole note"
    )
    ask = asker(services, await caller(services, Role.WRITER, "notes"))
    assert await hint_of(ask, "note_edit", path="plan", action="replace", search="status", replacement="x") == (
        "frontmatter_update changes properties; note_write with mode overwrite changes the whole note"
    )


@dataclass(frozen=True, slots=True)
class _Found:
    warnings: list[str] = field(default_factory=list)


async def test_warnings_name_what_is_shown_too(services: Services) -> None:
    who = await caller(services, Role.READER, "notes")
    shown = tool_clause("history can restore it", "history restore", instead=tool_clause("history has it", "history"))
    said = Advice("it is gone", shown)
    found = _Found([said, "plain", Advice(tool_clause("note_delete ends it", "note_delete"))])
    views = [(who.role, preset, "auto") for preset in ("agent", "notes")]
    agent, notes = (word_warnings(found, audience_of(services.registry, view)).warnings for view in views)
    assert notes == ["it is gone; history has it", "plain"]
    assert agent == [f"it is gone; {ELSEWHERE_HINT}", "plain"]
    untouched = replace(found, warnings=["plain"])
    assert word_warnings(untouched, audience_of(services.registry, views[0])) is untouched
