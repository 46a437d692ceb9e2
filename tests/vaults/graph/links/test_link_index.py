"""However many links there are, and whatever they are called, they are right and quick.

Covers vaults.graph.links.link_queries.
"""

from __future__ import annotations

from tests.blanks import empty_tables
from tests.vaults.graph.bare import note
from tests.work import assert_linear
from vaults.graph import centrality
from vaults.graph.links import link_index, link_queries
from vaults.graph.note_graph import Graph, catch_up


def test_ten_thousand_links_in_a_note_and_to_a_note() -> None:
    assert_linear(_links_of_a_note, int, 1_250)


def _links_of_a_note(count: int) -> None:
    tx = empty_tables()
    source = note(tx, "source.md", "".join(f"[[n{number}]] [[source]] [[hub#h{number}]]\n" for number in range(count)))
    hub = note(tx, "hub.md", "[[hub]] [[source]]\n")
    assert link_queries.count_links_to(tx, hub) == count
    assert link_queries.count_links_from(tx, source) == 3 * count
    assert link_queries.count_links_to(tx, source) == 1
    graph = catch_up(tx, Graph())
    assert graph.into[hub] == {source}
    assert graph.out[hub] == {source}
    note(tx, "n7.md")
    graph = catch_up(tx, graph)
    assert len(graph.out[source]) == 2
    page = link_queries.read_links_to(tx, hub, link_queries.FIRST_POSITION, 3)
    rest = link_queries.read_links_to(tx, hub, (page[-1].path, page[-1].ordinal), count)
    assert len(page) + len(rest) == len(link_index.read_backlinks(tx, hub)) - 1


def test_a_note_that_thousands_link_to_comes_and_another_of_its_name() -> None:
    assert_linear(_links_to_a_note, int, 400)


def _links_to_a_note(count: int) -> None:
    tx = empty_tables()
    for number in range(count):
        note(tx, f"n{number}.md", "[[hub]]\n")
    graph = catch_up(tx, Graph())
    hub = note(tx, "hub.md")
    graph = catch_up(tx, graph)
    assert len(graph.into[hub]) == count
    found = centrality.compute_centrality(centrality.read_edges(tx))
    assert found[hub] == 100
    other = note(tx, "x/hub.md")  # one path from the root still tells them apart
    assert len(catch_up(tx, graph).into[hub]) == count
    assert link_queries.count_links_to(tx, other) == 0


def test_names_with_regex_characters_brackets_and_quotes_are_names() -> None:
    tx = empty_tables()
    odd = ["a.*+?(b)", "c$^{1}", 'it\'s "so"', "50% off; --", "nul'); DROP TABLE notes", "ünï çødé", "名前"]
    for name in odd:
        note(tx, f"{name}.md")
    source = note(tx, "source.md", "\n".join(f"[[{name}]]" for name in odd))
    graph = catch_up(tx, Graph())
    assert {graph.nodes[number].stem for number in graph.out[source]} == set(odd)


def test_links_below_an_edit_move_with_their_lines_and_mean_what_they_meant() -> None:
    edited, afresh = empty_tables(), empty_tables()
    before = "[[hub]]\n\n[[hub#a]] [[source]]\n[[other]]\n[[nowhere]]\n"
    after = f"[[hub]]\nadded\n{before[8:]}".replace("[[nowhere]]", "[[hub]]")
    for tx, texts in ((edited, (before, after)), (afresh, (after,))):
        for path in ("hub.md", "other.md"):
            note(tx, path)
        for text in texts:
            note(tx, "source.md", text)
    rows = "SELECT * FROM note_links ORDER BY note, ordinal"
    assert edited.all(rows) == afresh.all(rows)
    assert [line for (line,) in edited.all("SELECT line FROM note_links ORDER BY ordinal")] == [1, 4, 4, 5, 6]
