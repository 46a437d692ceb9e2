"""A vault's own words: shares, names and slips follow what is stored, and tell nobody of what is private."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, asker, local
from tests.people import give_role
from vaults.search.vocabulary import Vocabulary, VocabularyWord, find_named
from vaults.vault import Vault


@pytest.fixture
async def vault(services: Services) -> AsyncIterator[Vault]:
    async with services.pool.lease(services.registry_cache.entry("main")) as held:
        yield held


async def _look(
    vault: Vault, *words: str, vocabulary: Vocabulary | None = None, correct: bool = True
) -> dict[str, VocabularyWord]:
    kept = vocabulary or Vocabulary()
    return await vault.db.read(lambda tx: kept.look(tx, words, correct=correct))


async def _store(ask: Asking, *contents: str, **more: Any) -> list[str]:
    return [str((await ask("remember", content=content, **more)).content["id"]) for content in contents]


async def _found(ask: Asking, query: str) -> tuple[list[str], str]:
    outcome = await ask("recall", query=query, mode="keyword")
    return [hit["content"] for hit in outcome.content["hits"]], " ".join(outcome.content.get("warnings", ()))


async def test_a_share_counts_passages_that_hold_the_word_themselves(vault: Vault, ask: Asking) -> None:
    for place, content in enumerate(("the harbour opens", "a harbour closes", "ships wait", "harbours, again")):
        await _store(ask, content, parent="talk", position=place)
    words = await _look(vault, "harbour", "ships", "nowhere")
    assert (words["ships"].share, words["nowhere"].share) == (0.25, 0.0)
    assert words["harbour"].share == 0.5, "counted no further than half"


async def test_names_are_those_of_authors_and_entities_from_their_first_word(vault: Vault, ask: Asking) -> None:
    await _store(ask, "one", author="Melanie")
    await _store(ask, "two", author="Melanie Klein", entity="Melanie's Garden")
    await _store(ask, "three", author="Melaniel", entity="Anna Melanie")
    words = await _look(vault, "melanie", "klein")
    assert words["melanie"].names == ("melanie", "melanie klein", "melanie s garden")
    assert words["klein"].names == ()


def test_a_question_names_by_all_words_or_by_a_first_one_with_a_capital() -> None:
    words = {"mary": VocabularyWord(0.1, ("mary jane", "mary")), "bo": VocabularyWord(0.1, ("bo diddley",))}
    assert find_named(words, ["mary", "likes"], []) == {"mary": frozenset(["mary"])}
    assert find_named(words, ["mary", "jane"], []).keys() == {"mary", "mary jane"}
    assert find_named(words, ["mary", "likes"], ["mary"])["mary jane"] == frozenset(["mary"])
    assert find_named(words, ["bo"], ["bo"]) == {}, "two letters call nobody"


async def test_a_slip_is_taken_for_the_nearest_word_only_where_nothing_holds_it(vault: Vault, ask: Asking) -> None:
    await _store(ask, "the configuration of the harbour")
    words = await _look(vault, "harbuor", "harbour", "configuraton", "zzzzzz")
    assert [words[word].meant for word in ("harbuor", "harbour", "configuraton", "zzzzzz")] == [
        "harbour", None, "configuration", None,
    ]  # fmt: skip
    assert (await _look(vault, "harbuor", correct=False))["harbuor"].meant is None


async def test_a_word_stored_after_it_was_taken_for_a_slip_is_found(
    ask: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaults.search.vocabulary.EXACT_UP_TO", -1)
    await _store(ask, *(f"the quota of month {n}" for n in range(30)))
    assert "taken for a slip" in (await _found(ask, "quotta"))[1]
    await _store(ask, "Quotta is a village")
    assert await _found(ask, "quotta") == (["Quotta is a village"], "")


@pytest.mark.parametrize("again", ["update", "purge"])
async def test_a_text_that_changed_in_place_counts(vault: Vault, ask: Asking, again: str) -> None:
    vocabulary = Vocabulary()
    one, *_ = await _store(ask, "the owl is grey", "the heron is white", "tea at four")
    assert (await _look(vault, "owl", vocabulary=vocabulary))["owl"].share == pytest.approx(1 / 3)
    if again == "update":
        await ask("memory_update", id=one, content="no more of it")
    else:
        await ask("memory_forget", ids=[one], purge=True)
    assert (await _look(vault, "owl", vocabulary=vocabulary))["owl"].share == 0


async def test_a_big_vault_counts_again_after_a_twentieth_has_come(
    vault: Vault, ask: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaults.search.vocabulary.EXACT_UP_TO", 10)
    vocabulary = Vocabulary()
    await _store(ask, *(f"tea number {n}" for n in range(40)))
    await _look(vault, "tea", vocabulary=vocabulary)
    await _store(ask, "coffee", "milk")
    await _look(vault, "tea", vocabulary=vocabulary)
    assert vocabulary.passages == 40
    await _store(ask, "water")
    await _look(vault, "tea", vocabulary=vocabulary)
    assert vocabulary.passages == 43


async def test_no_correction_names_a_word_that_is_private(services: Services, ask: Asking) -> None:
    await give_role(services, "bob", Role.ADMIN)
    bob = asker(services, Caller(local("bob"), "main", Role.ADMIN, "http"))
    await _store(ask, "the xylophones of Ann", visibility="private")
    await _store(ask, "tea at four")
    assert await _found(bob, "xylophonse") == ([], "")


async def test_no_correction_names_a_word_that_was_purged(ask: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vaults.search.vocabulary.EXACT_UP_TO", -1)
    await _store(ask, *(f"tea number {n}" for n in range(60)))
    (gone,) = await _store(ask, "A marimba plays")
    assert 'searched: "marimba"' in (await _found(ask, "marimbba"))[1]
    await ask("memory_forget", ids=[gone], purge=True)
    assert await _found(ask, "marimbba") == ([], "")


async def test_the_nearest_word_anybody_may_read_stands_in_for_a_private_one(ask: Asking) -> None:
    await _store(ask, "the harbours", visibility="private")
    await _store(ask, "the arbour and the harbor")
    titles, said = await _found(ask, "harbbour")
    assert titles == ["the arbour and the harbor"]
    assert 'searched: "harbor"' in said
