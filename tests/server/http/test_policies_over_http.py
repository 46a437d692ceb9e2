"""A procedure that files a weekly review, over HTTP: seen by a reader, run by a writer, and never half done."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

from auth.roles import Role
from tests.noted import folder, put
from tests.server.http.serving import Ground, Site, browser, served
from vaults import registry
from vaults.registry import VaultRules

pytestmark = pytest.mark.asyncio(loop_scope="module")

REVIEW = (Path(__file__).parents[3] / "docs" / "policies" / "weekly-review.yaml").read_text()
WEEK = {"day": "2026-11-18", "highlights": ["shipped [[it]]"]}
LAST = "---\nstatus: open\n---\n# 2026-W46\n\n## Tasks\n\n- [ ] call Ana 📅 2026-11-20\n- [x] sleep\n- [ ] write\n"
NOTES = {
    "templates/weekly-review.md": "# Review of {{title}}\n\n{{content}}\n",
    "reviews/index.md": "# Reviews\n\n- [[2026-W46]]\n",
    "reviews/2026-W46.md": LAST,
    "plan.md": "# Plan\n",
    "policies/weekly-review.yaml": REVIEW,
    "policies/clearing.yaml": """\
version: "1.0"
name: clearing
description: Clears the plan away
steps:
  - {id: say, tool: note_edit, args: {path: reviews/index.md, content: "The plan is gone"}}
  - {id: clear, tool: note_delete, args: {path: plan.md}}
