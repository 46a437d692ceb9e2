"""Pictures of a graph: what they show, that labels can be read, that names stay names, and that size has an end.

Covers vaults.domain.graph.svg.labels, vaults.domain.graph.svg.text_metrics.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import combinations
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.work import assert_linear, examples
from vaults.domain.graph.svg import scenes as scene
from vaults.domain.graph.svg import text_metrics
from vaults.domain.graph.svg.drawing import FRAME, compose, draw
from vaults.domain.graph.svg.labels import LabelledDot, place_labels
from vaults.graph.note_graph import Graph, Node

SVG = "{http://www.w3.org/2000/svg}"
TAGS = {"svg", "title", "desc", "style", "rect", "text", "tspan", "path", "circle", "g", "defs", "marker"}


def graph_of(
    paths: Iterable[str],
    links: Iterable[tuple[int, int]],
    titles: Mapping[int, str] | None = None,
    category: str = "",
) -> Graph:
    """Notes numbered from 1 in the order of their paths, and who links to whom."""
    titles = titles or {}
    nodes = {
        number: Node(number, path, titles.get(number, path.rpartition("/")[2].removesuffix(".md")), (), category)
        for number, path in enumerate(paths, 1)
    }
    out: dict[int, set[int]] = {}
    into: dict[int, set[int]] = {}
    for source, target in links:
        if source != target:
            out.setdefault(source, set()).add(target)
            into.setdefault(target, set()).add(source)
    return Graph(
        1,
        1,
        nodes,
        {number: frozenset(each) for number, each in out.items()},
        {number: frozenset(each) for number, each in into.items()},
    )


def star(rays: int) -> Graph:
    return graph_of(
        ["hub.md", *(f"f/ray {each}.md" for each in range(rays))], [(each, 1) for each in range(2, rays + 2)]
    )


def texts(svg: str) -> list[str]:
    return ["".join(each.itertext()) for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


graphs = st.integers(1, 40).flatmap(
    lambda many: st.builds(
        graph_of,
        st.just([f"{'abc'[each % 3]}/{each}.md" for each in range(many)]),
        st.lists(st.tuples(st.integers(1, many), st.integers(1, many)), max_size=120),
        st.dictionaries(st.integers(1, many), st.text(max_size=60)),
    )
)


@settings(max_examples=examples(60), deadline=None)
@given(graphs, st.booleans())
def test_no_two_labels_overlap_and_none_leaves_the_picture(graph: Graph, around: bool) -> None:
    shown = scene.build_neighbourhood(graph, {}, 1, 2) if around else scene.build_overview(graph, {}, "v")
    discs, labels = compose(shown)
    assert not any(one.box.meets(other.box) for one, other in combinations(labels, 2))
    assert all(label.box.within(FRAME) for label in labels)
    assert not any(label.box.meets(disc.box) for label in labels for disc in discs if disc.number != label.number)
    assert all(FRAME.left <= disc.x <= FRAME.right and FRAME.top <= disc.y <= FRAME.bottom for disc in discs)
    ElementTree.fromstring(draw(shown).svg)


def test_a_label_that_finds_no_room_is_shortened_and_then_left_out() -> None:
    crowd = [LabelledDot(number, 600, 400, 5, f"A rather long name {number}", 12) for number in range(30)]
    labels = place_labels(crowd, FRAME)
    assert [label.number for label in labels][:1] == [0]
    assert 0 < len(labels) < len(crowd)
    assert not any(one.box.meets(other.box) for one, other in combinations(labels, 2))


def test_the_most_central_notes_are_named_larger_and_counted() -> None:
    graph = star(30)
    drawn = draw(scene.build_overview(graph, {1: 100.0} | dict.fromkeys(range(2, 32), 5.0), "My vault"))
    assert (drawn.notes, drawn.links) == (31, 30)
    root = ElementTree.fromstring(drawn.svg)
    sizes = {each.findtext(f"{SVG}title"): float(each.attrib["r"]) for each in root.iter(f"{SVG}circle")}
    assert sizes["hub (hub.md)"] > 2 * sizes["ray 3 (f/ray 3.md)"]
    said = texts(drawn.svg)
    assert {"My vault", "31 notes, 30 links", "hub"} <= set(said)
    assert any("f (30)" in each for each in said)
    assert "Most central: hub, " in (root.findtext(f"{SVG}desc") or "")


def test_without_scores_the_number_of_links_tells() -> None:
    dots = scene.build_overview(star(5), {}, "v").dots
    assert (dots[0].title, dots[0].weight) == ("hub", 1.0)


def test_what_is_left_out_is_said() -> None:
    many = scene.MAX_DOTS + 50
    graph = graph_of([f"{each}.md" for each in range(many + 7)], [(each, 1) for each in range(2, many + 1)])
    shown = scene.build_overview(graph, {}, "v")
    assert (len(shown.dots), shown.hidden, shown.alone) == (scene.MAX_DOTS, 50, 7)
    assert sum(dot.named for dot in shown.dots) == scene.MAX_NAMED
    assert any("50 more notes left out · 7 without links" in text for text in texts(draw(shown).svg))


def test_around_a_note_lies_what_is_one_and_two_links_away() -> None:
    #  3 → 1 ⇄ 2 → 4 → 5
    graph = graph_of([f"{each}.md" for each in "abcde"], [(3, 1), (1, 2), (2, 1), (2, 4), (4, 5)])
    near = scene.build_neighbourhood(graph, {}, 1, 1)
    assert {dot.title: dot.hops for dot in near.dots} == {"a": 0, "b": 1, "c": 1}
    assert {(line.source, line.target, line.both) for line in near.lines} == {(1, 2, True), (3, 1, False)}
    far = scene.build_neighbourhood(graph, {}, 1, 2)
    assert {dot.title: dot.hops for dot in far.dots} == {"a": 0, "b": 1, "c": 1, "d": 2}
    middle, *others = compose(far)[0]
    assert (middle.x, middle.y) == (600, pytest.approx(394, abs=30))
    away = {disc.number: ((disc.x - 600) ** 2 + (disc.y - middle.y) ** 2) ** 0.5 for disc in others}
    assert max(away[2], away[3]) < away[4]
    assert draw(far).svg.count("marker-end") == 1


def test_of_many_neighbours_those_that_share_most_are_shown_and_the_second_ring_keeps_a_third() -> None:
    hub, friends = 1, range(2, 12)
    strangers = range(12, 212)
    links = [(hub, each) for each in [*friends, *strangers]]
    links += [(one, other) for one in friends for other in friends]
    links += [(each, each + 200) for each in strangers]
    links += [(12, leaf) for leaf in range(212, 412)]  # a hub that shares nothing
    graph = graph_of([f"{each:03}.md" for each in range(1, 412)], links)
    near = scene.build_neighbourhood(graph, {}, hub, 1)
    assert len(near.dots) == scene.MAX_NEAR
    assert {dot.number for dot in near.dots[1:11]} == set(friends)
    assert near.hidden == 211 - scene.MAX_NEAR
    far = scene.build_neighbourhood(graph, {}, hub, 2)
    assert sum(dot.hops == 2 for dot in far.dots) >= (scene.MAX_NEAR - 1) // 3
    touched = {line.target for line in far.lines}
    assert all(dot.number in touched for dot in far.dots if dot.hops == 2)


def test_a_note_without_links_and_an_empty_vault_have_pictures_too() -> None:
    alone = draw(scene.build_neighbourhood(graph_of(["a.md"], []), {}, 1, 2))
    assert (alone.notes, alone.links, alone.labels) == (1, 0, 1)
    empty = draw(scene.build_overview(graph_of([], []), {}, "v"))
    assert empty.notes == 0
    assert ElementTree.fromstring(empty.svg).findtext(f"{SVG}desc") == "No note links to another."


def test_notes_are_coloured_by_folder_and_by_category_where_most_have_one() -> None:
    paths = ["all/x/1.md", "all/x/2.md", "all/y/3.md", "all/y.md", "all/4.md"]
    links = [(1, each) for each in range(2, 6)]
    shown = scene.build_overview(graph_of(paths, links), {}, "v")
    groups = {dot.path: shown.groups[dot.group] for dot in shown.dots}
    assert (shown.by, groups) == (
        "folder",
        {
            "all/x/1.md": "all/x",
            "all/x/2.md": "all/x",
            "all/y/3.md": "all/y",
            "all/y.md": "all/y",
            "all/4.md": "all",
        },
    )
    assert scene.build_overview(graph_of(paths, links, category="person"), {}, "v").by == "category"


def test_notes_of_one_name_are_told_apart_by_their_folder() -> None:
    graph = graph_of(["a/Plan.md", "b/Plan.md", "Plan.md", "Other.md"], [(4, 1), (4, 2), (4, 3)])
    assert {dot.title for dot in scene.build_overview(graph, {}, "v").dots} == {"a/Plan", "b/Plan", "Plan", "Other"}


@pytest.mark.parametrize(
    "name",
    [
        "</text><script>alert(1)</script>",
        '" onload="alert(1)',
        "]]>&amp;&lt;",
        "\u202egnihtemos\u2066",
        "\ufffe\uffff\x00\x1b[31m",
        "<image href='http://evil.example/x.png'/>",
        "&xxe; <!DOCTYPE a>",
        "x" * 500,
        "漢字" * 100,
        "a b " * 100,
        "\n\n",
    ],
)
def test_a_hostile_name_stays_a_name(name: str) -> None:
    graph = graph_of(["a/n.md", f"{name}/b.md"], [(1, 2), (2, 1)], {1: name, 2: name}, category=name)
    for shown in (scene.build_overview(graph, {}, name), scene.build_neighbourhood(graph, {}, 1, 1)):
        svg = draw(shown).svg
        parts = list(ElementTree.fromstring(svg).iter())
        assert {each.tag.removeprefix(SVG) for each in parts} <= TAGS
        attributes = {name for each in parts for name in each.attrib}
        assert not {name for name in attributes if name.startswith("on") or "href" in name}
        assert not re.search(r"<!|<[^>]*url\((?!#)", svg)
        assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x09\x0b-\x1f\ufffe\uffff]", svg)
        assert len(svg) < 20_000


def test_the_same_graph_gives_the_same_bytes_whatever_the_order_and_the_numbers_of_its_notes() -> None:
    paths = [f"{'abc'[each % 3]}/{each}.md" for each in range(40)]
    links = [(each, 1 + each * 7 % 40) for each in range(1, 41)]
    again = {41 - number: path for number, path in enumerate(paths, 1)}
    turned = graph_of([again[number] for number in sorted(again)], [(41 - one, 41 - other) for one, other in links])
    first = draw(scene.build_overview(graph_of(paths, links), {}, "v")).svg
    assert draw(scene.build_overview(graph_of(paths, links), {}, "v")).svg == first
    assert draw(scene.build_overview(turned, {}, "v")).svg == first


def test_a_hub_of_ten_thousand_notes_is_drawn_in_linear_time_and_stays_small() -> None:
    def drawn(graph: Graph) -> None:
        scenes = (
            scene.build_overview(graph, {}, "v"),
            scene.build_neighbourhood(graph, {}, 1, 2),
            scene.build_neighbourhood(graph, {}, 2, 2),
        )
        assert all(len(draw(each).svg) < 80_000 for each in scenes)

    assert_linear(drawn, star, 1_250)


def test_text_is_cut_where_it_is_too_wide() -> None:
    assert text_metrics.shorten("short", 10) == "short"
    cut = text_metrics.shorten("a very long name indeed", 6)
    assert cut.endswith("…")
    assert text_metrics.measure_width(cut, 1) <= 6
    assert text_metrics.wrap("Configuration Manager", 10) == ("Configuration", "Manager")
    assert text_metrics.wrap("Architecture/Space Lua", 10) == ("Architecture/", "Space Lua")
    assert all(text_metrics.measure_width(line, 1) <= 5 for line in text_metrics.wrap("x" * 10_000, 5))
