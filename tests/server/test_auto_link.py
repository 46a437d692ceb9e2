"""Links on known names, set as notes are written: in what the caller wrote, and in no other byte.

Covers vaults.domain.graph.links.autolink_step, vaults.domain.graph.links.link_offers.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from server.services import Services
from tests.conftest import Asking, Opening, asker
from tests.noted import folder, indexed, put
from tests.server.rendering.answers import is_told
from vaults.domain.graph.links.link_offers import append_link_line

PEOPLE = {
    "people/Alice Smith.md": "---\naliases: [Ali]\n---\n# Alice Smith\n",
    "Kubernetes.md": "# Kubernetes\n",
    "a/Dup.md": "one\n",
    "b/Dup.md": "two\n",
    "Plan.md": "the plan\n",
}


@pytest.fixture
async def root(services: Services, tmp_path: Path) -> Path:
    root = folder(tmp_path)
    put(root, PEOPLE)
    await indexed(services, len(PEOPLE))
    return root


async def test_a_written_note_links_what_it_names_first(ask: Asking, root: Path) -> None:
    text = "# Alice Smith at work\n\nAlice Smith runs kubernetes. ali likes `Kubernetes`, Alice Smith plans a Dup.\n"
    done = await ask("note_write", path="log.md", content=text, auto_link=True)
    assert done.ok, done.text
    linked = text.replace("\nAlice Smith runs kubernetes", "\n[[Alice Smith]] runs [[Kubernetes|kubernetes]]")
    assert (root / "log.md").read_text() == linked
    assert done.content["linked"] == [
        {"term": "Alice Smith", "target": "people/Alice Smith.md", "line": 3},
        {"term": "kubernetes", "target": "Kubernetes.md", "line": 3},
    ]
    assert is_told(done.text, "Alice Smith", "people/Alice Smith.md", "line 3")
    assert is_told(done.text, "kubernetes", "Kubernetes.md", "line 3")


async def test_an_edit_is_linked_only_in_what_it_brings_and_is_undone_byte_for_byte(ask: Asking, root: Path) -> None:
    before = b"\xef\xbb\xbf# Log\r\nKubernetes and Ali.\r\n\r\n## Next\r\n- one\r\n"
    put(root, {"log.md": before})
    arguments = {"path": "log", "section": "Next", "content": "ask Ali about K8", "format": "bullet", "auto_link": True}
    shown = await ask("note_edit", **arguments, dry_run=True)
    assert "+- ask [[Alice Smith|Ali]] about K8" in shown.content["diff"]
    assert shown.content["linked"][0]["line"] == 6
    assert is_told(shown.text, "Ali", "people/Alice Smith.md", "line 6")
    assert "nothing is written: call again with dry_run false" in shown.text
    assert (root / "log.md").read_bytes() == before
    done = await ask("note_edit", **arguments)
    after = before + b"- ask [[Alice Smith|Ali]] about K8\r\n"
    assert (root / "log.md").read_bytes() == after
    assert (done.content["region"], done.content["first_line"], done.content["last_line"]) == (
        "- ask [[Alice Smith|Ali]] about K8", 6, 6,
    )  # fmt: skip
    undone = await ask("history", action="undo", ref=done.content["change"])
    assert undone.ok, undone.text
    assert (root / "log.md").read_bytes() == before


async def test_each_place_of_a_replacement_is_linked_and_nothing_between(ask: Asking, root: Path) -> None:
    put(root, {"log.md": "X met Kubernetes, X left, X stayed.\n"})
    done = await ask(
        "note_edit", path="log", action="replace", search="X", replacement="Ali", occurrence="all", auto_link=True
    )
    assert done.ok, done.text
    assert (root / "log.md").read_text() == "[[Alice Smith|Ali]] met Kubernetes, Ali left, Ali stayed.\n"


async def test_a_name_that_is_linked_elsewhere_in_the_note_is_not_linked_again(ask: Asking, root: Path) -> None:
    put(root, {"log.md": "[[people/Alice Smith]]\n"})
    done = await ask("note_edit", path="log", content="Ali again", auto_link=True)
    assert done.content.get("linked") is None
    assert (root / "log.md").read_text().endswith("Ali again\n")


async def test_a_note_that_wants_none_and_a_caller_who_says_nothing_get_none(ask: Asking, root: Path) -> None:
    text = "---\nauto_link: false\n---\nAlice Smith\n"
    await ask("note_write", path="quiet.md", content=text, auto_link=True)
    assert (root / "quiet.md").read_text() == text
    await ask("note_write", path="plain.md", content="Alice Smith\n")
    assert (root / "plain.md").read_text() == "Alice Smith\n"


async def test_the_setting_decides_where_the_call_does_not(opening: Opening, tmp_path: Path) -> None:
    root = folder(tmp_path)
    put(root, PEOPLE)
    async with opening({"links.auto_link": True, "links.implicit": "link"}) as services:
        await indexed(services, len(PEOPLE))
        ask = asker(services)
        await ask("note_write", path="one.md", content="ask Ali about FW-12\n")
        assert (root / "one.md").read_text() == "ask [[Alice Smith|Ali]] about [[FW-12]]\n"
        await ask("note_write", path="two.md", content="ask Ali\n", auto_link=False)
        assert (root / "two.md").read_text() == "ask Ali\n"
        await ask("tasks", action="add", path="two.md", text="call Ali")
        assert (root / "two.md").read_text() == "ask Ali\n\n- [ ] call [[Alice Smith|Ali]]\n"


async def test_a_link_that_was_set_is_kept_in_mind(ask: Asking, root: Path, services: Services) -> None:
    done = await ask("note_write", path="log.md", content="Ali\n", auto_link=True)
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        rows = await vault.db.read(
            lambda tx: tx.all("SELECT path, entity, term, source, change FROM link_applications")
        )
    assert [tuple(row) for row in rows] == [("log.md", "alice smith", "Ali", "auto", done.content["change"])]


async def test_suggested_links_end_what_is_written_and_are_named(ask: Asking, root: Path) -> None:
    done = await ask("note_write", path="log.md", content="Ask Alice Smith about Kubernetes.\n", suggest_links=True)
    assert done.ok, done.text
    named = [each["path"] for each in done.content["suggestions"]]
    assert {"people/Alice Smith.md", "Kubernetes.md"} <= set(named)
    text = (root / "log.md").read_text()
    assert text.startswith("Ask Alice Smith about Kubernetes. → [[")
    assert "[[Alice Smith]]" in text
    assert is_told(done.text, "people/Alice Smith.md", "confidence")
    edited = await ask("note_edit", path="log.md", content="and Ali", suggest_links=True, format="bullet")
    assert all(each["path"] not in named for each in edited.content["suggestions"])
    undone = await ask("history", action="undo", ref=edited.content["change"])
    assert undone.ok
    assert (root / "log.md").read_text() == text


async def test_what_becomes_a_link_is_not_suggested_too(ask: Asking, root: Path) -> None:
    done = await ask("note_write", path="log.md", content="Ask Alice Smith.\n", suggest_links=True, auto_link=True)
    assert "people/Alice Smith.md" not in [each["path"] for each in done.content["suggestions"]]
    assert (root / "log.md").read_text().startswith("Ask [[Alice Smith]].")


async def test_a_replacement_names_suggestions_and_holds_none(ask: Asking, root: Path) -> None:
    put(root, {"log.md": "X\n"})
    done = await ask(
        "note_edit", path="log", action="replace", search="X", replacement="Alice Smith", suggest_links=True
    )
    assert done.content["suggestions"][0]["path"] == "people/Alice Smith.md"
    assert (root / "log.md").read_text() == "Alice Smith\n"


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("one\ntwo\n", "one\ntwo → [[A]]\n"),
        ("| a |\n|---|\n| b |\n", "| a |\n|---|\n| b |\n\n→ [[A]]\n"),
        ("# Title\r\n", "# Title\r\n\r\n→ [[A]]\r\n"),
        ("```\ncode\n```", "```\ncode\n```\n\n→ [[A]]"),
        ("```\ncode\n", "```\ncode\n"),
        ("done → [[B]]\n", "done → [[B]]\n"),
        ("> quoted `x`\n", "> quoted `x` → [[A]]\n"),
        ("\n", "\n"),
    ],
)
def test_suggested_links_go_where_they_are_read_as_links(text: str, ended: str) -> None:
    assert append_link_line(text, "→ [[A]]") == ended


async def test_names_without_a_note_are_told_by_how_they_are_written_unless_that_is_off(
    opening: Opening, tmp_path: Path
) -> None:
    put(folder(tmp_path), {"a.md": "[[FW-12]]\n", "b.md": "[[FW-12]]\n", "c.md": "about FW-12 again\n"})
    for setting, source in (("suggest", "both"), ("off", None)):
        async with opening({"links.implicit": setting}) as services:
            await indexed(services, 3)
            stubs = (await asker(services)("links", action="stubs")).content["stubs"]
            assert [(each["name"], each.get("source")) for each in stubs] == [("FW-12", source)]
