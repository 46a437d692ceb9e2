"""What is derived can be dropped, rebuilt, and is the same; a model that misbehaves costs vectors, never text.

Covers vaults.index.backfill.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Sequence
from importlib.resources import files

import numpy as np

from tests.conftest import Opening, asker
from tests.fakes import HashEmbedder
from tests.work import PATIENCE_S
from vaults.domain.maintenance.reindexing import reindex
from vaults.domain.maintenance.verification import verify

QUERIES = ("harbour", "ship number 7", "zebra", "a paragraph in the middle")


def _derived_tables() -> set[str]:
    folder = files("vaults.db") / "migrations/vault"
    script = "\n".join(
        each.read_text(encoding="utf-8") for each in sorted(folder.iterdir(), key=lambda each: each.name)
    )
    made = set(re.findall(r"-- derived from [^\n]*\nCREATE (?:VIRTUAL )?TABLE (\w+)", script))
    return made - {"memory_tags", "passages_words"}  # gone since; a view of another


_FOLLOWING = {"passages_fts", "private_fts", "vector_clock", "passages"}
"""Those that follow others by trigger, or come last."""


async def test_everything_derived_is_rebuilt_the_same(opening: Opening) -> None:
    async with opening() as services:
        ask = asker(services)
        for n in range(40):
            await ask(
                "remember", content=f"ship number {n} in the harbour\n\n" + "a paragraph in the middle " * n, tags=["t"]
            )
        before = [(await ask("recall", query=query, limit=20)).content["hits"] for query in QUERIES]
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:

            def drop(tx: object) -> None:
                for table in [*sorted(_derived_tables() - _FOLLOWING), "passages"]:
                    tx.run(f"DELETE FROM {table}")  # type: ignore[attr-defined]

            await vault.db.write(drop)
            assert not (await verify(vault)).agrees
            await reindex(vault)
            assert (await verify(vault)).agrees
        after = [(await ask("recall", query=query, limit=20)).content["hits"] for query in QUERIES]
        assert after == before


class Misbehaving(HashEmbedder):
    """Answers as told: NaN, zero, a wrong width, an exception, or nothing until released."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.entered, self.release = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        good = super().embed(texts)
        match self.how:
            case "nan":
                return np.full_like(good, np.nan)
            case "zero":
                return np.zeros_like(good)
            case "width":
                return good[:, :5]
            case "raise":
                raise RuntimeError("the model broke")
            case "hang":
                self.entered.set()
                self.release.wait(2 * PATIENCE_S)
        return good


async def test_a_model_that_misbehaves_costs_the_vector_not_the_text(opening: Opening) -> None:
    for how in ("nan", "zero", "width", "raise"):
        async with opening(load_model=lambda how=how: Misbehaving(how), vaults=(f"v-{how}",)) as services:
            from auth.principal import owner
            from auth.roles import Role
            from server.call import Caller

            ask = asker(services, Caller(owner("cli"), f"v-{how}", Role.ADMIN, "cli"))
            stored = await ask("remember", content=f"kept although {how}")
            assert stored.content["embedding"] == "pending", how
            found = await ask("recall", query="kept although")
            assert [hit["id"] for hit in found.content["hits"]] == [stored.content["id"]]
            assert found.content["mode_used"] == "keyword"
            assert found.content["warnings"]


async def test_a_hung_model_holds_nobody_up(opening: Opening) -> None:
    stuck = Misbehaving("hang")
    flags = {"embedding.timeout_s": 0.3, "embedding.write_wait_s": 0.2}
    async with opening(flags, load_model=lambda: stuck, vaults=("main", "other")) as services:
        ask = asker(services)
        try:
            async with asyncio.timeout(PATIENCE_S):
                outcomes = await asyncio.gather(*(ask("remember", content=f"text {n}") for n in range(10)))
                assert {outcome.content["embedding"] for outcome in outcomes} == {"pending"}
                found = await ask("recall", query="text 3")
                assert found.content["hits"]
                assert found.content["mode_used"] == "keyword"
        finally:
            stuck.how = "well"
            stuck.release.set()
