"""Names of notes in a text: which are told, where they stand, and at what cost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.vaults.graph.named import Called, gazetteer, graph_of, note
from tests.work import assert_linear, examples, python_steps
from vaults.graph.names.gazetteer import Gazetteer, update_gazetteer
from vaults.graph.note_graph import Graph

ODD = gazetteer(
    note("C++.md"),
    note("NET.md", ".NET"),
    note("global.md", "API/global"),
    note("Node.js.md", "Node"),
    note("a(b*).md"),
    note("東京.md"),
    note("Caf\u00e9.md"),
    note("Straße.md"),
    note("O'Reilly.md"),
    note("x [y].md"),
    note("$^.*.md"),
)


def found(known: Gazetteer, text: str) -> list[str]:
    mentions = known.mentions(text)
    assert all(text[each.start : each.end] == each.term for each in mentions)
    return [each.term for each in mentions]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("C++ and c++, not C+ or C+++", ["C++", "c++"]),
        (".NET, .net but not ASP.NET or net", [".NET", ".net", "net"]),
        ("api/GLOBAL and API", ["api/GLOBAL"]),
        ("node.js, Node, Node.ts, my_node, node-red", ["node.js", "Node"]),
        ("a(b*) aab", ["a(b*)"]),
        ("私は東京に住む", ["東京"]),
        ("Cafe\u0301 CAFÉ cafe", ["Cafe\u0301", "CAFÉ"]),
        ("Straße STRASSE straſse Strasse", ["Straße", "STRASSE", "straſse", "Strasse"]),
        ("O'Reilly's and o'reilly", ["O'Reilly", "o'reilly"]),
        ("x [y] here, $^.* too", ["x [y]", "$^.*"]),
    ],
)
def test_names_with_any_signs_are_told_where_they_stand(text: str, terms: list[str]) -> None:
    expected = [each for each in terms if each not in ("$^.*",)]  # signs alone name nothing
    assert found(ODD, text) == expected


def test_the_longest_name_counts_wherever_names_overlap() -> None:
    known = gazetteer(note("New York.md"), note("York Minster Abbey.md"), note("New York City.md"), note("City.md"))
    assert found(known, "New York City, new york minster abbey") == ["New York City", "york minster abbey"]


def test_a_name_ends_where_the_line_does() -> None:
    known = gazetteer(note("New York.md"))
    assert found(known, "New\nYork, New\u00a0York, New  York") == ["New\u00a0York"]


def test_words_of_everyday_count_only_as_they_are_spelled_and_not_where_a_sentence_begins() -> None:
    known = gazetteer(note("Plan.md"), note("Notes.md"), note("IT.md"), note("Will.md"), note("Go.md"), note("idea.md"))
    text = "Plan it. The plan of Notes is for it and IT. Will he go, ask Will. - Go\nWe like Go, idea.\n- Plan: x"
    assert found(known, text) == ["Notes", "IT", "Go"]
    assert {"plan", "it", "Will"} <= {each.term for each in known.occurrences(text)}


@pytest.mark.parametrize("name", ["2024", "2024-05-01", "12:30", "2024-W12", "...", "🚀", "  "])
def test_numbers_dates_and_signs_name_nothing(name: str) -> None:
    assert gazetteer(note(f"{name}.md")).occurrences(f"see {name} there") == []


def test_a_shared_name_tells_all_its_notes() -> None:
    known = gazetteer(note("a/Dup.md"), note("b/Dup.md"), ("c/x.md", "Other", ("Dup",)))
    assert [each.notes for each in known.mentions("The Dup")] == [(1, 2, 3)]


def test_nothing_is_told_in_zones_but_a_shorter_name_beside_them() -> None:
    known = gazetteer(note("Big Plan.md"), note("Big Plan B.md"))
    assert [each.term for each in known.mentions("Big Plan B", [(9, 10)])] == ["Big Plan"]


NAMES = st.sampled_from(["Foo", "Foo Bar", "Bär", "C++", "x/y", "plan", "Plan", "東京", "  Odd\tname "])
CALLED: st.SearchStrategy[Called] = st.tuples(
    st.sampled_from(["a/Foo.md", "b/Foo.md", "Plan.md", "x.md"]), NAMES, st.lists(NAMES, max_size=2).map(tuple)
)


@settings(max_examples=examples(200))
@given(st.lists(st.lists(CALLED, max_size=4), min_size=1, max_size=4))
def test_names_kept_from_before_are_as_names_read_anew(steps: list[list[Called]]) -> None:
    filler = [note(f"Filler {number}.md") for number in range(40)]
    kept, graph = Gazetteer(), Graph()
    for named, step in enumerate(steps, 1):
        made = graph_of([*filler, *step], named)
        nodes = {n: graph.nodes[n] if graph.nodes.get(n) == each else each for n, each in made.nodes.items()}
        graph = replace(made, nodes=nodes)
        kept = update_gazetteer(graph, kept)
    anew = update_gazetteer(graph, Gazetteer())
    for of_it, of_all in ((kept.names, anew.names), (kept.keys, anew.keys)):
        assert {key: set(each) for key, each in of_it.items()} == {key: set(each) for key, each in of_all.items()}
    text = "Foo Bar, foo x/y C++ 東京 the Plan plan Bär"
    assert [each.term for each in kept.mentions(text)] == [each.term for each in anew.mentions(text)]


def test_a_save_that_changes_no_name_builds_nothing_and_another_little() -> None:
    many = [note(f"f/Some name {number}.md", f"alias of {number}") for number in range(5000)]
    graph = graph_of(many)
    known = update_gazetteer(graph, Gazetteer())
    assert update_gazetteer(replace(graph, change=2), known) is known
    more = graph_of([note("Newton.md")], 2).nodes[1]
    graph = Graph(3, 3, {**graph.nodes, 5001: replace(more, number=5001)})
    again = update_gazetteer(graph, known)
    assert (
        python_steps(lambda: update_gazetteer(graph, known))
        < python_steps(lambda: update_gazetteer(graph, Gazetteer())) / 20
    )
    assert found(again, "see Newton, some NAME 17") == ["Newton", "some NAME 17"]
    assert found(again, "alias of 4999") == ["alias of 4999"]


SHAPES = {
    "one word": lambda n: "word " * n,
    "one line": lambda n: "a" * n,
    "brackets": lambda n: "[" * n,
    "names": lambda n: "name of all " * n,
    "begun names": lambda n: "name " * n,
    "signs": lambda n: "+*(" * n,
    "cjk": lambda n: "東" * n,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_ten_thousand_names_are_looked_up_in_linear_time(shape: str) -> None:
    names = [note(f"name {'of all ' * (number % 30)}{number}.md") for number in range(9_000)]
    names += [note(f"{'word ' * (number % 60)}x{number}.md") for number in range(1_000)]
    known = gazetteer(*names)
    assert_linear(known.mentions, SHAPES[shape], 5_000)
