"""Pictures of the graph over the wire: listed, drawn, completed, heard of, and nobody else's."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from auth.roles import Role
from tests.noted import folder, put
from tests.server.http.serving import ERAS, raw, served
from tests.server.http.test_mcp_streams import listen
from tests.server.http.test_note_resources import ABSENT, _asked, _settled, _until_told

NOTES = {
    "projects/plan.md": "# The plan\nSee [[steps]] and [[100% <b>]].\n",
    "steps.md": "Back to [[plan]].\n",
    "100% <b>.md": "alone\n",
    "odd.md/graph.md": "a note in a folder that is called like one\n",
    "plan/graph.md": "a note called graph\n",
}
AROUND = "note://projects/plan.md/graph"


async def prepare(ground):
    put(folder(ground.loaded.data), NOTES)  # before a vault is open: all of them are seen at its first look
    return {"stranger": await ground.token("stranger", Role.READER, "other")}


@pytest.fixture
async def site(tmp_path):
    data = tmp_path / "data"
    async with served(data, vaults=("main", "other"), prepare=prepare) as running:
        running.notes = folder(data)
        yield running


async def _drawn(caller, uri, era=ERAS[0]):
    contents = (await _asked(caller, "resources/read", era, uri=uri))["result"]["contents"][0]
    assert (contents["uri"], contents["mimeType"]) == (uri, "image/svg+xml")
    return "".join(ElementTree.fromstring(contents["text"]).itertext())


@pytest.mark.parametrize("era", ERAS)
async def test_pictures_are_listed_completed_and_drawn(site, era):
    async with raw(site, "owner") as owner:
        await _settled(owner, len(NOTES))
        listed = (await _asked(owner, "resources/list", era))["result"]["resources"]
        assert ("vault://graph", "graph", "image/svg+xml") in {(e["uri"], e["name"], e["mimeType"]) for e in listed}
        templates = (await _asked(owner, "resources/templates/list", era))["result"]["resourceTemplates"]
        assert templates[-1]["mimeType"] == "image/svg+xml"
        ref, value = {"type": "ref/resource", "uri": templates[-1]["uriTemplate"]}, {"name": "path", "value": "proj"}
        found = await _asked(owner, "completion/complete", era, ref=ref, argument=value)
        assert found["result"]["completion"]["values"] == ["projects/plan.md"]
        assert "3 notes, 2 links · 2 without links" in await _drawn(owner, "vault://graph", era)
        around = await _drawn(owner, AROUND, era)
        assert "The plan" in around
        assert "100% <b>" in around
        assert "graph.md" not in around
        assert await _drawn(owner, "note://projects%2Fplan.md/graph", era) == around


async def test_a_note_that_is_called_graph_is_still_a_note(site):
    async with raw(site, "owner") as owner:
        await _settled(owner, len(NOTES))
        for uri, path in {
            "note://plan/graph": "plan/graph.md",
            "note://plan/graph.md": "plan/graph.md",
            "note://odd.md/graph.md": "odd.md/graph.md",
        }.items():
            answer = await _asked(owner, "resources/read", ERAS[0], uri=uri)
            assert answer["result"]["contents"][0]["text"] == NOTES[path]
        assert "graph" in await _drawn(owner, "note://odd.md/graph.md/graph")


async def test_a_picture_around_what_is_not_there_or_not_ones_own_is_absent_alike(site):
    async with raw(site, "owner") as owner, raw(site, "stranger", "other") as stranger:
        await _settled(owner, len(NOTES))
        for caller, uri in (
            (stranger, AROUND),
            (owner, "note://no-such.md/graph"),
            (owner, "note://plan.md/graph"),  # lies elsewhere
            (owner, "note://../outside.md/graph"),
            (owner, "note://%FF.md/graph"),
            (owner, "note:///graph"),
        ):
            error = (await _asked(caller, "resources/read", ERAS[0], uri=uri))["error"]
            assert (error["code"], error["message"]) == ABSENT, uri
            async with listen(caller, resourceSubscriptions=[uri]) as refused:
                assert b"Resource not found" in await refused.answer.aread()
        assert "No note links to another." in await _drawn(stranger, "vault://graph")


async def test_who_listens_to_a_picture_hears_when_any_note_changes(site):
    async with raw(site, "owner") as owner:
        await _settled(owner, len(NOTES))
        for uri in (AROUND, "vault://graph"):
            async with listen(owner, resourceSubscriptions=[uri]) as heard:
                await heard.next()
                put(site.notes, {"steps.md": f"changed for {uri}\n"})
                await _until_told(heard, uri)
