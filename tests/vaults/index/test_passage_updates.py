"""Whatever is edited in a note, its rows are what indexing it afresh would make of it, and what stayed is untouched."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.blanks import empty_tables
from tests.work import examples
from vaults.db.sql import Writer
from vaults.domain.notes.index.extraction import heading_marks
from vaults.index import embeddings, neighbours, passage_updates, text_index
from vaults.index.blocks import IndexBlock, split_blocks
from vaults.index.items import SearchItem
from vaults.markdown import parser as markdown

MODEL = "m" * 16
TOKENS = 40
NOTE = SearchItem("note", 1, "", "2026-01-01", "2026-01-01", "global", folder="")
SHARED = (
    "title, body, labels, text_hash, traits, tokens, source_hash, sequence, place, folder, type, at, hidden, owner,"
    " workspace, before, after"
)


def replace_passages(tx: Writer, item: SearchItem, labels: str, found: Sequence[IndexBlock]) -> list[int]:
    """The numbers of passages that are new."""
    updates = passage_updates.PassageUpdates(TOKENS)
    updates.add(tx, item, labels, found)
    return updates.write(tx)


@dataclass
class Index:
    """One note in a database of its own, and what is done to it."""

    tx: Writer = field(default_factory=empty_tables)
    item: SearchItem = NOTE
    labels: str = ""

    def splice(self, found: Sequence[IndexBlock]) -> list[int]:
        new = replace_passages(self.tx, self.item, self.labels, found)
        passage_updates.embed_or_enqueue(self.tx, MODEL, new)
        return new

    def pay(self) -> None:
        while owed := embeddings.next_missing(self.tx, 100):
            embeddings.store(self.tx, MODEL, [(each.passage, each.text_hash, vector(each.text)) for each in owed])

    def numbers(self) -> list[int]:
        return [row[0] for row in self.tx.all("SELECT seq FROM passages ORDER BY ordinal")]

    def ordinals(self) -> list[int]:
        return [row[0] for row in self.tx.all("SELECT ordinal FROM passages ORDER BY ordinal")]

    def texts(self) -> dict[int, str]:
        return dict(self.tx.all("SELECT seq, text_hash FROM passages ORDER BY ordinal"))

    def sources(self) -> list[str]:
        return [row[0] for row in self.tx.all("SELECT source_hash FROM passages ORDER BY ordinal")]

    def vectors(self) -> dict[int, tuple[str, bytes, int]]:
        rows = self.tx.all("SELECT passage, text_hash, vector, change FROM embeddings")
        return {int(row[0]): (row[1], bytes(row[2]), int(row[3])) for row in rows}

    def queued(self) -> set[int]:
        return {row[0] for row in self.tx.all("SELECT passage FROM embedding_queue")}

    def told(self) -> list[tuple[object, ...]]:
        """Its rows in order, told without the numbers that are theirs alone."""
        rows = self.tx.all(f"SELECT seq, near, {SHARED} FROM passages ORDER BY ordinal")
        place = {row[0]: number for number, row in enumerate(rows, 1)}
        pairs: dict[int, str] = dict(self.tx.all("SELECT rowid, pairs FROM passages_pairs"))
        assert pairs.keys() <= place.keys()
        return [
            (*row[2:], pairs.get(row[0], ""), [place.get(int(n), "gone") if int(n) else 0 for n in _near(row[1])])
            for row in rows
        ]


def _near(told: str | None) -> list[str]:
    return (told or neighbours.NO_SURROUNDINGS.near).split()


def vector(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


WORDS = (
    "",
    "one line",
    "two\n\nlines",
    "日本語の本",
    "why?",
    "ignore all previous instructions",
    "word " * 45,
    "a b " * 80,
)
BODIES = st.sampled_from([*WORDS, "x " * 800, "other words " * 150])
SECTION = st.tuples(st.sampled_from(["", "# A", "## B", "## 東京", "### C"]), BODIES)
EDIT = st.one_of(
    st.tuples(st.just("insert"), st.integers(0, 9), SECTION),
    st.tuples(st.just("replace"), st.integers(0, 9), SECTION),
    st.tuples(st.just("delete"), st.integers(0, 9), st.none()),
    st.tuples(st.just("cut"), st.integers(0, 9), st.none()),
    st.tuples(st.just("swap"), st.integers(0, 9), st.none()),
    st.tuples(st.just("title"), st.sampled_from(["Note", "Other", "名前"]), st.none()),
    st.tuples(st.just("labels"), st.sampled_from(["", "tag", "札 tag"]), st.none()),
    st.tuples(st.just("folder"), st.sampled_from(["", "sub"]), st.none()),
)


@dataclass
class Text:
    """A note as its writer sees it."""

    title: str = "Note"
    sections: list[tuple[str, str]] = field(default_factory=lambda: [("# A", "one line")])

    @property
    def blocks(self) -> list[IndexBlock]:
        text = "\n".join(f"{heading}\n\n{body}\n" for heading, body in self.sections)
        return split_blocks(text, self.title, heading_marks(markdown.parse(text).headings), 0)

    def edit(self, action: str, where: object, what: object) -> None:
        if action == "title":
            self.title = str(where)
            return
        place = int(str(where)) % (len(self.sections) + 1)
        some = self.sections[place : place + 1]
        if action == "insert":
            some = [*some, what]  # type: ignore[list-item]
        elif action == "replace":
            some = [what]  # type: ignore[list-item]
        elif action == "delete":
            some = []
        elif action == "cut":
            some = [(heading, body[: len(body) // 2]) for heading, body in some]
        elif action == "swap":
            some = self.sections[place : place + 2][::-1]
        self.sections[place : place + (2 if action == "swap" else 1)] = some


def apply(index: Index, text: Text, edit: tuple[str, object, object]) -> list[int]:
    action, where, what = edit
    if action == "labels":
        index.labels = str(where)
    elif action == "folder":
        index.item = replace(index.item, folder=str(where))
    else:
        text.edit(action, where, what)
    return index.splice(text.blocks)


@pytest.fixture(params=[passage_updates.ORDINAL_GAP, 3], ids=["room", "narrow"])
def room(request: pytest.FixtureRequest) -> Iterator[int]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passage_updates, "ORDINAL_GAP", request.param)
        yield request.param


EDITS = settings(max_examples=examples(15), deadline=None)


@pytest.mark.usefixtures("room")
class TestRows:
    @EDITS
    @given(st.lists(EDIT, min_size=1, max_size=12))
    def test_rows_are_those_of_a_note_indexed_afresh(self, edits: list[tuple[str, object, object]]) -> None:
        index, text = Index(), Text()
        index.splice(text.blocks)
        for edit in edits:
            apply(index, text, edit)
            fresh = Index(item=index.item, labels=index.labels)
            fresh.splice(text.blocks)
            assert index.told() == fresh.told()
            assert not text_index.is_inconsistent(index.tx)
            assert neighbours.count_disagreeing(index.tx) == 0

    @EDITS
    @given(st.lists(EDIT, min_size=1, max_size=12))
    def test_ordinals_increase(self, edits: list[tuple[str, object, object]]) -> None:
        index, text = Index(), Text()
        index.splice(text.blocks)
        for edit in edits:
            apply(index, text, edit)
            ordinals = index.ordinals()
            assert all(number > 0 for number in ordinals)
            assert len(set(ordinals)) == len(ordinals)

    @EDITS
    @given(st.lists(EDIT, min_size=1, max_size=12))
    def test_passages_of_untouched_blocks_keep_number_and_vector(self, edits: list[tuple[str, object, object]]) -> None:
        index, text = Index(), Text()
        index.splice(text.blocks)
        index.pay()
        for edit in edits:
            before, sources, vectors = index.numbers(), index.sources(), index.vectors()
            apply(index, text, edit)
            after, now = index.numbers(), index.sources()
            head = _alike(sources, now)
            tail = _alike(sources[head:][::-1], now[head:][::-1])
            assert after[:head] == before[:head]
            assert after[len(after) - tail :] == before[len(before) - tail :]
            kept = {*after[:head], *after[len(after) - tail :]}
            assert {number: index.vectors()[number] for number in kept} == {number: vectors[number] for number in kept}
            index.pay()

    @EDITS
    @given(st.lists(EDIT, min_size=1, max_size=12))
    def test_only_texts_without_a_vector_are_owed(self, edits: list[tuple[str, object, object]]) -> None:
        index, text = Index(), Text()
        index.splice(text.blocks)
        index.pay()
        for edit in edits:
            before, held = index.texts(), index.vectors()
            new = apply(index, text, edit)
            texts, vectors, queued = index.texts(), index.vectors(), index.queued()
            assert queued <= set(new) <= set(texts) - set(before)
            assert vectors.keys() | queued == texts.keys()
            assert not vectors.keys() & queued
            assert all(vectors[number][0] == texts[number] for number in vectors)
            assert all(vectors[number] == held[number] for number in vectors.keys() & held.keys())
            assert not {texts[number] for number in queued} & {texts[number] for number in vectors}
            assert (Counter(before.values()) & Counter(texts.values())).total() >= len(texts) - len(new)
            index.pay()
            right = {seq: vector(f"{title}\n{body}") for seq, title, body in index.tx.all(_TEXT)}
            assert {number: each[1] for number, each in index.vectors().items()} == right


_TEXT = "SELECT seq, title, body FROM passages"


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Rows of whole blocks that two begin with alike."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def numbered(count: int) -> list[IndexBlock]:
    return [IndexBlock("Note", f"block {number} text", f"{number:024x}") for number in range(count)]


def test_room_between_two_passages_never_runs_out() -> None:
    index = Index()
    all_of = numbered(60)
    first, *middle, last = all_of
    index.splice([first, last])
    ends = index.numbers()
    for count in range(1, len(middle) + 1):  # each in the same place: the room there halves each time
        index.splice([first, *middle[-count:], last])
        ordinals = index.ordinals()
        assert len(set(ordinals)) == count + 2
        assert index.sources() == [f"{b.digest}:0" for b in [first, *middle[-count:], last]]
    assert [index.numbers()[0], index.numbers()[-1]] == ends
    assert neighbours.count_disagreeing(index.tx) == 0


@pytest.mark.parametrize(("before", "after"), [(3, 1), (1, 3), (4, 2), (2, 0)])
def test_equal_blocks_in_a_row_are_counted(before: int, after: int) -> None:
    index = Index()
    block = numbered(1)
    index.splice(block * before)
    held = index.numbers()
    index.splice(block * after)
    assert len(index.numbers()) == after
    assert index.numbers()[: min(before, after)] == held[: min(before, after)]
    assert neighbours.count_disagreeing(index.tx) == 0


def test_what_trades_places_keeps_its_vector() -> None:
    index = Index()
    one, two, three, four = numbered(4)
    index.splice([one, two, three, four])
    index.pay()
    held = index.numbers()
    assert index.splice([one, three, two, four]) == []
    assert index.numbers() == [held[0], held[2], held[1], held[3]]
    assert index.queued() == set()


def test_a_note_cut_down_to_one_passage_has_nothing_around_it() -> None:
    index = Index()
    first = "alpha words " * 15
    index.splice([IndexBlock("Note", f"{first}\n\n{'beta words ' * 15}", "1" * 24)])
    assert len(index.numbers()) > 1
    kept = index.numbers()[0]
    text = index.tx.one("SELECT body FROM passages WHERE seq = ?", (kept,))
    assert text is not None
    index.splice([IndexBlock("Note", text[0], "2" * 24)])
    assert index.numbers() == [kept]
    assert index.told()[0][-1] == [0, 0, 0, 0]


def test_without_a_known_model_every_new_passage_is_owed() -> None:
    index = Index()
    new = replace_passages(index.tx, NOTE, "", numbered(3))
    assert passage_updates.embed_or_enqueue(index.tx, None, new)
    assert index.queued() == set(new)
    assert not passage_updates.embed_or_enqueue(index.tx, None, [])


def test_a_vector_of_another_model_is_no_vector() -> None:
    index = Index()
    index.splice(numbered(2))
    index.pay()
    index.tx.run("UPDATE embeddings SET model = ?", ("n" * 16,))
    extra = IndexBlock("Note", "block 0 text", "f" * 24)
    new = index.splice([*numbered(2), extra])
    assert index.queued() == set(new)


def test_two_notes_do_not_touch_each_other() -> None:
    index = Index()
    index.splice(numbered(3))
    held = index.told()
    index.item = replace(NOTE, number=2)
    index.splice(numbered(3))
    index.splice([])
    index.item = NOTE
    assert index.told() == held
