"""What the writers of a vault link where they name it, and how long what was learned of it is used."""

from __future__ import annotations

from dataclasses import replace

from tests.blanks import empty_tables
from tests.vaults.graph.bare import note
from vaults.graph.names.lexicon import compile_lexicon
from vaults.graph.note_graph import Graph, Node, catch_up
from vaults.graph.suggestions.link_habits import LinkHabits, count_habits, read_sample


def graph_of(*names: str, out: dict[int, set[int]]) -> Graph:
    nodes = {number: Node(number, f"{name}.md", name, (), "") for number, name in enumerate(names, 1)}
    return Graph(1, 1, nodes, {number: frozenset(each) for number, each in out.items()})


def test_what_is_linked_wherever_it_is_named_outweighs_what_is_only_said() -> None:
    graph = graph_of("Lua", "Page", *"abcd", out={number: {1} for number in (3, 4, 5, 6)})
    found = count_habits(graph, compile_lexicon(graph), dict.fromkeys((3, 4, 5, 6), "[[Lua]] on pages, a page of it"))
    assert (found.named[1], found.linked[1]) == (4, 4)
    assert (found.named[2], found.linked.get(2, 0)) == (4, 0)
    assert found.of(1) > 1 > -1 > found.of(2)
    assert found.of(99) == 0  # of what is never named nothing is known


def test_a_category_has_habits_of_its_own() -> None:
    graph = graph_of("Ann", "Page", *"abcd", out={number: {1} for number in (3, 4, 5, 6)})
    nodes = {**graph.nodes, 1: replace(graph.nodes[1], category="person"), 2: replace(graph.nodes[2], category="word")}
    graph = replace(graph, nodes=nodes)
    found = count_habits(graph, compile_lexicon(graph), dict.fromkeys((3, 4, 5, 6), "Ann and a page"))
    assert found.of_category("person") > 0 > found.of_category("word")
    assert found.of_category("") == found.of_category("unheard of") == 0


def test_a_word_of_one_note_alone_may_be_a_slip() -> None:
    graph = graph_of("Lua", "a", "b", out={2: {1}, 3: {1}})
    found = count_habits(graph, compile_lexicon(graph), {2: "shared Kuberntes", 3: "shared word"})
    assert "shared" in found.words
    assert "kuberntes" not in found.words


def test_notes_without_a_link_tell_nothing_of_habits() -> None:
    tx = empty_tables()
    linking = note(tx, "linking.md", "[[Lua]]")
    note(tx, "bare.md", "Lua")
    note(tx, "Lua.md")
    graph = catch_up(tx, Graph())
    assert set(read_sample(tx, graph)) == {linking}


def test_what_was_learned_is_used_until_a_twentieth_has_changed() -> None:
    graph = Graph(10, 10, {number: Node(number, f"{number}.md", str(number), (), "") for number in range(100)})
    assert LinkHabits().stale(graph)
    assert not LinkHabits(change=10).stale(graph)
    assert not LinkHabits(change=5).stale(graph)
    assert LinkHabits(change=4).stale(graph)
