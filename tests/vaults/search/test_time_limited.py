"""Keyword search in a big vault ends in time: with the rarest words, or without any, and the answer says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from server.services import Services
from tests.conftest import Asking, asker, open_at
from vaults.db import sql
from vaults.db.sql import Reader
from vaults.search import interpretation, time_limited, vocabulary
from vaults.search.candidates import SearchCandidates, find_by_word
from vaults.search.filters import SearchFilter
from vaults.search.query import parse_query
from vaults.search.time_limited import TIMED_OUT_WARNING, find_by_word_in_time
from vaults.search.vocabulary import Vocabulary
from vaults.settings import SearchSettings
from vaults.vault import Vault

pytestmark = pytest.mark.asyncio(loop_scope="module")

ONLY = SearchFilter("nobody", "2026-01-01T00:00:00.000Z", kinds=("memory",))
NO_TIME = SearchSettings.model_construct(keyword_ms=0)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def filled(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Services]:
    """Nothing here writes into it."""
    texts = [f"the common harbour of number{n}, with {'rare' if n == 7 else 'many'}" for n in range(60)]
    async with open_at(tmp_path_factory.mktemp("filled")) as services:
        await asyncio.gather(*(asker(services)("remember", content=text) for text in texts))
        yield services


@pytest.fixture
def ask(filled: Services) -> Asking:
    return asker(filled)


@pytest_asyncio.fixture(loop_scope="module")
async def vault(filled: Services, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Vault]:
    monkeypatch.setattr(time_limited, "BIG_VAULT", 0)
    monkeypatch.setattr(sql, "CLOCK_CHECK_STEPS", 1)
    async with filled.pool.lease(filled.registry_cache.entry("main")) as held:
        yield held


def _searched(tx: Reader, text: str, settings: SearchSettings) -> tuple[SearchCandidates, str | None]:
    meant, known = interpretation.interpret(Vocabulary(), tx, parse_query(text), SearchSettings())
    return find_by_word_in_time(tx, meant, known, 10, ONLY, settings)


async def test_what_takes_too_long_is_left_out_and_the_read_goes_on(vault: Vault) -> None:
    def read(tx: Reader) -> tuple[SearchCandidates, str | None, int]:
        found, late = _searched(tx, "common harbour rare", NO_TIME)
        return found, late, int(tx.value("SELECT COUNT(*) FROM passages"))

    found, late, passages = await vault.db.read(read)
    assert (found.scores, late, passages) == ({}, TIMED_OUT_WARNING, 60)


async def test_the_rarest_words_are_tried_alone(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, real = [], find_by_word

    def slow(tx: Reader, query, *rest):  # type: ignore[no-untyped-def]
        asked.append(query.terms)
        if len(asked) == 1:
            raise TimeoutError
        return real(tx, query, *rest)

    monkeypatch.setattr(time_limited, "find_by_word", slow)
    found, late = await vault.db.read(lambda tx: _searched(tx, "common harbour rare number9", SearchSettings()))
    assert asked[1] == ("rare", "number9")
    assert len(found.scores) == 2
    assert late is not None
    assert "searched for rare and number9 alone" in late


async def test_in_time_nothing_is_said(vault: Vault) -> None:
    found, late = await vault.db.read(lambda tx: _searched(tx, "common harbour rare", SearchSettings()))
    assert (len(found.scores), late) == (10, None)


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
@pytest.mark.parametrize("query", ["common harbour rare", '"common harbour"', "nothing of that"])
async def test_an_answer_without_words_is_no_error(
    vault: Vault, ask: Asking, monkeypatch: pytest.MonkeyPatch, mode: str, query: str
) -> None:
    def late(*_: object) -> SearchCandidates:
        raise TimeoutError

    monkeypatch.setattr(time_limited, "find_by_word", late)
    outcome = await ask("recall", query=query, mode=mode)
    assert outcome.ok
    assert (TIMED_OUT_WARNING in outcome.content.get("warnings", ())) == (mode != "semantic")
    assert bool(outcome.content["hits"]) == (mode != "keyword")


async def test_a_big_vault_samples_shares_and_a_rare_word_is_counted(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("BIG_VAULT", 20), ("EXACT_SHARE_UP_TO", 5), ("STRETCHES", 3), ("STRETCH", 10)):
        monkeypatch.setattr(vocabulary, name, value)

    words = await vault.db.read(lambda tx: Vocabulary().look(tx, ["harbour", "rare", "numbre9"], correct=True))
    assert words["harbour"].share == 1.0
    assert words["rare"].share == pytest.approx(1 / 60)
    assert words["numbre9"].share == 0.0
