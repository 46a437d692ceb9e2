"""``search links: true``: what each note that was found is linked with."""

from __future__ import annotations

from pathlib import Path

from auth.roles import Role
from server.call import Caller
from tests.conftest import Opening, asker, local
from tests.noted import folder, indexed, put
from tests.server.rendering.answers import is_told

NOTES = {
    "ferry.md": "# Ferry\nThe ferry leaves at nine, see [[port]].\n",
    "port.md": "# The port\nships\n",
    **{f"log/{number:02}.md": f"# Day {number}\nwe took the [[ferry]]\n" for number in range(12)},
}


async def test_links_stand_beside_hits_when_asked_for_and_count_against_the_budget(
    opening: Opening, tmp_path: Path
) -> None:
    put(folder(tmp_path), NOTES)
    async with opening(vaults=("main", "other")) as services:
        await indexed(services, len(NOTES))
        ask = asker(services)
        await ask("remember", content="the ferry leaves at nine")
        plain = await ask("search", query="ferry leaves at nine", mode="keyword", max_tokens=20_000)
        assert not any("backlinks" in hit for hit in plain.content["hits"])
        found = await ask("search", query="ferry leaves at nine", mode="keyword", links=True, max_tokens=20_000)
        hits = {hit["id"]: hit for hit in found.content["hits"]}
        assert list(hits) == [hit["id"] for hit in plain.content["hits"]]
        ferry = hits.pop("ferry.md")
        assert ferry["outlinks"] == [{"path": "port.md", "title": "The port"}]
        assert (len(ferry["backlinks"]), ferry["backlinks_total"], ferry["outlinks_total"]) == (10, 12, 1)
        assert ferry["backlinks"][0] == {"path": "log/00.md", "title": "Day 0"}
        assert is_told(found.text, "linked from: log/00.md; log/01.md", "and 2 more")
        assert is_told(found.text, "links to: port.md")
        memory = next(hit for hit in hits.values() if hit["kind"] == "memory")
        assert "backlinks" not in memory
        tight = {"query": "ferry leaves at nine", "mode": "keyword", "max_tokens": 600}
        few = (await ask("search", **tight, links=True)).content
        assert 0 < len(few["hits"]) < len((await ask("search", **tight)).content["hits"])
        assert few["cursor"]
        refused = await ask("search", query="ferry", links=True, vaults=["other"])
        assert refused.code == "invalid_argument"
        stranger = asker(services, Caller(local("eve"), "main", Role.READER, "http"))
        assert not (await stranger("search", query="ferry", links=True)).ok
