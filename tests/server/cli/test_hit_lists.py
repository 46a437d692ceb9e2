"""Hits for people: a table on a terminal, lines elsewhere; no stored text steers the terminal."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest

from server.cli.hit_lists import MAX_EXCERPT, show_hits

NOTE = {
    "id": "plans/deploy.md", "kind": "note", "title": "Deploy plan", "section": "When", "score": 0.61,
    "text": "We deploy on\nMondays.", "highlights": ["deploy"], "created_at": "2026-05-01T10:00:00Z",
    "modified_at": "2026-06-02T10:00:00Z",
}  # fmt: skip
MEMORY = {
    "id": "01a2", "type": "decision", "score": 0.1, "content": "Mondays, the rota is full then", "author": "ann",
    "created_at": "2026-05-01T10:00:00Z",
}  # fmt: skip


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(found: Any, monkeypatch: pytest.MonkeyPatch, columns: int = 100) -> str:
    """What a terminal gets, without our styles."""
    screen = Terminal()
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("sys.stdout", screen)
    show_hits(found)
    return re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue())


def test_elsewhere_each_hit_is_a_line_of_facts_and_one_of_text(capsys: pytest.CaptureFixture[str]) -> None:
    show_hits({"hits": [NOTE, MEMORY], "total": 2})
    assert capsys.readouterr().out.splitlines() == [
        "0.61  note  Deploy plan > When  2026-06-02  plans/deploy.md",
        "      We deploy on Mondays.",
        "0.10  decision  ann  2026-05-01  01a2",
        "      Mondays, the rota is full then",
    ]


def test_on_a_terminal_they_are_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown({"hits": [NOTE, MEMORY], "total": 2}, monkeypatch).splitlines()
    assert [line.split()[0] for line in lines if line[0] != " "] == ["SCORE", "0.61", "0.10"]
    assert any("Deploy plan > When" in line for line in lines)
    assert any("2026-06-02  plans/deploy.md" in line for line in lines)


def test_a_narrow_terminal_gets_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown({"hits": [NOTE], "total": 1}, monkeypatch, columns=30)
    assert max(map(len, text.splitlines())) <= 30
    assert "plans/deploy.md" in text.replace("\n", "").replace(" ", "")


def test_warnings_and_what_is_left_out_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    show_hits({"hits": [MEMORY], "total": 7, "warnings": ["nothing here seems to answer this"]})
    said = capsys.readouterr()
    assert said.err == "strongroom: nothing here seems to answer this\n1 of 7: --limit shows more\n"
    show_hits({"hits": [], "total": 0})
    assert capsys.readouterr() == ("", "nothing found\n")


@pytest.mark.parametrize("where", ["content", "title", "author", "id", "type"])
def test_no_stored_text_steers_a_terminal_or_is_read_as_markup(
    where: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "\x1b[2J\x9b31m\u202eevil\u202c [bold red]x[/] :smile:\x07\r\x00"
    hit = MEMORY | {where: evil}
    show_hits({"hits": [hit], "total": 1, "warnings": [evil]})
    said = capsys.readouterr()
    for text in (said.out, said.err, shown({"hits": [hit], "total": 1}, monkeypatch)):
        assert all(sign.isprintable() or sign == "\n" for sign in text)
    assert "[bold red]x[/] :smile:" in " ".join(said.out.split())


def test_of_a_long_text_the_part_that_matched_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    text = "before " * 200 + "the needle here " + "after " * 200
    show_hits({"hits": [NOTE | {"text": text, "highlights": ["Needle"]}], "total": 1})
    excerpt = capsys.readouterr().out.splitlines()[1].strip()
    assert len(excerpt) <= MAX_EXCERPT + 2
    assert excerpt.startswith("…")
    assert excerpt.endswith("…")
    assert "the needle here" in excerpt
