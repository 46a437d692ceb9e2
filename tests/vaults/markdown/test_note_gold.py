"""Real notes against a table of their links made by an independent parser; skipped where they are not beside us."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from vaults.markdown.encoding import decode, encode
from vaults.markdown.link_resolution import LinkTarget, name_key, resolve_target
from vaults.markdown.parser import parse

DATA = Path(__file__).resolve().parents[4] / "shared/vaults/silverbullet-docs"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the real notes are not here")


@pytest.fixture(scope="module")
def notes():
    root = DATA / "notes"
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*.md"))}


@pytest.fixture(scope="module")
def rows():
    lines = (DATA / "links.tsv").read_text(encoding="utf-8").split("\n")[1:]
    return [line.split("\t") for line in lines if line]


def test_every_link_is_read_as_the_table_says(notes, rows):
    expected = defaultdict(list)
    for source, line, _, page, heading, alias, embed in rows:
        expected[source].append((int(line), page, heading, alias, embed == "1"))
    for path, data in notes.items():
        links = [link for link in parse(decode(data).text).links if link.kind != "markdown"]
        read = Counter((link.line, link.target, link.heading, link.alias, link.embed) for link in links)
        assert read == Counter(expected[path]), path


def test_every_link_means_the_note_the_table_names(notes, rows):
    parsed = {path: parse(decode(data).text) for path, data in notes.items()}
    known = defaultdict(list)
    for path, note in parsed.items():
        candidate = LinkTarget(path, note.title, note.aliases)
        for key in {name_key(name) for name in (path, note.title or path, *note.aliases)}:
            known[key].append(candidate)
    wrong = [row for row in rows if (resolve_target(row[3], row[0], known[name_key(row[3])]) or "") != row[2]]
    assert wrong == []


def test_offsets_are_those_of_the_text_as_it_stands_in_the_file(notes):
    for data in notes.values():
        source = decode(data)
        assert encode(source) == data
        for text in (source.text, source.text.replace("\n", "\r\n")):
            note = parse(text)
            assert note.frontmatter_error is None
            for link in note.links:
                assert text[link.target_start : link.target_end] == link.target
                assert text[link.start : link.end].lstrip("!").startswith("[")
            for part in (*note.headings, *note.tasks):
                assert not set("\r\n") & set(text[part.start : part.end])
                assert part.text in text[part.start : part.end]


def test_line_endings_change_nothing_but_offsets(notes):
    for data in notes.values():
        text = decode(data).text
        plain = parse(text)
        for ending in ("\r\n", "\r"):
            other = parse(text.replace("\n", ending))
            assert _content(other) == _content(plain)


def _content(note):
    return (
        note.title, note.tags, note.aliases, note.frontmatter, [(h.level, h.text, h.line) for h in note.headings],
        [(x.kind, x.line, x.target, x.heading, x.alias) for x in note.links],
        [(t.line, t.indent, t.status, t.text, t.heading, t.due, t.tags) for t in note.tasks],
        [(b.name, b.line) for b in note.blocks],
    )  # fmt: skip
