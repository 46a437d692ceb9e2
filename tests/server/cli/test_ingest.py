"""``strongroom ingest`` as a person meets it: files, folders, stdin, twice, and what cannot be read."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.server.cli.command import ROOT, Strongroom


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    (folder / "leases").mkdir(parents=True)
    (folder / "leases" / "berth.md").write_text("# Berth\n\n## Rent\n\nTen crowns a month.\n")
    (folder / "tender.txt").write_text("The tender closes in May.")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    (folder / "draft.txt").write_text("left out")
    (folder / ".gitignore").write_text("draft.*\n")
    (folder / "link.txt").symlink_to(folder / "tender.txt")
    return folder


def test_a_folder_is_read_in_and_again_without_harm(strongroom: Strongroom, papers: Path) -> None:
    strongroom("vault", "create", "main")
    ran = strongroom("ingest", str(papers), "--collection", "papers")
    assert (ran.code, ran.out) == (0, "2 new, 1 of formats that are not read\n")
    assert "link.txt: passed over" in ran.err
    again = strongroom("ingest", str(papers), str(papers / "tender.txt"), "--collection", "papers", "--json")
    assert again.json["counts"] == {"unchanged": 3, "unsupported": 1}
    found = strongroom("call", "search", '{"query": "ten crowns", "collection": "papers"}', "--vault", "main").json
    assert (found["hits"][0]["title"], found["hits"][0]["section"]) == ("Berth", "Berth › Rent")
    listed = strongroom("call", "ingest", '{"action": "list"}', "--vault", "main").json["documents"]
    assert {each["uri"] for each in listed} == {(papers / each).as_uri() for each in ("leases/berth.md", "tender.txt")}


def test_what_cannot_be_read_is_listed_and_ends_with_1(strongroom: Strongroom, papers: Path) -> None:
    strongroom("vault", "create", "main")
    (papers / "empty.md").write_text("\n")
    ran = strongroom("ingest", str(papers / "picture.png"), str(papers / "empty.md"), str(papers / "tender.txt"))
    assert (ran.code, ran.out) == (1, "1 new, 2 rejected\n")
    assert "picture.png: rejected (unsupported): " in ran.err
    assert "empty.md: rejected (empty): " in ran.err


def test_stdin_is_a_file_with_a_name(strongroom: Strongroom) -> None:
    strongroom("vault", "create", "main")
    page = "<html><head><title>Tides</title></head><body><p>High water at noon.</p></body></html>"
    ran = strongroom("ingest", "-", "--name", "tides.html", "--title", "The tides", stdin=page)
    assert (ran.code, ran.out) == (0, "1 new\n")
    (listed,) = strongroom("call", "ingest", '{"action": "list"}', "--vault", "main").json["documents"]
    assert (listed["title"], listed["format"]) == ("The tides", "html")


def test_a_page_of_a_host_that_is_not_listed_is_rejected(strongroom: Strongroom) -> None:
    strongroom("vault", "create", "main")
    ran = strongroom("ingest", "https://example.org/a", STRONGROOM_INGEST__HOSTS="docs.example.org")
    assert (ran.code, ran.out) == (1, "1 rejected\n")
    assert "does not list" in ran.err


def test_the_commands_of_the_page_do_what_it_says(strongroom: Strongroom, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "documents.md").read_text(encoding="utf-8").partition("Into a vault on another server")[0]
    blocks = re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    commands = [shlex.split(line)[1:] for block in blocks for line in block.splitlines()]
    strongroom("vault", "create", "main")
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "lease.md").write_text("# Lease\n\nThe berth costs ten crowns a month.\n")
    (tmp_path / "papers" / "tides.html").write_text("<html><body><p>High water is at noon.</p></body></html>")
    ran = [strongroom(*command, stdin="# Minutes\n\nAll agreed.\n") for command in commands]
    assert [each.code for each in ran] == [0] * len(commands), [each.err for each in ran]
    assert [each.out for each in ran[:4]] == ["2 new\n", "2 updated\n", "1 updated\n", "1 new\n"]
    assert ran[-2].json["documents"][0]["title"] == "Lease of the berth"
    assert "ten crowns" in ran[-1].json["hits"][0]["text"]


def test_wrong_words_are_refused(strongroom: Strongroom, papers: Path) -> None:
    strongroom("vault", "create", "main")
    assert strongroom("ingest").code == 2
    assert strongroom("ingest", "absent.pdf").code == 2
    assert strongroom("ingest", str(papers), "--title", "All").code == 2
    assert strongroom("ingest", str(papers), "--url", "http://x").code == 2
    assert strongroom("ingest", str(papers), "--vault", "nowhere").code == 1
