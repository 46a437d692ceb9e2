"""Notes lift each other by the links in their texts, and by their names in a question.

Covers vaults.graph.links.adjacency, vaults.graph.links.memory_subjects, vaults.search.graph_lifts,
vaults.search.passage_facts.
"""

from __future__ import annotations

import pytest

from tests.blanks import empty_tables
from tests.vaults.graph.bare import note
from tests.vaults.search.test_lifts import about
from vaults.db.sql import Writer
from vaults.graph.links import adjacency, memory_subjects
from vaults.graph.links.memory_subjects import MemorySubject
from vaults.search.graph_lifts import BACKWARD_WEIGHT, lift_linked, lift_named_notes
from vaults.search.passage_facts import PassageFacts


@pytest.fixture
def tx() -> Writer:
    return empty_tables()


def notes(*numbers: int) -> dict[int, PassageFacts]:
    """A passage of each note, of the same number."""
    return {number: about(number, item=("note", number)) for number in numbers}


def test_what_a_note_links_to_is_lifted_and_half_of_that_what_links_to_it(tx: Writer) -> None:
    a, b, c = note(tx, "a.md"), note(tx, "b.md"), note(tx, "c.md", "[[a]]")
    note(tx, "a.md", "see [[b]], [the same](b.md) and [[a]] itself")
    assert lift_linked(tx, notes(a, b, c), [(a, 0.8)], 0.5, 50) == pytest.approx({b: 0.4, c: 0.4 * BACKWARD_WEIGHT})
    assert lift_linked(tx, notes(a, c), [(a, 0.8)], 0.5, 50) == pytest.approx({c: 0.4 * BACKWARD_WEIGHT}), (
        "only candidates"
    )
    assert lift_linked(tx, notes(a, b), [(a, 0.8)], 0.0, 50) == {}


def test_a_note_many_link_to_lifts_nothing_and_is_not_lifted(tx: Writer) -> None:
    hub = note(tx, "hub.md")
    rays = [note(tx, f"{number}.md", "[[hub]] and [[hub]] again") for number in range(4)]
    assert lift_linked(tx, notes(hub, *rays), [(rays[0], 1.0)], 0.5, 4) == {hub: 0.5}
    assert lift_linked(tx, notes(hub, *rays), [(rays[0], 1.0)], 0.5, 3) == {}
    assert lift_linked(tx, notes(hub, *rays), [(hub, 1.0)], 0.5, 3) == {}


def test_a_memory_somebody_linked_to_a_note_lifts_it_and_the_other_way_round(tx: Writer) -> None:
    tx.run("PRAGMA foreign_keys=OFF")  # the memory itself is not asked for
    plan, said = note(tx, "plan.md"), 7
    memory_subjects.add_subject(tx, said, "about", MemorySubject("note", "plan.md"), "p")
    memory_subjects.add_subject(tx, said, "about", MemorySubject("entity", "plan"), "p")
    known = {1: about(0, item=("memory", said)), 2: about(0, item=("note", plan))}
    assert lift_linked(tx, known, [(1, 1.0)], 0.5, 50) == {2: 0.5}
    assert lift_linked(tx, known, [(2, 1.0)], 0.5, 50) == {1: 0.5 * BACKWARD_WEIGHT}
    memory_subjects.add_subject(tx, 8, "about", MemorySubject("note", "plan.md"), "p")
    assert lift_linked(tx, known, [(2, 1.0)], 0.5, 1) == {1: 0.5 * BACKWARD_WEIGHT}, (
        "8 is no candidate, and not counted"
    )
    assert lift_linked(tx, {**known, 3: about(0, item=("memory", 8))}, [(2, 1.0)], 0.5, 1) == {}


