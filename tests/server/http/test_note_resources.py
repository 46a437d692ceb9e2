"""``note://`` resources over the wire: listed, read, completed, and heard of when they change."""

from __future__ import annotations

import asyncio

import pytest

from auth.roles import Role
from server import resources
from tests.noted import folder, put
from tests.server.http.serving import ERAS, raw, served
from tests.server.http.test_mcp_streams import listen
from tests.work import PATIENCE_S

NOTES = {
    "projects/plan.md": "---\ntags: [a]\n---\n# The plan\nwords\n",
    "ä ö #1?.md": "odd\n",
    "100% [x].md": "percent\n",
    "big.md": "x" * 22_000,
}
URIS = {
    "projects/plan.md": "note://projects/plan.md",
    "ä ö #1?.md": "note://%C3%A4%20%C3%B6%20%231%3F.md",
    "100% [x].md": "note://100%25%20%5Bx%5D.md",
    "big.md": "note://big.md",
}
ABSENT = (-32602, "Resource not found")


async def prepare(ground):
    put(folder(ground.loaded.data), NOTES)  # before a vault is open: all of them are seen at its first look
    return {"stranger": await ground.token("stranger", Role.READER, "other")}


@pytest.fixture
async def site(tmp_path, monkeypatch):
    monkeypatch.setattr(resources, "_NOTE_BYTES", 20_000)  # every test here has the note that is longer
    data = tmp_path / "data"
    async with served(data, vaults=("main", "other"), prepare=prepare) as running:
        running.notes = folder(data)
        yield running


async def _settled(caller, number):
    """Wait until the index has so many notes and the first look is over: what it found is told to nobody who begins to
    listen now. The rows are there a moment earlier."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = (await caller.call("find_notes"))["structuredContent"]["total"]
            state = (await caller.call("status"))["structuredContent"]["notes"]["state"]
            if (found, state) == (number, "ready"):
                return
            await asyncio.sleep(0.01)


async def _asked(caller, method, era, **params):
    return (await caller.post(caller.message(method, params, era), era=era)).json()


async def _all_listed(caller):
    seen, cursor = [], {}
    while cursor is not None:
        page = (await _asked(caller, "resources/list", ERAS[0], **cursor))["result"]
        seen += [(entry["uri"], entry["name"]) for entry in page["resources"]]
        cursor = {"cursor": page["nextCursor"]} if page.get("nextCursor") else None
    return seen


@pytest.mark.parametrize("era", ERAS)
async def test_a_note_is_listed_and_read_by_its_address(site, era):
    async with raw(site, "owner") as owner:
        await _settled(owner, len(NOTES))
        listed = (await _asked(owner, "resources/list", era))["result"]["resources"]
        entries = {entry["uri"]: entry for entry in listed}
        assert set(URIS.values()) <= set(entries)
        plan = entries[URIS["projects/plan.md"]]
        assert (plan["name"], plan["mimeType"], plan["size"]) == ("The plan", "text/markdown", 35)
        for path, uri in URIS.items():
            answer = await _asked(owner, "resources/read", era, uri=uri)
            if path == "big.md":
                assert "too long" in answer["error"]["message"]
                continue
            contents = answer["result"]["contents"][0]
            assert (contents["uri"], contents["mimeType"], contents["text"]) == (uri, "text/markdown", NOTES[path])
            assert contents["_meta"]["strongroom/note"]["path"] == path
            assert len(contents["_meta"]["strongroom/note"]["etag"]) == 16
        encoded = await _asked(owner, "resources/read", era, uri="note://projects%2Fplan.md")
        assert encoded["result"]["contents"][0]["text"] == NOTES["projects/plan.md"]


@pytest.mark.parametrize("era", ERAS)
async def test_what_is_not_there_not_ones_own_or_outside_is_absent_alike(site, era):
    (site.notes.parent / "outside.md").write_text("secret")
    (site.notes / "link.md").symlink_to(site.notes.parent / "outside.md")
    async with raw(site, "owner") as owner, raw(site, "stranger", "other") as stranger:
        await _settled(owner, len(NOTES))
        for caller, uri in (
            (owner, "note://no-such.md"),
            (stranger, URIS["projects/plan.md"]),
            (owner, "note://../outside.md"),
            (owner, "note://%2e%2e%2Foutside.md"),
            (owner, "note:///etc/passwd"),
            (owner, "note://"),
            (owner, "note://%FF.md"),
            (owner, "note://plan"),
            (owner, "note://link.md"),
            (owner, "note://*.md"),
        ):
            error = (await _asked(caller, "resources/read", era, uri=uri))["error"]
            assert (error["code"], error["message"]) == ABSENT, uri


async def test_memories_come_first_and_every_note_once(site):
    put(site.notes, {f"many/{number:03}.md": f"{number}\n" for number in range(70)})
    async with raw(site, "owner") as owner:
        await _settled(owner, len(NOTES) + 70)
        ids = [
            (await owner.call("remember", {"content": f"memory {number}"}))["structuredContent"]["id"]
            for number in range(3)
        ]
        seen = [uri for uri, _ in await _all_listed(owner)]
        first = len(resources.FIXED_RESOURCES) + 3
        assert seen[:first] == [*resources.FIXED_RESOURCES, *(f"memory://{each}" for each in reversed(ids))]
        assert len(seen) == len(set(seen)) == first + len(NOTES) + 70
        assert all(uri.startswith("note://") for uri in seen[first:])
        assert [uri for uri, _ in await _all_listed(owner)] == seen


@pytest.mark.parametrize("era", ERAS)
async def test_paths_are_completed_by_their_beginning_and_by_titles(site, era):
    async with raw(site, "owner") as owner, raw(site, "stranger", "other") as stranger:
        await _settled(owner, len(NOTES))

        async def completed(caller, value, name="path"):
            ref = {"type": "ref/resource", "uri": "note://{path}"}
            answer = await _asked(caller, "completion/complete", era, ref=ref, argument={"name": name, "value": value})
            return answer["result"]["completion"]["values"]

        templates = (await _asked(owner, "resources/templates/list", era))["result"]["resourceTemplates"]
        assert [each["uriTemplate"] for each in templates] == [
            "memory://{id}",
            "note://{path}",
            "document://{id}",
            "note://{path}/graph",
        ]
        for value in ("projects/", "proj", "PROJECTS/pl", "the plan", "plan"):
            assert await completed(owner, value) == ["projects/plan.md"], value
        assert set(await completed(owner, "")) == set(NOTES)
        assert await completed(owner, "../") == await completed(owner, "nothing") == []
        assert await completed(stranger, "plan") == await completed(owner, "plan", "id") == []


async def _next_uri(heard):
    """The note the next message is about; None for one that the list changed."""
    told = await heard.next()
    assert told["method"] in ("notifications/resources/updated", "notifications/resources/list_changed")
    return told["params"].get("uri")


async def _until_told(heard, uri):
    """A program's one save may be seen as two."""
    async with asyncio.timeout(PATIENCE_S):
        while await _next_uri(heard) != uri:
            pass


