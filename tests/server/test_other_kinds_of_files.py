"""Files that are no notes: what is said of them, and that none is made in passing."""

from __future__ import annotations

import pytest

from server.services import Services
from tests import noted
from tests.conftest import Asking


@pytest.mark.parametrize(
    ("tool", "asked"), [("note_read", {"path": "docs/report.pdf"}), ("fetch", {"id": "docs/report.pdf"})]
)
async def test_a_file_that_is_no_note_is_said_to_be_one(
    services: Services, ask: Asking, tool: str, asked: dict[str, str]
) -> None:
    file = noted.folder(services.data) / "docs/report.pdf"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"%PDF-1.7" + b"x" * 1_992)
    answer = await ask(tool, **asked)
    assert answer.code == "invalid_argument"
    assert "a PDF file of 2,000 bytes, which is no note" in answer.content["error"]["message"]


async def test_a_file_that_is_not_there_is_not_found(ask: Asking) -> None:
    assert (await ask("note_read", path="docs/report.pdf")).code == "not_found"


@pytest.mark.parametrize("path", ["x.txt", "docs/Report.PDF", "table.csv"])
async def test_a_note_is_not_made_with_a_second_suffix(services: Services, ask: Asking, path: str) -> None:
    answer = await ask("note_write", path=path, content="words")
    assert answer.code == "invalid_argument"
    assert f"{path}.md" in answer.content["error"]["hint"]
    await ask("note_write", path="here", content="words")
    assert (await ask("note_move", path="here", to=path)).code == "invalid_argument"
    assert [each.name for each in noted.folder(services.data).rglob("*.md")] == ["here.md"]


@pytest.mark.parametrize("path", ["Node.js", "2024.10", "x.txt.md", "v1.2 plan"])
async def test_a_title_with_a_dot_is_a_notes_name(ask: Asking, path: str) -> None:
    assert (await ask("note_write", path=path, content="words")).ok
    assert (await ask("note_read", path=path)).ok


async def test_no_link_is_written_that_a_name_would_break(services: Services, ask: Asking) -> None:
    root = noted.folder(services.data)
    root.mkdir(parents=True, exist_ok=True)
    for name in ("Odd]] One", "Sharp# Two", "Caret^ Three", "Bar| Four", "Open[[ Five"):
        (root / f"{name}.md").write_text(f"# {name.replace(']]', '').replace('[[', '')}\n\nwords\n")
    await noted.indexed(services, 5)
    text = "About Odd One, Sharp# Two, Caret^ Three, Bar| Four and Open Five.\n"
    assert (await ask("note_write", path="all", content=text, auto_link=True, suggest_links=True)).ok
    links = (await ask("graph", action="forward_links", path="all")).content.get("links", [])
    assert all(link.get("path") for link in links)
    assert "]]]" not in (root / "all.md").read_text()
