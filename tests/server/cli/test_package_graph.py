"""The picture of the packages: which imports count, and which arrows are left out."""

from __future__ import annotations

import ast
import re

from server.cli import package_graph


def drawn(**arrows: set[str]) -> list[tuple[str, str]]:
    return list(package_graph._without_shortcuts(arrows))


def test_an_arrow_that_a_longer_way_stands_for_is_left_out() -> None:
    assert drawn(a={"b", "c"}, b={"c"}, c=set()) == [("a", "b"), ("b", "c")]


def test_every_arrow_of_a_circle_is_drawn() -> None:
    assert drawn(a={"b", "c"}, b={"c"}, c={"a"}) == [("a", "b"), ("a", "c"), ("b", "c"), ("c", "a")]


def test_one_arrow_leads_into_a_circle() -> None:
    assert drawn(a={"b", "c"}, b={"c"}, c={"b"}) == [("a", "b"), ("b", "c"), ("c", "b")]


def test_imports_for_type_checkers_do_not_count_and_those_in_functions_do() -> None:
    source = ast.parse(
        "if TYPE_CHECKING:\n import one\nelse:\n import two\ndef f():\n import three\nif x:\n import four"
    )
    found = [node for node in package_graph._running_code(source) if isinstance(node, ast.Import)]
    assert [node.names[0].name for node in found] == ["two", "three", "four"]


def test_both_pictures_are_the_same_every_time() -> None:
    for draw in (package_graph.top_level_graph, package_graph.second_level_graph):
        assert draw() == draw()


def test_the_four_packages_depend_downwards_only() -> None:
    order = package_graph.TOP_PACKAGES
    for source, target in re.findall(r"(\w+) -->\|\d+\| (\w+)", package_graph.top_level_graph()):
        assert order.index(source) < order.index(target)
