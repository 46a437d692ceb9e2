"""``note_write`` through the door: new notes, whole notes written over, templates, near duplicates.

Covers server.tools.notes_write, vaults.domain.notes.edit.similar_notes, vaults.domain.notes.edit.whole_notes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from server.services import Services
from tests.conftest import Asking, Opening, asker
from tests.noted import folder, indexed, put, until


@pytest.fixture
def root(services: Services, tmp_path: Path) -> Path:
    return folder(tmp_path)


async def test_a_new_note_is_the_content_and_is_found(ask: Asking, root: Path) -> None:
    done = await ask("note_write", path="projects/Ferry", content="# Ferry\n\nLeaves at nine from quay seventeen")
    assert done.ok, done.text
    assert done.content["path"] == "projects/Ferry.md"
    assert done.content["changed"]
    assert (root / "projects/Ferry.md").read_bytes() == b"# Ferry\n\nLeaves at nine from quay seventeen\n"
    hits = (await ask("search", query="quay seventeen", mode="keyword")).content["hits"]
    assert hits[0]["title"] == "Ferry"


async def test_what_is_there_is_not_written_over_unasked(ask: Asking, root: Path) -> None:
    put(root, {"plan.md": "old\n"})
    refused = await ask("note_write", path="plan", content="new")
    assert refused.code == "already_exists"
    etag = refused.content["error"]["details"]["etag"]
    assert (root / "plan.md").read_text() == "old\n"
    stale = await ask("note_write", path="plan", content="new", mode="overwrite", etag="0" * 16, keep_conflict=True)
    assert stale.code == "conflict"
    details = stale.content["error"]["details"]
    assert (details["text"], details["etag"]) == ("old\n", etag)
    assert (root / details["kept"]).read_text() == "new\n"
    done = await ask("note_write", path="plan", content="new", mode="overwrite", etag=etag)
    assert done.content["changed"]
    assert (root / "plan.md").read_text() == "new\n"
    same = await ask("note_write", path="plan", content="new", mode="overwrite")
    assert same.content["changed"] is False
    assert same.content["etag"] == done.content["etag"]


async def test_overwriting_keeps_what_a_file_is(ask: Asking, root: Path) -> None:
    put(root, {"plan.md": b"\xef\xbb\xbfold\r\nlines\r\n"})
    (root / "plan.md").chmod(0o640)
    assert (await ask("note_write", path="plan", content="new\nlines", mode="overwrite")).ok
    assert (root / "plan.md").read_bytes() == b"\xef\xbb\xbfnew\r\nlines\r\n"
    assert (root / "plan.md").stat().st_mode & 0o777 == 0o640


async def test_overwriting_makes_what_is_missing_unless_it_was_read(ask: Asking, root: Path) -> None:
    gone = await ask("note_write", path="plan", content="new", mode="overwrite", etag="0" * 16)
    assert gone.code == "conflict"
    assert not (root / "plan.md").exists()
    assert (await ask("note_write", path="plan", content="new", mode="overwrite")).content["changed"]
    assert (await ask("note_write", path="plan", mode="overwrite")).code == "invalid_argument"


async def test_overwriting_never_reaches_a_note_elsewhere(ask: Asking, root: Path) -> None:
    assert (await ask("note_write", path="deep/plan", content="keep me")).ok
    assert (await ask("note_write", path="plan", content="new", mode="overwrite")).ok
    assert (root / "deep/plan.md").read_text() == "keep me\n"


@pytest.mark.parametrize("mode", ["create", "overwrite"])
async def test_two_spellings_of_a_name_collide(ask: Asking, root: Path, mode: str) -> None:
    put(root, {"Größe/Plan.md": "old\n"})
    for path in ("größe/Plan", "Größe/PLAN", "Gro\u0308ße/Plan"):
        refused = await ask("note_write", path=path, content="new", mode=mode)
        assert refused.code == "conflict", path
        assert "Größe" in refused.text
    put(root, {"file.md": "x"})
    assert (await ask("note_write", path="file.md/plan", content="new", mode=mode)).code == "conflict"
    assert (root / "Größe/Plan.md").read_text() == "old\n"


@pytest.mark.parametrize(
    "path", ["../out", "/abs", "a/../b", ".git/x", "CON", "a:b", "a?", "trailing.", " x", "x/-y", "a\u202eb", "n" * 300]
)
async def test_names_that_are_not_good_everywhere_are_refused(ask: Asking, root: Path, path: str) -> None:
    refused = await ask("note_write", path=path, content="x")
    if path == "trailing.":  # with its suffix it ends in no dot
        assert refused.ok
        return
    assert refused.code == "invalid_argument"
    assert list(root.rglob("*.md")) == []


async def test_frontmatter_goes_into_the_content(ask: Asking, root: Path) -> None:
    done = await ask("note_write", path="a", content="# A", frontmatter={"tags": ["x", "y"], "due": "2026-03-01"})
    assert done.ok, done.text
    text = (root / "a.md").read_text()
    assert text.startswith("---\n")
    assert text.endswith("---\n# A\n")
    merged = await ask("note_write", path="b", content="---\nkept: 1 # why\n---\n# B\n", frontmatter={"new": True})
    assert merged.ok
    assert (root / "b.md").read_text() == "---\nkept: 1 # why\nnew: true\n---\n# B\n"
    read = await ask("note_read", path="a")
    assert read.content["frontmatter"]["tags"] == ["x", "y"]


async def test_a_note_begins_as_a_template(opening: Opening, tmp_path: Path) -> None:
    template = "---\ntype: meeting\n---\n# {{title}}\n\n{{content}}\n\nOn {{date:YYYY}}. {{unknown}}\n"
    put(folder(tmp_path), {"Templates/Meeting.md": template, "plain.md": "# {{title}}", "more/templates/Trip.md": "x"})
    async with opening() as services:
        ask, root = asker(services), folder(tmp_path)
        await indexed(services, 3)
        done = await ask("note_write", path="m/With Ana", content="Agenda", template="Meeting", frontmatter={"a": 1})
        assert done.ok, done.text
        text = (root / "m/With Ana.md").read_text()
        assert text.startswith("---\ntype: meeting\na: 1\n---\n# With Ana\n\nAgenda\n\nOn 20")
        assert done.content["region"] in text
        assert any("{{unknown}}" in warning for warning in done.content["warnings"])
        assert (await ask("note_write", path="p", content="the end", template="plain.md")).ok
        assert (root / "p.md").read_text() == "# p\nthe end\n"
        assert (await ask("note_write", path="t", template="trip")).ok
        missed = await ask("note_write", path="q", template="Nothing")
        assert missed.code == "not_found"
        assert set(missed.content["error"]["details"]["templates"]) == {
            "Templates/Meeting.md",
            "more/templates/Trip.md",
        }
        assert not (root / "q.md").exists()


async def test_near_duplicates_are_named(ask: Asking, root: Path) -> None:
    text = "ferry boats leave the northern quay every morning at nine for the island"
    assert (await ask("note_write", path="a/Ferry times", content=text)).ok
    named = await ask("note_write", path="b/ferry  times", content="something else entirely about bread")
    assert [near["path"] for near in named.content["similar"]] == ["a/Ferry times.md"]
    assert "a/Ferry times.md" in " ".join(named.content["warnings"])
    same = await ask("note_write", path="Boats", content=text)
    assert same.content["similar"][0]["path"] == "a/Ferry times.md"
    assert same.content["similar"][0]["score"] == 1.0
    typo = await ask("note_write", path="Ferry tmes", content="cheese", dry_run=True)
    assert {near["path"] for near in typo.content["similar"]} == {"a/Ferry times.md", "b/ferry  times.md"}
    assert not (root / "Ferry tmes.md").exists()


async def test_two_days_of_a_diary_are_no_duplicates(ask: Asking, root: Path) -> None:
    assert (await ask("note_write", path="2026-11-21", content="rain and bread")).ok
    done = await ask("note_write", path="2026-11-22", content="sun and cheese")
    assert "similar" not in done.content
    assert "warnings" not in done.content


async def test_near_duplicates_are_found_by_meaning(ask: Asking, root: Path, services: Services) -> None:
    text = " ".join(f"word{number}" for number in range(40))
    await ask("note_write", path="one", content=text)
    await until(services, lambda tx: tx.value("SELECT COUNT(*) FROM embeddings") == 1)
    done = await ask("note_write", path="two", content=f"{text} harbour")
    assert [near["path"] for near in done.content["similar"]] == ["one.md"]
    assert 0.92 <= done.content["similar"][0]["score"] <= 1
    other = await ask("note_write", path="three", content="bread and cheese")
    assert "similar" not in other.content


async def test_a_note_has_a_limit(opening: Opening, tmp_path: Path) -> None:
    async with opening(flags={"notes.max_note": 1024}) as services:
        ask = asker(services)
        assert (await ask("note_write", path="a", content="x" * 1023)).ok
        assert (await ask("note_write", path="b", content="x" * 1024)).code == "too_large"
        assert (await ask("note_write", path="c", content="ü" * 512)).code == "too_large"


async def test_what_is_left_out_is_out_of_reach(opening: Opening, tmp_path: Path) -> None:
    folder = tmp_path / "vaults" / "main" / "notes" / "private"
    async with opening(flags={"notes.exclude": ("private/",)}) as services:
        ask = asker(services)
        assert (await ask("note_write", path="private/a", content="x")).code == "invalid_argument"
        assert not folder.exists()
        folder.mkdir()
        (folder / "diary.md").write_text("mine\n")
        for tool, more in (("note_read", {}), ("note_edit", {"content": "x"}), ("note_delete", {"confirm": True})):
            assert (await ask(tool, path="private/diary.md", **more)).code == "not_found", tool
        assert (await ask("fetch", id="private/diary.md")).code == "not_found"
        assert (await ask("note_write", path="open", content="x")).ok
        moved = await ask("note_move", path="open", to="private/open")
        assert moved.code == "invalid_argument"
        assert "to" in moved.text
        assert (folder / "diary.md").read_text() == "mine\n"


async def test_a_dated_note_is_written_by_its_word(ask: Asking, root: Path) -> None:
    done = await ask("note_write", path="@weekly:2026-W10", content="the week", commit=True, dry_run=False)
    assert done.ok, done.text
    assert (root / done.content["path"]).read_text() == "the week\n"
    assert any("Git" in warning for warning in done.content["warnings"])