async def test_a_change_of_a_note_on_disk_is_heard_in_its_vault_alone(site):
    async with raw(site, "owner") as owner, raw(site, "stranger", "other") as stranger:
        await _settled(owner, len(NOTES))
        wanted = [URIS["ä ö #1?.md"], "note://projects%2FPlan.md"]
        async with (
            listen(owner, resourceSubscriptions=wanted, resourcesListChanged=True) as heard,
            listen(stranger, resourceSubscriptions=["vault://status"], resourcesListChanged=True) as elsewhere,
        ):
            await heard.next()
            await elsewhere.next()
            put(site.notes, {"big.md": "small now\n"})
            assert await _next_uri(heard) is None
            for path, uri in (("projects/plan.md", wanted[1]), ("ä ö #1?.md", wanted[0])):
                put(site.notes, {path: "changed\n"})
                await _until_told(heard, uri)
            (site.notes / "projects/plan.md").unlink()
            await _until_told(heard, wanted[1])
            site.state["drain"]()
            assert (await elsewhere.next())["id"] == 7  # heard nothing before


async def test_a_tools_write_is_told_once(site):
    uri = URIS["projects/plan.md"]
    async with raw(site, "owner") as owner:
        await _settled(owner, len(NOTES))
        async with listen(owner, resourceSubscriptions=[uri, "vault://status"], resourcesListChanged=True) as heard:
            await heard.next()
            moved = await owner.call("note_move", {"path": "projects/plan.md", "to": "projects/done.md"})
            assert not moved["isError"], moved
            told = [await heard.next() for _ in range(3)]
            assert sorted(each["params"].get("uri", each["method"]) for each in told) == [
                uri,
                "notifications/resources/list_changed",
                "vault://status",
            ]
            site.state["drain"]()
            assert (await heard.next())["id"] == 7


async def test_nobody_listens_to_a_note_that_is_not_its_own(site):
    async with raw(site, "owner") as owner, raw(site, "stranger", "other") as stranger:
        await _settled(owner, len(NOTES))
        for caller, uri in (
            (stranger, URIS["projects/plan.md"]),
            (owner, "note://no-such.md"),
            (owner, "note://plan"),
            (owner, "note://../x.md"),
        ):
            async with listen(caller, resourceSubscriptions=["vault://status", uri]) as refused:
                assert b"Resource not found" in await refused.answer.aread()
