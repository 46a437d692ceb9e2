"""The graph in the console: a picture, and a table that says the same."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
import pytest_asyncio

from auth.roles import Role
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
