"""Whatever is asked with whatever budget, both forms keep to it, and pages leave nothing out.

Covers server.rendering.answers.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from server import dispatch as dispatching
from server import vault_admin
from server.dispatch import CallOutcome
from server.rendering.answers import CUT
from server.services import Services, open_services
from server.settings import load
from server.tools import discover
from tests.blanks import lay_out
from tests.conftest import asker
from tests.fakes import HashEmbedder
from tests.noted import folder, indexed, put, settled
from tests.server.http.examples import EXAMPLES
from tests.server.rendering.answers import tokens_of_json
from tests.work import examples
from vaults.search import tokenizer

PLAN = "---\nstatus: open\ntags: [a]\n---\n# Plan\n\nGo with [[Trip]].\n\n## Log\n\n- [ ] pack\n"
LONG = PLAN + "".join(f"\n## Part {n}\n\n[[plan]] {'says « ' * 60}\n" for n in range(12)) + "- [ ] do\n- [ ] go\n"
ROWS = 11

Call = Callable[..., CallOutcome]


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    """Calls tools of one vault in which much is stored, for many examples."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        services = runner.run(_opened(stack, tmp_path_factory.mktemp("data")))
        ask = asker(services)
        try:
            yield lambda tool, **arguments: runner.run(ask(tool, **arguments))
        finally:
            runner.run(stack.aclose())


async def _opened(stack: AsyncExitStack, data: Path) -> Services:
    loaded = load(data, flags={"storage.reserve_mb": 0}, environment={})
    lay_out(data, ("main",))
    opening = open_services(loaded.settings, loaded.data, discover(), load_model=HashEmbedder)
    services = await stack.enter_async_context(opening)
    await vault_admin.create(services, "main")
    put(folder(data), {"plan.md": PLAN, **{f"long/{number}.md": LONG for number in range(ROWS)}})
    await indexed(services, ROWS + 1)
    ask = asker(services)
    for number in range(ROWS):
        said = f"plan {number}: " + "a word « " * (number * 7 % 90)
        await ask("remember", content=said, thread="examples", tags=["a"], type="fact", on_duplicate="store")
    await ask("claims", action="claim", resources=["src/db.ts"], description="new driver")
    await ask("checkpoint", reason="begun", state={"step": "x " * 900}, thread="examples")
    for number in range(ROWS):
        wrong = f"We use MySQL {number} " * (1 + number * 7 % 60)
        await ask("corrections", action="record", wrong=wrong, right="We use SQLite", subject="storage")
        await ask("note_edit", path="plan.md", section="Log", content=f"- did {number}")
    await ask("handoff_create", goal="g " * 300, current_state="s " * 2000, next_action="n", constraints=["c " * 200])
    await ask("session_save", summary="Tried " * 200, where_left_off="here " * 300)
    await settled(services)  # which order entities: pages would begin elsewhere
    return services


def _reading() -> list[tuple[str, dict[str, Any]]]:
    registry = discover()
    reads = []
    for tool, arguments in EXAMPLES:
        spec = registry.get(tool)
        assert spec is not None
        if not spec.action_of(arguments).writes and "{" not in json.dumps(list(arguments.values())).replace("{}", ""):
            reads.append((tool, arguments))
    return reads