""",
}
BROKEN = REVIEW.replace('search: "[ ] {{ item.text }}"', 'search: "[x] {{ item.text }}"').replace(
    "name: weekly-review", "name: broken-review"
)


async def prepare(ground: Ground) -> dict[str, str]:
    for vault in ("main", "other", "asking"):
        put(folder(ground.loaded.data, vault), NOTES)
    await ground.control.write(lambda tx: registry.set_rules(tx, "asking", VaultRules(destructive="ask")))
    roles = {"reader": Role.READER, "writer": Role.WRITER, "admin": Role.ADMIN}
    tokens = {name: await ground.token(name, role, "main", preset="full") for name, role in roles.items()}
    return tokens | {"asker": await ground.token("asker", Role.WRITER, "asking", preset="full")}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    data = tmp_path_factory.mktemp("policies")
    async with served(data, vaults=("main", "other", "asking"), prepare=prepare) as running:
        yield running


def files_of(site: Site, vault: str = "main") -> dict[str, bytes]:
    root = folder(site.ground.loaded.data, vault)
    return {str(each.relative_to(root)): each.read_bytes() for each in root.rglob("*") if each.is_file()}


async def called(client: Client, **arguments: Any) -> dict[str, Any]:
    answer = await client.call_tool("policies", arguments)
    found: dict[str, Any] = answer.structured_content
    assert answer.is_error == ("error" in found)
    return found


async def changes(client: Client) -> list[str]:
    """Their ids, the newest first."""
    return [each["id"] for each in (await client.call_tool("history", {})).structured_content["changes"]]


async def test_a_reader_sees_what_a_review_would_change_and_changes_nothing(site: Site) -> None:
    before = files_of(site)
    async with site.client("reader") as reader:
        listed = await called(reader)
        assert [each["name"] for each in listed["policies"]] == ["clearing", "weekly-review"]
        assert (await called(reader, action="validate", name="weekly-review"))["valid"] is True
        shown = await called(reader, action="preview", name="weekly-review", variables=WEEK)
        assert shown["paths"] == ["reviews/2026-W47.md", "reviews/2026-W46.md", "reviews/index.md"]
        assert "+- [ ] call Ana 📅 2026-11-20" in shown["diff"]
        assert "-- [ ] write" in shown["diff"]
        for action in ("execute", "author", "revise", "delete"):
            refused = await called(reader, action=action, name="weekly-review", content=REVIEW, variables=WEEK)
            assert refused["error"]["code"] == "forbidden", action
        tools = {each.name: each for each in (await reader.list_tools()).tools}
        actions = tools["policies"].input_schema["properties"]["action"]["enum"]
        assert actions == ["list", "show", "validate", "preview"]
    assert files_of(site) == before


async def test_a_review_that_fails_half_way_leaves_the_vault_as_it_was(site: Site) -> None:
    async with site.client("admin") as admin, site.client("writer") as writer:
        earlier = await changes(writer)
        made = await called(admin, action="author", name="broken-review", content=BROKEN)
        before = files_of(site)
        failed = await called(writer, action="execute", name="broken-review", variables=WEEK)
        assert failed["error"]["code"] == "not_found"
        assert failed["error"]["message"].startswith("step 3 of 6 (clear): ")
        assert files_of(site) == before
        assert await changes(writer) == [made["change"], *earlier]
        refused = await called(writer, action="delete", name="broken-review", confirm=True)
        assert refused["error"]["code"] == "forbidden"
        assert "change" in await called(admin, action="delete", name="broken-review", confirm=True)


async def test_a_writer_files_a_review_and_takes_it_back_as_one(site: Site) -> None:
    before = files_of(site)
    async with site.client("writer") as writer:
        done = await called(writer, action="execute", name="weekly-review", variables=WEEK)
        assert done["summary"] == "2026-W47 is filed; 2 open tasks moved."
        after = {name: data.decode() for name, data in files_of(site).items()}
        assert after["reviews/2026-W47.md"] == (
            "---\ntype: review\nweek: 2026-W47\nstatus: open\n---\n# Review of 2026-W47\n\n## Highlights\n\n"
            "- shipped [[it]]\n\n## Tasks\n\n- [ ] call Ana 📅 2026-11-20\n- [ ] write\n"
        )
        assert after["reviews/2026-W46.md"] == (
            '---\nstatus: done\nmoved: 2\nnext: "[[2026-W47]]"\n---\n# 2026-W46\n\n## Tasks\n\n- [x] sleep\n'
        )
        assert after["reviews/index.md"] == "# Reviews\n\n- [[2026-W46]]\n- [[2026-W47]]\n"
        again = await called(writer, action="execute", name="weekly-review", variables=WEEK)
        assert again["error"]["code"] == "already_exists"
        undone = await writer.call_tool("history", {"action": "undo", "ref": done["change"]})
        assert not undone.is_error, undone.structured_content
    assert files_of(site) == before


async def test_a_vault_of_others_tells_nothing_of_its_policies(site: Site) -> None:
    async with site.client("owner", "other") as owner:
        assert (await called(owner, action="list"))["policies"]
    from mcp.shared.exceptions import MCPError

    with pytest.raises((MCPError, ExceptionGroup)):
        async with site.client("writer", "other") as stranger:
            await called(stranger, action="list")


async def test_a_person_is_asked_before_a_procedure_deletes_notes(site: Site) -> None:
    asked: list[str] = []
    answers = ["decline", "accept"]

    async def person(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action=answers[len(asked) - 1], content={})

    async with browser(headers=site.headers("asker")) as http:
        transport = streamable_http_client(f"{site.url}/v/asking/mcp", http_client=http)
        async with Client(transport, mode="2026-07-28", cache=None, elicitation_callback=person) as client:
            before = files_of(site, "asking")
            named = await called(client, action="execute", name="clearing")
            assert named["error"]["code"] == "confirmation_required"
            assert named["error"]["details"]["paths"] == ["plan.md"]
            declined = await called(client, action="execute", name="clearing", confirm=True)
            assert declined["error"]["code"] == "confirmation_required"
            assert "run a written procedure, which changes notes and may delete some" in asked[0]
            assert files_of(site, "asking") == before
            done = await called(client, action="execute", name="clearing", confirm=True)
            assert done["changed"] is True
    assert len(asked) == 2
    assert "plan.md" not in files_of(site, "asking")
