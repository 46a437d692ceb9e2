"""Words are found in any of their forms, in the languages a vault is written in, and English is left as it was.

Covers vaults.search.foreign_words, vaults.search.inflections, vaults.search.languages.grammar,
vaults.search.vault_languages, vaults.search.word_groups.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auth.grants import set_grant
from auth.principal import LOCAL
from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, asker, local
from tests.work import examples
from vaults.db.sql import Reader
from vaults.index.shelves import MAIN
from vaults.index.stemming import stem_as_indexed
from vaults.index.text_index import TextIndex
from vaults.search import foreign_words, inflections
from vaults.search.foreign_words import ENGLISH_ONLY, ForeignReading, read_foreign
from vaults.search.languages import grammar
from vaults.search.query import MAX_TERMS, parse_query
from vaults.search.vault_languages import LANGUAGES
from vaults.search.vocabulary import Vocabulary
from vaults.search.word_forms import fold
from vaults.search.word_groups import merge_overlapping, weigh_as_one
from vaults.vault import Vault

HELD = {
    "german": "Eine Sicherung der Datenbank läuft nachts und wird nicht auf dem Server abgelegt. Das Haus ist mit den"
    " Schlüsseln offen.",
    "french": "La sauvegarde est faite dans la nuit et les journaux sont gardés pour le serveur, une base"
    " qui est chiffrée.",
    "spanish": "La copia está en los discos y la configuración del servidor se revisa cada noche por las reglas.",
    "italian": "La riunione della squadra è nella sala grande e gli appunti sono per il progetto, che"
    " non è una novità.",
    "dutch": "De instelling van het systeem wordt niet bewaard en de gebruiker is een beheerder voor dat bestand.",
    "swedish": "Inställningen är sparad och det är inte något som användaren ändrar på servern av sig själv.",
    "russian": "Резервная копия базы хранится на сервере и не удаляется в течение года для проверки.",
}


@pytest.fixture
async def vault(services: Services) -> AsyncIterator[Vault]:
    async with services.pool.lease(services.registry_cache.entry("main")) as held:
        yield held


async def _hold(services: Services, *texts: str) -> Asking:
    ask = asker(services)
    for text in texts:
        assert (await ask("remember", content=text)).ok
    return ask


async def _find(ask: Asking, query: str, **more: Any) -> dict[str, Any]:
    found = await ask("search", query=query, mode="keyword", **more)
    assert found.ok
    return dict(found.content)


@pytest.mark.parametrize(
    ("language", "query", "marked"),
    [
        ("german", "Sicherungen", "Sicherung"),
        ("german", "Wo liegen die Sicherungen?", "Sicherung"),
        ("german", "Häuser", "Haus"),
        ("german", "in welchen Datenbanken", "Datenbank"),
        ("german", "Welcher Schluessel?", "Schlüsseln"),
        ("german", "Schlüssel", "Schlüsseln"),
        ("french", "les sauvegardes", "sauvegarde"),
        ("french", "sauvegardées", "sauvegarde"),
        ("french", "le journal chiffré", "chiffrée"),
        ("spanish", "¿Dónde están las configuraciones?", "configuración"),
        ("spanish", "configuraciones", "configuración"),
        ("italian", "le riunioni", "riunione"),
        ("dutch", "instellingen", "instelling"),
        ("dutch", "waar zijn de gebruikers", "gebruiker"),
        ("swedish", "inställningar", "Inställningen"),
        ("russian", "резервные копии", "Резервная"),
        ("russian", "где базы", "базы"),
    ],
)
async def test_a_word_is_found_in_another_form(services: Services, language: str, query: str, marked: str) -> None:
    ask = await _hold(services, HELD[language], "The lease of the office ends in June.")
    found = (await _find(ask, query))["hits"]
    assert [hit["text"] for hit in found] == [HELD[language]]
    assert marked in found[0]["highlights"]


async def test_an_english_question_is_left_alone_in_a_vault_of_many_languages(
    services: Services, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = await _hold(
        services, *HELD.values(), "The backup of the server runs at night.", "Servers are set up by hand."
    )
    questions = ("Where is the backup of the server?", "When do servers run?", "server backup", "hands of the night")
    found = [await _find(ask, each) for each in questions]
    monkeypatch.setattr(foreign_words, "read_foreign", lambda *_: ENGLISH_ONLY)
    vault.rankings.clear()
    assert [await _find(ask, each) for each in questions] == found


async def test_a_vault_that_is_in_english_answers_as_before(
    services: Services, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = await _hold(
        services, "The Sicherung plan of Los Angeles.", "A server die is cut.", "Die servers and backups."
    )
    questions = ("Wo ist die Sicherung des Servers?", "Sicherungen", "los servidores", "die server", "backups")
    found = [await _find(ask, each) for each in questions]
    monkeypatch.setattr(foreign_words, "read_foreign", lambda *_: ENGLISH_ONLY)
    vault.rankings.clear()
    assert [await _find(ask, each) for each in questions] == found


def test_an_english_question_reads_nothing() -> None:
    nothing = cast(Reader, None)
    assert read_foreign(Vocabulary(), nothing, parse_query("how is the server backed up"), "me") is ENGLISH_ONLY


async def test_words_of_grammar_alone_are_still_searched_for(services: Services) -> None:
    ask = await _hold(services, HELD["german"], "The lease of the office ends in June.")
    assert [hit["text"] for hit in (await _find(ask, "das ist der"))["hits"]] == [HELD["german"]]


async def test_words_of_grammar_find_nothing_beside_others(services: Services) -> None:
    ask = await _hold(services, HELD["german"], "Das ist der Plan und er ist nicht auf dem Tisch.")
    assert [hit["text"] for hit in (await _find(ask, "Wo ist das mit der Sicherung"))["hits"]] == [HELD["german"]]


@pytest.mark.parametrize(
    ("language", "slip", "meant"),
    [
        ("french", "où est la sauvegrade", "sauvegarde"),
        ("spanish", "¿dónde está la confguración?", "configuración"),
        ("russian", "где резрвная копия", "Резервная"),
        ("german", "wo sind die Schhlüsseln", "Schlüsseln"),
    ],
)
async def test_a_slip_is_forgiven_in_the_language_of_the_question(
    services: Services, language: str, slip: str, meant: str
) -> None:
    ask = await _hold(services, HELD[language], "The lease of the office ends in June.")
    found = await _find(ask, slip)
    assert [hit["text"] for hit in found["hits"]] == [HELD[language]]
    assert any(f'searched: "{meant}"' in warning for warning in found["warnings"])


@pytest.mark.parametrize(
    ("language", "question"),
    [("french", "qui est la serveuse"), ("spanish", "¿dónde está la copla?"), ("italian", "dove sono gli appalti?")],
)
async def test_a_word_of_another_language_that_is_near_is_no_slip(
    services: Services, language: str, question: str
) -> None:
    ask = await _hold(services, HELD[language])
    assert "warnings" not in await _find(ask, question)


async def test_private_text_is_found_in_other_forms_by_its_owner_alone(services: Services) -> None:
    ask = await _hold(services, "The lease of the office ends in June.")
    assert (await ask("remember", content=HELD["german"], visibility="private")).ok
    assert [hit["text"] for hit in (await _find(ask, "Wo sind die Sicherungen?"))["hits"]] == [HELD["german"]]
    await services.access_cache.write(lambda tx: set_grant(tx, "bob", LOCAL, "main", Role.WRITER))
    bob = asker(services, Caller(local("bob"), "main", Role.WRITER, "http"))
    assert (await _find(bob, "Wo sind die Sicherungen?"))["hits"] == []


async def test_a_document_is_found_in_other_forms(services: Services) -> None:
    ask = await _hold(services, "The lease of the office ends in June.")
    assert (await ask("ingest", content=HELD["german"], uri="https://example.org/plan")).ok
    found = (await _find(ask, "Wo sind die Sicherungen?"))["hits"]
    assert [hit["highlights"] for hit in found] == [["Sicherung"]]


def test_words_of_grammar_tell_the_language() -> None:
    told = {
        text: grammar.tell_language(grammar.weigh_languages(text.split()), ("german", "french", "dutch"))
        for text in ("wo ist der schlüssel", "où est la clé", "waar is de sleutel", "where is the key", "schlüssel")
    }
    assert list(told.values()) == ["german", "french", "dutch", "english", None]


@pytest.mark.parametrize(
    ("language", "word", "other"),
    [
        ("german", "Sicherungen", "Sicherung"),
        ("german", "Straße", "Strassen"),
        ("german", "Konfigurationen", "Konfiguration"),
        ("french", "sauvegardée", "sauvegardes"),
        ("spanish", "configuracion", "configuraciones"),
        ("italian", "velocità", "velocemente"),
        ("portuguese", "configurações", "configuração"),
        ("dutch", "instellingen", "instelling"),
        ("swedish", "säkerhetskopior", "säkerhetskopia"),
        ("russian", "сервера", "серверами"),
        ("polish", "dysków", "dysk"),
    ],
)
def test_forms_are_recognised_by_the_stem_the_index_keeps(language: str, word: str, other: str) -> None:
    stem = stem_as_indexed(fold(other))
    assert stem.startswith(inflections.first_letters(word, language))
    found = inflections.find_forms(word, language, [stem, "unrelated", stem[:2]])
    assert [stem_as_indexed(form) for forms in found for form in forms[:1]] == [stem]


@settings(max_examples=examples(60), deadline=None)
@given(st.text(max_size=30), st.sampled_from(sorted(LANGUAGES)), st.lists(st.text(max_size=12), max_size=6))
def test_any_word_has_forms_among_the_stems_or_none(word: str, language: str, stems: list[str]) -> None:
    assert all(len(letters) >= inflections.MIN_LETTERS for letters in inflections.first_letters(word, language))
    found = inflections.find_forms(word, language, stems)
    assert {stem_as_indexed(form) for forms in found for form in forms} <= set(stems)


def test_groups_with_a_word_in_common_are_one() -> None:
    merged = merge_overlapping([("datei", "dateien"), ("haus",), ("dateien", "datei", "dateis")])
    assert merged == [("haus",), ("datei", "dateien", "dateis")]


async def test_forms_of_a_word_weigh_as_one(vault: Vault, services: Services) -> None:
    await _hold(services, *("Hafen und Hafens, Brücke" for _ in range(1)), "Hafen, Hafens", "Brücke", *"abcdef")
    index = TextIndex.of_words(MAIN, (2.0, 1.0, 0.5, 0.4, 0.4))

    def read(tx: Reader) -> None:
        score = index.score(index.shared)
        wanted = {"match": '"hafen" OR "hafens" OR "brucke"'}
        rows = tx.all(f"SELECT rowid, -{score} FROM {index.shared} WHERE {index.shared} MATCH :match", wanted)
        scores = {int(row[0]): float(row[1]) for row in rows}
        assert weigh_as_one(tx, index, scores, [["hafen"], ["brucke"]]) == pytest.approx(scores)
        both = weigh_as_one(tx, index, scores, [["hafen", "hafens"]])
        assert all(both[each] <= scores[each] + 1e-9 for each in scores)
        assert both != pytest.approx(scores)

    await vault.db.read(read)


def test_only_words_that_are_searched_for_are_weighed_as_one() -> None:
    query = parse_query(" ".join(f"wort{number}" for number in range(MAX_TERMS - 1)))
    reading = ForeignReading(None, {"wort0": (("worte0",), ("worten0",)), "wort1": (("worte1",),)})
    read = reading.add_to(query)
    assert len(read.terms) == MAX_TERMS
    assert {word for group in read.groups for word in group} <= set(read.terms)
