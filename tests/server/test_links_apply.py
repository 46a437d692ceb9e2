"""Links that are suggested, set in many notes as one change and taken back as one.

Covers server.tools._links, server.tools.links, vaults.domain.graph.links.bulk_links.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from auth.roles import Role
from server.services import Services
from tests.conftest import Asking, Opening, asker
from tests.noted import folder, indexed, put
from tests.people import person
from vaults.markdown.links import find_links
from vaults.markdown.scan import scan

REAL = Path(__file__).parents[3] / "shared" / "vaults" / "silverbullet-docs" / "notes"

NOTES: Mapping[str, str | bytes] = {
    "people/Alice Smith.md": "---\naliases: [Ali]\n---\n# Alice Smith\n",
    "Kubernetes.md": "# Kubernetes\n\nRuns things.\n",
    "log/one.md": b"\xef\xbb\xbf# One\r\n\r\nAlice Smith moved Kubernetes. `Kubernetes` stays.\r\n",
    "log/two.md": "Ali and Kubernetes\n\n| who | what |\n|-----|------|\n| Alice Smith | x |\n",
    "log/quiet.md": "---\nauto_link: false\n---\nAlice Smith\n",
    "other.md": "Kubernetes here\n",
}


def contents(root: Path) -> dict[str, bytes]:
    return {str(each.relative_to(root)): each.read_bytes() for each in sorted(root.rglob("*.md"))}


@pytest.fixture
async def root(services: Services, tmp_path: Path) -> Path:
    root = folder(tmp_path)
    put(root, NOTES)
    await indexed(services, len(NOTES))
    return root


async def test_a_folder_is_linked_as_one_change_and_taken_back_byte_for_byte(ask: Asking, root: Path) -> None:
    before = contents(root)
    shown = await ask("links", action="apply", folder="log", strictness="aggressive")
    assert shown.ok, shown.text
    assert contents(root) == before
    assert "call again with dry_run false" in shown.text
    done = await ask("links", action="apply", folder="log", strictness="aggressive", dry_run=False)
    assert done.content["applied"] == shown.content["applied"]
    assert done.content["changed"] == ["log/one.md", "log/two.md"]
    after = contents(root)
    assert b"[[Alice Smith]] moved [[Kubernetes]]. `Kubernetes`" in after["log/one.md"]
    assert after["log/quiet.md"] == before["log/quiet.md"]
    assert after["other.md"] == before["other.md"]
    assert f"change: {done.content['change']}" in done.text
    undone = await ask("history", action="undo", ref=done.content["change"])
    assert undone.ok, undone.text
    assert contents(root) == before


async def test_one_note_is_linked_and_a_missing_one_is_told(ask: Asking, root: Path) -> None:
    done = await ask("links", action="apply", path="other", strictness="aggressive", dry_run=False)
    assert done.ok, done.text
    assert (root / "other.md").read_text() == "[[Kubernetes]] here\n"
    assert (await ask("links", action="apply", path="nowhere")).code == "not_found"
    assert (await ask("links", action="apply")).code == "invalid_argument"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"action": "apply", "folder": "/", "limit": 1}, "limit"),
        ({"action": "validate", "fix": True, "limit": 1}, "limit"),
        ({"action": "validate", "fix": True, "folder": "day"}, "folder"),
        ({"action": "unlinked", "folder": "day"}, "folder"),
    ],
)
async def test_what_does_not_narrow_a_call_is_refused(ask: Asking, root: Path, arguments, field: str) -> None:
    refused = await ask("links", **arguments, **({"dry_run": False} if field == "limit" else {}))
    assert refused.code == "invalid_argument"
    assert f"{field} does not narrow" in refused.text


async def test_a_reader_may_not_set_links(services: Services, root: Path) -> None:
    reader = await person(services, "rita", Role.READER)
    assert (await reader("links", action="apply", folder="log")).code == "forbidden"
    assert (await reader("links", path="other")).ok


def stripped(text: str) -> str:
    """A note's text with the words of its links in their place."""
    parts, at = [], 0
    for link in find_links(scan(text), text):
        if link.kind == "wiki" and not link.embed and link.start >= at:
            parts += [text[at : link.start], link.alias or link.target.rpartition("/")[2]]
            at = link.end
    return "".join((*parts, text[at:]))


@pytest.mark.skipif(not REAL.is_dir(), reason="the notes of a real vault are not here")
async def test_a_real_vault_without_links_is_linked_and_taken_back(opening: Opening, tmp_path: Path) -> None:
    root = folder(tmp_path)
    half = sorted(REAL.rglob("*.md"))[::2]
    put(root, {str(each.relative_to(REAL)): stripped(each.read_bytes().decode()) for each in half})
    before = contents(root)
    async with opening() as services:
        await indexed(services, len(before))
        ask = asker(services)
        done = await ask("links", action="apply", folder="/", strictness="aggressive", dry_run=False)
        assert done.ok, done.text
        after = contents(root)
        assert done.content["total"] > 100
        changed = {path for path, data in after.items() if data != before[path]}
        assert changed == set(done.content["changed"])
        for path in changed:
            assert re.sub(rb"\[\[(?:[^\[\]|\n]*?\\?\|)?([^\[\]\n]*?)\]\]", rb"\1", after[path]) == re.sub(
                rb"\[\[(?:[^\[\]|\n]*?\\?\|)?([^\[\]\n]*?)\]\]", rb"\1", before[path]
            )
        undone = await ask("history", action="undo", ref=done.content["change"])
        assert undone.ok, undone.text
        assert contents(root) == before
