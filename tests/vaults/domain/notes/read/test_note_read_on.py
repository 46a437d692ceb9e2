"""``note_read`` goes on where it said it would, whatever part is read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.conftest import Asking, asker, open_at
from tests.noted import folder, indexed, put
from tests.server.rendering.answers import outside

pytestmark = pytest.mark.asyncio(loop_scope="module")

WIDE = "wide " * 3000 + "\n"
SECTION = "## S\n" + "".join(f"line {number} of many words here\n" for number in range(900))
LONG = "# L\nbefore\n" + SECTION + "## T\nlast\n"
BROAD = f"# A\nx\n{WIDE}after\n# B\n{WIDE}# C\ny\n"


STEEP = "# A heading of some words\nx\n" * 60


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def read(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Asking]:
    data: Path = tmp_path_factory.mktemp("read_on")
    put(folder(data), {"long.md": LONG, "broad.md": BROAD, "steep.md": STEEP})
    async with open_at(data) as services:
        await indexed(services, 3)
        ask = asker(services)

        async def note_read(path: str, /, **arguments: object) -> object:
            return await ask("note_read", path=path, **arguments)

        yield note_read


def _texts(answer: dict[str, Any]) -> str:
    sections = answer.get("sections")
    return answer["text"] if sections is None else "".join(each["text"] for each in sections)


@pytest.mark.parametrize(
    ("arguments", "whole"),
    [
        ({"part": "full"}, LONG),
        ({"part": "lines"}, LONG),
        ({"part": "sections"}, LONG),
        ({"part": "sections", "max_lines": 100}, LONG),
        ({"part": "full", "max_lines": 100}, LONG),
        ({"heading": "S"}, SECTION),
        ({"heading": "S", "max_lines": 100}, SECTION),
        ({"pattern": "S|T"}, LONG.removeprefix("# L\nbefore\n")),
    ],
)
async def test_every_part_goes_on_at_next_line(read: Asking, arguments: dict[str, object], whole: str) -> None:
    answer = (await read("long.md", max_tokens=3000, **arguments)).content
    text, calls = _texts(answer), 1
    assert answer["truncated"]
    while answer.get("next_line") is not None:
        assert calls < 20
        answer = (await read("long.md", max_tokens=3000, **arguments, from_line=answer["next_line"])).content
        text, calls = text + _texts(answer), calls + 1
    assert "truncated" not in answer
    assert text == whole


async def test_a_line_outside_the_section_is_refused_with_those_it_has(read: Asking) -> None:
    for line in (2, 904):
        refused = await read("long.md", heading="S", from_line=line)
        assert refused.content["error"]["details"]["field"] == "from_line"
        assert "lines 3 to 903" in refused.text
    last = (await read("long.md", heading="S", from_line=903)).content
    assert (last["first_line"], last["text"]) == (903, SECTION.splitlines(keepends=True)[-1])


async def test_sections_say_when_none_is_left(read: Asking) -> None:
    beyond = (await read("long.md", pattern="S", from_line=904)).content
    assert beyond["sections"] == []
    assert "beyond line 903" in beyond["warnings"][0]


async def test_max_lines_holds_for_every_part_with_text(read: Asking) -> None:
    for arguments in ({"part": "full"}, {"part": "lines"}, {"heading": "S"}, {"part": "sections"}):
        answer = await read("long.md", max_lines=2, **arguments)
        assert _texts(answer.content).count("\n") == 2, arguments
        assert f"- It goes on at from_line {answer.content['next_line']}" in outside(answer.text)
    refused = await read("long.md", part="outline", max_lines=2)
    assert refused.content["error"]["details"]["field"] == "max_lines"


async def test_of_a_line_longer_than_the_budget_the_rest_is_named(read: Asking) -> None:
    full = (await read("broad.md", part="full", from_line=3, max_tokens=200)).content
    assert full["next_line"] == 4
    assert f"line 3 is longer than max_tokens and cut within: {len(WIDE) - len(full['text'])} " in full["warnings"][0]
    assert "fetch" in full["warnings"][0]
    section = (await read("broad.md", heading="B", from_line=6, max_tokens=200)).content
    assert section["truncated"]
    assert "next_line" not in section
    sections = (await read("broad.md", part="sections", from_line=6, max_tokens=200)).content
    assert sections["next_line"] == 7
    assert "line 6" in sections["warnings"][0]
    more = (await read("broad.md", from_line=3, max_lines=1, max_tokens=5000)).content
    assert more["text"] == WIDE


async def test_an_outline_that_is_cut_says_how_it_goes_on(read: Asking) -> None:
    cut = await read("steep.md", max_tokens=300)
    assert f"- part outline goes on at from_line {cut.content['next_line']}" in outside(cut.text)
