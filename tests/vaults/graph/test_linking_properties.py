"""Whatever notes come, go and move: what each link means, and the graph, are as if worked out from scratch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.blanks import empty_tables
from tests.work import examples
from vaults.db.sql import Writer
from vaults.domain.notes.index import note_rows
from vaults.domain.notes.index.extraction import NoteExtract, extract_note
from vaults.files.tree import FileContent, FileStamp
from vaults.graph.note_graph import Graph, catch_up
from vaults.index.passage_updates import PassageUpdates
from vaults.markdown.link import Link
from vaults.markdown.link_resolution import LinkTarget, resolve_link
from vaults.markdown.parser import parse

PATHS = ("a.md", "A.md", "b.md", "x/a.md", "x/b.md", "x/y/c.md", "y/a.md")
NAMES = ("a", "A", "b", "x/a", "x/b", "c", "y/a", "Other", "Same", "alias", "../b", "gone", "")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("put", "put", "put", "move", "drop")),
        st.sampled_from(PATHS),
        st.sampled_from(PATHS),
        st.lists(st.tuples(st.booleans(), st.sampled_from(NAMES)), max_size=4),
        st.sampled_from(("", "Other", "Same", "a")),
        st.sampled_from(("", "alias", "Other", "b")),
        st.booleans(),
    ),
    min_size=1,
    max_size=14,
)


def _text(links: Sequence[tuple[bool, str]], title: str, alias: str) -> str:
    said = [f"[said]({name or '#here'})" if plain else f"[[{name}#h]]" for plain, name in links]
    head = f"---\ntitle: {title}\naliases: [{alias}]\n---\n" if title or alias else ""
    return head + "\n\n".join(said) + "\n"


@dataclass
class Model:
    """Files as they are: text by path, and the row of each."""

    tx: Writer
    texts: dict[str, str] = field(default_factory=dict)
    graph: Graph = field(default_factory=Graph)

    def put(self, path: str, text: str, before: str | None = None) -> None:
        seq = self.number(before) if before is not None else None
        updates = PassageUpdates(200)
        note_rows.write_note(self.tx, _intake(path, text), updates, seq)
        note_rows.write_passages(self.tx, updates, None)
        if before is not None:
            del self.texts[before]
        self.texts[path] = text

    def number(self, path: str) -> int:
        return int(self.tx.value("SELECT seq FROM notes WHERE path = ?", (path,)))

    def drop(self, path: str) -> None:
        note_rows.drop(self.tx, [self.number(path)])
        del self.texts[path]

    def check(self) -> None:
        numbers = {path: self.number(path) for path in self.texts}
        parsed = {path: _intake(path, text) for path, text in self.texts.items()}
        known = [LinkTarget(path, each.title, tuple(each.aliases)) for path, each in parsed.items()]
        for path in self.texts:
            links = parse(self.texts[path]).links
            wanted = [_meant(link, path, known) for link in links]
            held = self.tx.all("SELECT meant FROM note_links WHERE note = ? ORDER BY ordinal", (numbers[path],))
            assert [row[0] for row in held] == [None if each is None else numbers[each] for each in wanted], path
        self.graph = catch_up(self.tx, self.graph)
        fresh = catch_up(self.tx, Graph())
        assert (self.graph.nodes, self.graph.out, self.graph.into) == (fresh.nodes, fresh.out, fresh.into)
        assert {node.path for node in fresh.nodes.values()} == self.texts.keys()


def _meant(link: Link, source: str, known: Sequence[LinkTarget]) -> str | None:
    return resolve_link(link, source, known) if link.target else source


def _intake(path: str, text: str) -> NoteExtract:
    data = text.encode()
    return extract_note(path, FileContent(data, FileStamp(len(data), 1, 1, 1)), 2)


def _step(model: Model, step: tuple[object, ...]) -> None:
    what, path, to, links, title, alias, also = step
    text = _text(links, title, alias)  # type: ignore[arg-type]
    there = str(path) in model.texts
    if what == "put":
        model.put(str(path), text)
    elif what == "drop" and there:
        model.drop(str(path))
    elif what == "move" and there and to not in model.texts:
        before, after = str(path), str(to)
        if not also and before.rpartition("/")[2] == after.rpartition("/")[2]:
            note_rows.move(model.tx, model.number(before), after)
            model.texts[after] = model.texts.pop(before)
        else:
            model.put(after, text if also else model.texts[before], before)


@pytest.fixture(scope="module")
def tx() -> Writer:
    return empty_tables()


@settings(max_examples=examples(120), deadline=None)
@given(steps=STEPS, looks=st.sets(st.integers(0, 13)))
def test_links_and_graph_are_as_if_worked_out_from_scratch(
    tx: Writer, steps: list[tuple[object, ...]], looks: set[int]
) -> None:
    tx.run("SAVEPOINT example")
    try:
        model = Model(tx)
        for number, step in enumerate(steps):
            _step(model, step)
            if number in looks:
                model.graph = catch_up(tx, model.graph)
        model.check()
    finally:
        tx.run("ROLLBACK TO example")
        tx.run("RELEASE example")
