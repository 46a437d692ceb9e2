"""``graph action=export format=svg``: what is drawn, what its text says, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from auth.principal import owner
from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Opening, asker
from tests.noted import folder, indexed, put
from tests.server.rendering.answers import tokens_of_json
from vaults.search import tokenizer

RING = {f"ring/{number}.md": f"[[ring/{number + 1}]] [[hub]]\n" for number in range(9)}
NOTES = {"hub.md": "# Hub\n", "far.md": "[[ring/3]]\n", "lone.md": "nothing\n", **RING}


async def _drawn(services: Services, **arguments: Any) -> tuple[dict[str, Any], str]:
    """What a caller is told of a picture, and the words in the picture the resource serves."""
    found = await asker(services)("graph", action="export", format="svg", **arguments)
    assert found.ok, found.text
    assert tokens_of_json(found.content) + tokenizer.count_tokens(found.text) < 300
    assert "export" not in found.content
    (link,) = found.blocks("both")[1:]
    assert (link["type"], link["uri"], link["mimeType"]) == ("resource_link", found.content["picture"], "image/svg+xml")
    assert link["uri"] in found.text
    whole = asker(services, Caller(owner("cli"), "main", Role.ADMIN, "cli", form="whole"))
    drawn = await whole("graph", action="export", format="svg", **arguments)
    return found.content, "".join(ElementTree.fromstring(drawn.content["export"]).itertext())


async def test_pictures_of_a_vault_a_folder_and_a_note(opening: Opening, tmp_path: Path) -> None:
    put(folder(tmp_path), NOTES)
    async with opening() as services:
        await indexed(services, len(NOTES))
        ask = asker(services)
        whole, said = await _drawn(services)
        assert (whole["format"], whole["total"], "11 notes, 18 links · 1 without links" in said) == ("svg", 12, True)
        part, said = await _drawn(services, folder="ring/")
        assert (part["total"], "9 notes, 8 links" in said) == (9, True)
        _, said = await _drawn(services, path="hub.md")
        assert "far" not in said, "nine notes one link away are enough"
        for arguments in ({"entity": "Hub", "depth": 2}, {"path": "ring/3"}):
            _, said = await _drawn(services, **arguments)
            assert "far" in said, arguments
        assert (await ask("graph", action="export", format="svg", path="no.md")).code == "not_found"
        deep = await ask("graph", action="export", format="svg", path="hub.md", depth=3)
        assert (deep.code, "2 at most" in deep.text) == ("invalid_argument", True)
