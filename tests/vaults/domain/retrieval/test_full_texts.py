"""What cut a text that is fetched: the lines asked for, or the bytes there was room for."""

from __future__ import annotations

import pytest

from server.services import Services
from tests.conftest import Asking
from vaults.domain.actors import Actor
from vaults.domain.retrieval import full_texts
from vaults.domain.retrieval.full_texts import FetchLimits

LINES = "".join(f"line {number} of it\n" for number in range(100))


@pytest.mark.parametrize("kind", ["note", "memory"])
@pytest.mark.parametrize(
    ("portion", "cut_by"),
    [
        (FetchLimits(), None),
        (FetchLimits(max_lines=10), "max_lines"),
        (FetchLimits(from_line=95, max_lines=50), None),
        (FetchLimits(max_bytes=200), "max_bytes"),
        (FetchLimits(max_lines=50, max_bytes=200), "max_bytes"),
    ],
)
async def test_what_cut_a_text_is_told(
    services: Services, ask: Asking, kind: str, portion: FetchLimits, cut_by: str | None
) -> None:
    if kind == "note":
        await ask("note_write", path="long", content=LINES)
        ref = "long.md"
    else:
        ref = (await ask("remember", content=LINES)).content["id"]
        if portion.from_line > 1:
            pytest.skip("of a memory the lines before are told as missing")
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        found = await full_texts.fetch_one(vault, Actor("local:cli", "cli"), ref, portion)
    assert found.cut_by == cut_by