def test_texts_of_notes_are_read_for_names_only_where_no_links_tell(
    tx: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = note(tx, "a.md", "[[b]]"), note(tx, "b.md")
    known = {number: each._replace(titled=True) for number, each in notes(a, b).items()}
    read: list[str] = []
    original = tx.all
    monkeypatch.setattr(type(tx), "all", lambda self, sql, *more: read.append(sql) or original(sql, *more))
    assert lift_linked(tx, known, [(a, 1.0)], 0.5, 50) == {b: 0.5}
    assert not [sql for sql in read if "FROM passages" in sql]
    note(tx, "a.md", "no link any more")
    assert lift_linked(tx, known, [(a, 1.0)], 0.5, 50) == {}
    assert [sql for sql in read if "FROM passages" in sql]


def test_where_no_candidate_is_a_note_nothing_is_asked_about_notes(tx: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {1: about(1), 2: about(2)}
    read: list[str] = []
    original = tx.all
    monkeypatch.setattr(type(tx), "all", lambda self, sql, *more: read.append(sql) or original(sql, *more))
    assert lift_linked(tx, known, [(1, 1.0)], 0.5, 50) == {}
    assert lift_named_notes(tx, known, "one", 0.2) == {}
    assert not [sql for sql in read if "note" in sql]


def test_a_note_the_question_calls_by_title_file_name_or_alias_is_lifted(tx: Writer) -> None:
    plan, person, cat = note(tx, "Ferry Plan.md"), note(tx, "people/ann.md"), note(tx, "Cats.md")
    tx.run("UPDATE notes SET title = 'Ann Smith', aliases = '[\"The Boss (of all)\"]' WHERE seq = ?", (person,))
    known = notes(plan, person, cat)

    def lifted(text: str) -> set[int]:
        return set(lift_named_notes(tx, known, text, 0.2))

    assert lifted("what is in the ferry plan?") == {plan}
    assert lifted("ann smith's plan") == {person}
    assert lifted("ask the boss about cats") == {person, cat}
    assert lifted("ferry, then plan a trip; concatenate") == set()
    assert lifted("") == set()
    assert lift_named_notes(tx, known, "cats", 0.0) == {}
    assert lift_named_notes(tx, known, "cats", 0.2) == {cat: 0.2}


def test_ten_thousand_links_in_a_note_and_to_one_are_bounded(tx: Writer) -> None:
    many = 3_000
    rows = [(1 + number, f"{number}.md", f"{number}.md") for number in range(many)]
    tx.many(
        "INSERT INTO notes (seq, path, path_key, folder, title, aliases, tags, frontmatter, hash, size, mtime_ns,"
        " inode, device, read_ns, complete, created_at, modified_at)"
        " VALUES (?, ?, ?, '', 't', '[]', '[]', '{}', '', 0, 0, 0, 0, 0, 1, '', '')",
        rows,
    )
    link = "INSERT INTO note_links (note, ordinal, kind, line, target, target_key, heading, block, alias, embed, meant)"
    tx.many(f"{link} VALUES (1, ?, 'wiki', 1, '', 'x', '', '', '', 0, ?)", [(n, n + 1) for n in range(many)])
    tx.many(f"{link} VALUES (?, 0, 'wiki', 1, '', 'x', '', '', '', 0, 2)", [(n,) for n in range(3, many)])
    assert len(adjacency.read_note_links(tx, [1, 2], range(1, 120))) == 118 + 117
    assert adjacency.find_hubs(tx, [1, 2, 3], 50) == {2}


def test_beside_a_note_stand_those_it_is_linked_with_the_most_central_first(tx: Writer) -> None:
    hub = note(tx, "hub.md", "[[hub]] and [[nowhere]]")
    rays = [note(tx, f"{number}.md", "[[hub]] and [[hub]] again") for number in range(4)]
    tx.many("INSERT INTO note_scores (note, hub) VALUES (?, ?)", [(hub, 100.0), (rays[2], 50.0)])
    found = adjacency.read_linked_notes(tx, [hub, rays[0]], 3)
    assert [each.path for each in found[hub].backlinks] == ["2.md", "0.md", "1.md"]
    assert (found[hub].backlinks_total, found[hub].outlinks, found[hub].outlinks_total) == (4, (), 0)
    assert [each.path for each in found[rays[0]].outlinks] == ["hub.md"]
    assert (found[rays[0]].outlinks_total, found[rays[0]].backlinks) == (1, ())
    assert adjacency.read_linked_notes(tx, [], 3) == {}
