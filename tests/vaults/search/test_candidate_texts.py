"""Texts of candidates are read once in a search, whichever stage asks for them."""

from __future__ import annotations

import pytest

from tests.conftest import Opening, asker
from vaults.db.sql import Params, Reader


async def test_a_search_reads_the_texts_of_turns_by_one_statement(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: list[str] = []
    read_all = Reader.all

    def all_of(self: Reader, sql: str, params: Params = ()) -> object:
        statements.append(sql)
        return read_all(self, sql, params)

    async with opening() as services:
        ask = asker(services)
        for place in range(8):
            assert (await ask("remember", content=f"Ferry number {place}", parent="talk", position=place)).ok
        monkeypatch.setattr(Reader, "all", all_of)
        answer = await ask("search", query="ferry", mode="keyword")
    assert len(answer.content["hits"]) == 8
    assert sum("p.body, p.labels, p.before, p.after" in sql for sql in statements) == 1
