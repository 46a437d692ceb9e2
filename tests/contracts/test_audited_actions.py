"""Every action of every tool that changes something says in the audit what it changed, or why it cannot.

Covers vaults.change_notes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from server.services import Services
from server.tools import discover
from tests.conftest import Opening, asker
from tests.contracts.test_isolation import POLICY
from tests.noted import folder, put
from tests.server.test_audited_calls import entries

CHANGES_NOTHING_HERE = {
    "vaults": "stands in the chain of the installation",
    "backup": "stands in the chain of the installation",
    "reindex": "builds what is derived",
    "doctor": "builds what is derived",
    "social": "is done elsewhere",
    "collections refresh": "reads what lies on the disk",
    "transcripts harvest": "there is nothing to read in this test",
}
"""Tools, or actions, without hashes of their own; ``docs/audit.md`` says the same."""

LINE = {"content": "brought", "external_id": "line-1"}
PARTS = [{"text": "said"}]


def calls(ids: dict[str, str], root: Path) -> list[tuple[str, str | None, dict[str, Any]]]:
    """A call of each action that succeeds, in an order in which it does; ``ids``: what earlier ones were answered."""
    return [
        ("remember", None, {"content": "one", "visibility": "private"}),
        ("memory_update", None, {"id": ids.get("remember", ""), "content": "two"}),
        ("memory_supersede", None, {"id": ids.get("remember", ""), "content": "three"}),
        ("memory_link", None, {"from_id": ids.get("remember", ""), "relation": "x", "to_id": ids.get("other", "")}),
        ("memory_forget", None, {"ids": [ids.get("other", "")]}),
        ("note_write", None, {"path": "new.md", "content": "Known\n"}),
        ("note_edit", None, {"path": "new.md", "content": "more"}),
        ("frontmatter_update", None, {"path": "new.md", "set": {"status": "new"}}),
        ("tasks", "add", {"path": "new.md", "text": "do it"}),
        ("tasks", "toggle", {"path": "new.md", "text": "do it"}),
        ("note_move", None, {"path": "new.md", "to": "moved.md"}),
        ("schema", "rename_field", {"field": "status", "to": "state", "dry_run": False}),
        ("schema", "migrate", {"field": "state", "mapping": {"new": "old"}, "dry_run": False}),
        ("schema", "rename_tag", {"tag": "canary", "to": "bird", "dry_run": False}),
        ("history", "undo", {"path": "moved.md"}),
        ("note_delete", None, {"path": "gone.md"}),
        ("history", "restore", {"path": "gone.md", "ref": ids.get("note_delete", ""), "version": "before"}),
        ("entities", "alias", {"entity": "canary", "alias": "known"}),
        ("entities", "dismiss_merge", {"entity": "canary", "into": "beside"}),
        ("entities", "dismiss_prospect", {"entity": "Nowhere"}),
        ("entities", "merge", {"entity": "beside", "into": "canary"}),
        ("links", "apply", {"path": "plain.md", "dry_run": False}),
        ("links", "feedback", {"path": "plain.md", "entity": "canary", "verdict": "never", "folder": "quay"}),
        ("links", "unsuppress", {"entity": "canary", "folder": "quay"}),
        ("links", "validate", {"fix": True, "target": "canery", "to": "canary", "dry_run": False}),
        ("session_save", None, {"summary": "done"}),
        ("handoff_create", None, {"goal": "g", "current_state": "s", "next_action": "n"}),
        ("handoff_load", None, {"accept": True}),
        ("claims", "claim", {"resources": ["file"]}),
        ("claims", "release", {"resources": ["file"]}),
        ("claims", "claim", {"resources": ["file"]}),
        ("claims", "release_all", {}),
        ("checkpoint", None, {"reason": "new", "state": {}}),
        ("feedback", None, {"type": "bug", "message": "odd"}),
        (
            "corrections",
            "record",
            {"kind": "memory", "wrong": "w", "right": "r", "subject": ids.get("memory_supersede")},
        ),
        ("corrections", "resolve", {"id": ids.get("corrections", "")}),
        ("corrections", "undo", {"id": ids.get("corrections", "")}),
        ("usage", "archive", {"kind": "never_read"}),
        ("policies", "author", {"name": "canary", "content": POLICY}),
        ("policies", "execute", {"name": "canary"}),
        ("policies", "revise", {"name": "canary", "content": f"{POLICY}# more\n", "etag": ids.get("etag", "")}),
        ("policies", "delete", {"name": "canary", "etag": ids.get("etag")}),
        ("collections", "add", {"name": "code", "root": str(root), "kind": "code"}),
        ("collections", "update", {"name": "code", "watch": False}),
        ("collections", "rename", {"name": "code", "new_name": "source"}),
        ("collections", "remove", {"name": "source"}),
        ("ingest", "add", {"content": "a text that is read in"}),
        ("ingest", "remove", {"ids": [ids.get("ingest", "")]}),
        ("transcripts", "push", {"lines": [{"kind": "document", "external_id": "talk", "parts": PARTS}]}),
        ("imports", "push", {"source": "elsewhere", "path": "a", "lines": [LINE]}),
        ("imports", "end", {"run": ids.get("imports", "")}),
        ("imports", "undo", {"run": ids.get("imports", "")}),
    ]


def _id_in(content: dict[str, Any]) -> str:
    """The id by which a later call names what this one made."""
    for name in ("id", "change", "run"):
        if isinstance(found := content.get(name), str):
            return found
    for name in ("corrections", "documents"):
        found = content.get(name)
        one = found[0] if isinstance(found, list) and found else found
        if isinstance(one, dict):
            return str(one["id"])
    return ""


async def test_every_action_that_changes_something_says_what(
    opening: Opening, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("code")
    async with opening() as services:
        put(
            folder(services.data, "main"),
            {
                "canary.md": "---\ntags: [canary]\n---\nSee [[Nowhere]]\n",
                "beside.md": "beside\n",
                "plain.md": "canary\n",
                "broken.md": "[[canery]]\n",
                "gone.md": "gone\n",
            },
        )
        ask = asker(services)
        await ask("reindex")
        ids = {name: (await ask("remember", content=name)).content["id"] for name in ("other", "old")}
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            long_ago = {"id": ids["old"], "at": "2000-01-01T00:00:00.000Z"}
            await vault.db.write(lambda tx: tx.run("UPDATE memories SET created_at = :at WHERE id = :id", long_ago))
        silent, done = [], set()
        for number in range(len(calls(ids, root))):
            tool, action, arguments = calls(ids, root)[number]
            named = {} if action is None else {"action": action}
            answer = await ask(tool, **named, **arguments, confirmed=True)
            assert answer.ok, (tool, action, answer.text)
            ids.setdefault(tool, _id_in(answer.content))
            ids["etag"] = answer.content.get("etag", ids.get("etag", ""))
            said = (await entries(services))[-1]
            assert (said["tool"], said.get("action"), said["outcome"]) == (tool, action, "ok")
            done.add((tool, action))
            if not any(before or after for *_, before, after in said.get("changes", ())):
                silent.append((tool, action))
        assert silent == []
        assert _to_be_done(services) - done == set()


def _to_be_done(services: Services) -> set[tuple[str, str | None]]:
    return {
        (spec.name, name or None)
        for spec in services.registry
        for name, action in spec.actions.items()
        if (action.writes or action.instead) and not {spec.name, f"{spec.name} {name}"} & set(CHANGES_NOTHING_HERE)
    }


def test_what_has_no_hashes_stands_in_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
    for what in CHANGES_NOTHING_HERE:
        if what in {spec.name for spec in discover()}:
            assert f"`{what}`" in page, what
