"""The graph in the console: a picture, one to move about in (vaults.domain.graph.layout.layout_export), and a table."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
import pytest_asyncio

from auth.principal import owner
from auth.roles import Role
from server.call import Caller
from server.dispatch import dispatch
from server.tools import discover
from tests.server.ui.stage import Guest, Stage

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOTES = {
    "Rope.md": "# Rope\n\n[[Harness]] and [[Knots]]\n",
    "Harness.md": "# Harness\n\n[[Rope]]\n",
    "Knots.md": "# Knots <b>\n\n[[Harness]]\n",
    "deep/Far.md": "# Far\n\n[[Knots]]\n",
    "Alone.md": "# Alone\n",
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def reader(stage: Stage) -> Guest:
    for path, content in NOTES.items():
        await stage.ask("note_write", path=path, content=content)
    return await stage.person("gerd", Role.READER)


async def test_the_table_says_what_the_picture_shows(reader: Guest) -> None:
    page = (await reader.open("/ui/v/main/graph")).text
    assert 'src="/ui/v/main/graph.svg"' in page
    assert {"Rope", "Harness"} <= {*re.findall(r"<bdi>([A-Z][a-z]+)", page)}
    assert "Knots &lt;b&gt;" in page


async def test_the_picture_is_one_that_runs_nothing(reader: Guest) -> None:
    answer = await reader.open("/ui/v/main/graph.svg?note=Rope&depth=2")
    assert answer.headers["content-type"].startswith("image/svg+xml")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "sandbox" in policy
    root = ElementTree.fromstring(answer.text)
    assert root.tag.endswith("svg")
    assert "<b>" not in answer.text


async def test_what_is_around_a_note_and_between_two_is_listed(reader: Guest) -> None:
    near = (await reader.open("/ui/v/main/graph?note=Rope.md")).text
    assert "graph.svg?note=Rope.md" in near
    assert "Far" not in near
    assert "Far" in (await reader.open("/ui/v/main/graph?note=Rope&depth=2")).text
    way = await reader.open("/ui/v/main/graph?note=Far&to=Rope")
    assert way.text.index("Far") < way.text.index("Knots") < way.text.index("Rope</bdi>")
    assert "<img" not in way.text


async def test_a_folder_is_shown_alone(reader: Guest) -> None:
    assert "Harness" not in (await reader.open("/ui/v/main/graph?folder=deep")).text


@pytest.mark.parametrize("asked", ["note=Nowhere", "note=Rope&to=Nowhere", "note=" + "x" * 3000, "folder=../x"])
async def test_what_cannot_be_drawn_is_said(reader: Guest, asked: str) -> None:
    answer = await reader.open(f"/ui/v/main/graph?{asked}")
    assert answer.status_code in (200, 404, 422)
    assert 'role="alert"' in answer.text or "No note links" in answer.text
    assert "<img" not in answer.text or answer.status_code == 200


async def test_a_vault_of_others_has_no_picture(stage: Stage, reader: Guest) -> None:
    assert (await reader.open("/ui/v/other/graph.svg")).status_code == 404
    assert (await reader.open("/ui/v/nosuch/graph.svg")).status_code == 404


async def test_the_layout_holds_every_note_somebody_can_list(reader: Guest, stage: Stage) -> None:
    answer = await reader.open("/ui/v/main/graph.json")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    found = answer.json()
    listed = await stage.ask("find_notes", limit=100)
    assert sorted(found["paths"]) == sorted(each["path"] for each in listed["notes"])
    for name in ("titles", "x", "y", "folder", "type", "days", "into", "out"):
        assert len(found[name]) == len(found["paths"]), name
    place = {path: index for index, path in enumerate(found["paths"])}
    links = {frozenset(pair) for pair in zip(found["links"][::2], found["links"][1::2], strict=True)}
    near = [("Rope.md", "Harness.md"), ("Rope.md", "Knots.md"), ("Knots.md", "Harness.md"), ("deep/Far.md", "Knots.md")]
    assert links == {frozenset((place[one], place[other])) for one, other in near}
    assert found["folders"][found["folder"][place["deep/Far.md"]]] == "deep"
    assert (found["into"][place["Rope.md"]], found["out"][place["Rope.md"]]) == (1, 2)


async def test_a_note_that_comes_is_in_the_next_layout(reader: Guest, stage: Stage) -> None:
    hostile = "</script><img src=x onerror=alert(1)> \u202eevil\u202c"
    await stage.ask("note_write", path="New.md", content=f"---\ntype: '{hostile}'\n---\n# {hostile}\n\n[[Rope]]\n")
    answer = await reader.open("/ui/v/main/graph.json")
    found = answer.json()
    new = found["paths"].index("New.md")
    assert "\u202e" not in found["titles"][new] + "".join(found["types"])
    assert answer.headers["x-content-type-options"] == "nosniff"
    await stage.ask("note_delete", path="New.md", confirmed=True)
    assert "New.md" not in (await reader.open("/ui/v/main/graph.json")).json()["paths"]


async def test_the_layout_of_a_vault_of_others_is_not_there(stage: Stage, reader: Guest) -> None:
    theirs, nobodys = [await reader.open(f"/ui/v/{name}/graph.json") for name in ("other", "nosuch")]
    assert theirs.status_code == nobodys.status_code == 404
    assert theirs.content == nobodys.content
    lost = await stage.person("lost", Role.READER)
    stage.before = lambda: stage.end_grant("lost")
    answer = await lost.open("/ui/v/main/graph.json")
    assert answer.status_code == 404
    assert "Rope" not in answer.text


async def test_an_empty_vault_has_an_empty_layout(stage: Stage) -> None:
    guest = await stage.person("hanna", Role.READER, vault="other")
    found = (await guest.open("/ui/v/other/graph.json")).json()
    assert found["paths"] == found["links"] == found["folders"] == []


async def test_the_picture_to_move_about_in_is_of_the_whole_vault_and_names_a_way(reader: Guest) -> None:
    page = (await reader.open("/ui/v/main/graph")).text
    assert re.search(r'<section class="map" id="map" hidden ', page)
    assert re.search(r"<noscript>\s*<p class=\"picture\">.*graph\.svg.*</noscript>", page, re.DOTALL)
    assert "data-asked='[]'" in page
    way = (await reader.open("/ui/v/main/graph?note=Far&to=Rope")).text
    assert """data-asked='["deep/Far.md", "Knots.md", "Rope.md"]'""" in way
    for part in ("note=Rope", "folder=deep"):
        assert "<canvas" not in (await reader.open(f"/ui/v/main/graph?{part}")).text


async def test_its_scripts_are_loaded_on_this_page_alone(reader: Guest) -> None:
    assert "/graph_picture." in (await reader.open("/ui/v/main/graph")).text
    for path in ("", "notes/", "search", "graph?folder=deep", "usage"):
        assert "/assets/graph" not in (await reader.open(f"/ui/v/main/{path}")).text, path


async def test_a_layout_is_to_agents_a_format_like_any_that_there_is_not(stage: Stage) -> None:
    caller = Caller(owner("cli"), "main", Role.ADMIN, "cli")
    layout, unknown = [
        await dispatch(stage.services, caller, "graph", {"action": "export", "format": each})
        for each in ("layout", "png")
    ]
    assert layout.code == "invalid_argument"
    assert layout.content == unknown.content
    assert "'mermaid' or 'svg'" in layout.text
    spec = discover().get("graph")
    assert spec is not None
    schema = spec.whole_input_schema_for(Role.ADMIN)
    assert schema["properties"]["format"]["enum"] == ["graphml", "json", "mermaid", "svg"]
    assert "layout" not in str(schema)