WANTED = [
    *_reading(),
    ("fetch", {"refs": ["long/*.md"]}),
    ("fetch", {"id": "long/1.md"}),
    ("note_read", {"path": "long/1.md"}),
    ("note_read", {"path": "long/2.md", "part": "full"}),
    ("memory_list", {"limit": 200}),
    ("tasks", {"limit": 500}),
    ("session_resume", {"limit": 50}),
    ("graph", {"action": "export", "format": "graphml"}),
    ("recall", {"query": "plan word", "limit": 100}),
    ("handoff_load", {}),
]
BUDGETS = st.one_of(st.integers(50, 400), st.integers(50, 5_000), st.integers(50, 100_000))
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@settings(PATIENT, max_examples=examples(80))
@given(st.sampled_from(WANTED), BUDGETS)
def test_both_forms_keep_to_any_budget(call: Call, wanted: tuple[str, dict[str, Any]], room: int) -> None:
    tool, arguments = wanted
    room = min(room, 50_000) if tool in ("history", "context", "explain") else room
    own = {"budget_tokens": room} if tool == "context" else {}
    found = call(tool, **{**arguments, "max_tokens": room, **own})
    if not found.ok:
        return  # an example that needs what another one made
    assert tokens_of_json(found.content) <= room, (tool, arguments, room)
    assert tokenizer.count_tokens(found.text) <= room, (tool, arguments, room)
    assert found.text.count(CUT) <= 1, "said once"


@dataclass(frozen=True)
class Paged:
    """A list that is read by cursor: where its rows stand, and what tells one from the others."""

    tool: str
    arguments: dict[str, Any]
    rows: str
    key: tuple[str, ...]


PAGED = [
    Paged("search", {"query": "plan word", "kinds": ["memory"]}, "hits", ("id",)),
    Paged("memory_list", {}, "memories", ("id",)),
    Paged("find_notes", {"folder": "long"}, "notes", ("path",)),
    Paged("tasks", {}, "tasks", ("path", "line")),
    Paged("entities", {}, "entities", ("name", "path")),
    Paged("corrections", {}, "corrections", ("id",)),
    Paged("history", {}, "changes", ("id",)),
]


@settings(PATIENT, max_examples=examples(12))
@given(st.sampled_from(PAGED), st.integers(50, 4_000), st.integers(1, 50))
@example(next(each for each in PAGED if each.tool == "history"), 400, 50)
def test_pages_hold_every_row_once_at_any_budget(call: Call, paged: Paged, room: int, limit: int) -> None:
    whole = _rows(paged, call(paged.tool, **paged.arguments, limit=100, max_tokens=50_000))
    assert len(whole) >= ROWS
    seen, cursor, asked = [], None, room
    for _ in range(len(whole) * 14):
        more = {"before" if paged.tool == "history" else "cursor": cursor} if cursor else {}
        page = call(paged.tool, **paged.arguments, **more, limit=limit, max_tokens=asked)
        assert page.ok, page.text
        rows = _rows(paged, page)
        asked = min(asked, 50_000)
        if not rows and page.content.get("truncated") and "cursor" not in page.content:
            asked *= 2  # not even one row fits: as the answer says, ask with more
            assert "max_tokens" in page.text
            continue
        seen, cursor, asked = seen + rows, page.content.get("cursor"), room
        if cursor is None:
            break
    assert seen == whole


def _rows(paged: Paged, found: CallOutcome) -> list[tuple[Any, ...]]:
    return [tuple(row.get(name) for name in paged.key) for row in found.content.get(paged.rows, ())]


@settings(PATIENT, max_examples=examples(15))
@given(st.integers(300, 12_000))
def test_fetch_names_every_note_it_does_not_return(call: Call, room: int) -> None:
    found = call("fetch", refs=["long/*.md"], max_tokens=room).content
    named = [each["id"] for each in found.get("items", ())] + found.get("remaining", [])
    assert len(set(named)) == len(named) == ROWS
    assert found["truncated"] or not found.get("remaining")


def test_a_full_page_is_asked_for_once_or_twice(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = dispatching._result

    async def counted(call: Any, spec: Any, args: Any) -> Any:
        asked.append(spec.name)
        return await real(call, spec, args)

    monkeypatch.setattr(dispatching, "_result", counted)
    for paged in PAGED[:5]:  # the others count rows, not tokens
        asked.clear()
        page = call(paged.tool, **paged.arguments, limit=50, max_tokens=1_500)
        assert _rows(paged, page)
        assert len(asked) <= 2, paged.tool
