"""``strongroom graph export``: each format, to a file and to stdout."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from tests.noted import folder, put
from tests.server.cli.command import Strongroom

NOTES = {
    "plans/deploy.md": "# Deploy plan\n\nSee [[rota]].\n",
    "rota.md": "# Rota\n\nFor [[plans/deploy]].\n",
    "birds.md": "# Birds\n\nBy [[plans/deploy]].\n",
}


@pytest.fixture(scope="module")
def strongroom(tmp_path_factory: pytest.TempPathFactory) -> Strongroom:
    made = Strongroom(tmp_path_factory.mktemp("graphs") / "data")
    assert made("vault", "create", "main").code == 0
    put(folder(made.data), NOTES)
    assert made("reindex", "--vault", "main").code == 0
    return made


def test_the_ending_of_the_file_says_what_is_written(strongroom: Strongroom) -> None:
    for ending in ("svg", "graphml"):
        ran = strongroom("graph", "export", "--to", f"graph.{ending}")
        assert (ran.code, ran.out, ran.err) == (0, f"the graph of 3 notes is written to graph.{ending}\n", "")
        root = ElementTree.fromstring((strongroom.data.parent / f"graph.{ending}").read_text())
        assert root.tag.endswith("}" + ending)
    assert strongroom("graph", "export", "--to", "graph.json").code == 0
    assert len(json.loads((strongroom.data.parent / "graph.json").read_text())["links"]) == 3


def test_without_a_file_it_goes_to_stdout_as_it_is(strongroom: Strongroom) -> None:
    assert strongroom("graph", "export").out.startswith("graph LR\n")
    assert len(json.loads(strongroom("graph", "export", "--format", "json").out)["nodes"]) == 3


def test_a_part_of_it(strongroom: Strongroom) -> None:
    around = json.loads(strongroom("graph", "export", "--format", "json", "--note", "rota", "--depth", "1").out)
    assert {node["path"] for node in around["nodes"]} == {"rota.md", "plans/deploy.md"}
    below = strongroom("graph", "export", "--format", "json", "--folder", "plans", "--json").json
    assert (below["notes"], below["truncated"], below["format"]) == (1, False, "json")
    assert [node["path"] for node in json.loads(below["export"])["nodes"]] == ["plans/deploy.md"]


def test_what_does_not_fit_is_said(strongroom: Strongroom) -> None:
    ran = strongroom("graph", "export", "--limit", "1", "--to", "one.mmd", "--json")
    assert (ran.code, ran.json) == (0, {"format": "mermaid", "notes": 3, "truncated": True, "to": "one.mmd"})
    assert "not all of it fits" in ran.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--to", "graph.png"], 2, "--format is needed"),
        (["--format", "dot"], 2, "--format"),
        (["--format", "svg", "--limit", "5"], 2, "--limit is not for svg"),
        (["--note", "nothing"], 1, "no note nothing"),
        (["--vault", "none"], 1, "no such vault"),
        (["--as", "nobody"], 1, "no grant"),
        (["--to", "no/such/folder.svg"], 1, "No such file or directory"),
    ],
)
def test_what_cannot_be_written_ends_with_one_line(
    strongroom: Strongroom, words: list[str], code: int, said: str
) -> None:
    ran = strongroom("graph", "export", *words)
    assert (ran.code, ran.out, said in ran.err, ran.err.count("\n")) == (code, "", True, 1), ran.err
