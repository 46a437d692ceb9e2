"""What is a word is no slip, however near a word of the vault is; what is one is said in whole words."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from server.services import Services
from tests.conftest import Asking, asker
from vaults.index.stemming import stem_as_indexed
from vaults.search import languages
from vaults.search.vocabulary import Vocabulary
from vaults.vault import Vault

ENGLISH = """
lose loose loser meet metal form from than then their there where were wear quite quiet quit advice advise affect effect
accept except plane plain peace piece weather whether desert dessert lead load road read ready reading lesson listen
later latter letter better butter matter mother bother brother other either neither rather gather father further
number lumber thunder wonder wander winter writer waiter water later cater table cable stable staple simple sample
sample trample temple people purple couple double trouble bubble bottle battle cattle castle little settle kettle
handle candle bundle single jungle jingle mingle angle ankle uncle circle cycle recycle article particle vehicle
house horse mouse cause pause phase phrase praise raise rise wise wide side site size prize price prince since sense
dense tense tease lease least beast breast bread broad board beard heard heart earth worth north forth fourth forty
meeting greeting setting sitting getting letting betting cutting putting running winning planning burning turning
earning learning leaning cleaning meaning moaning morning warning evening opening happening listening lightning
"""

GERMAN = """
meine deine seine keine eine einer einem einen meinen deinen keinen wenn wann denn dann kann wird wurde wollte sollte
konnte musste hatte haben geben leben lieben bleiben schreiben treiben reiben heute leute seite zeit weit breit streit
warum darum wieder leider kleider lieder bruder mutter vater wasser besser messer essen lesen wissen wesen gewesen
machen lachen sachen suchen kuchen buchen besuchen versuchen brauchen rauchen tauchen morgen sorgen gestern schwestern
arbeit arbeiten arbeitet gearbeitet fragen sagen tragen klagen schlagen frage sage schule schulen spiel spielen gespielt
kaufen laufen verkaufen gekauft haus maus raus aus hand land sand wand band stadt statt karte warte garten warten
nicht licht sicht gesicht gericht richtig wichtig wirklich endlich deutlich natuerlich freund freunde freundin
"""

FOREIGN = (
    "où est la carte pour aller chez nous",
    "dónde está la casta para todos",
    "quando arriva il treno per favore",
    "waar staat het boek dat wij lezen",
    "quanto custa uma passagem para você",
)

SLIPS = {
    "harbuor": "harbour", "configuraton": "configuration", "databse": "database", "deploymnet": "deployment",
    "kuberentes": "Kubernetes", "langauge": "language", "memroy": "memory", "proccess": "process", "recieve": "receive",
    "retreival": "retrieval", "authentification": "authentication", "shcedule": "schedule", "migratoin": "migration",
}  # fmt: skip


@pytest.fixture
async def vault(services: Services) -> AsyncIterator[Vault]:
    async with services.pool.lease(services.registry_cache.entry("main")) as held:
        yield held


def _near(word: str) -> list[str]:
    """Letters that are no word, one slip away."""
    middle = len(word) // 2
    made = (word[:middle] + "x" + word[middle:], word[:middle] + "q" + word[middle + 1 :])
    return [each for each in made if stem_as_indexed(each) != stem_as_indexed(word)]


async def _hold(services: Services, *texts: str) -> Asking:
    ask = asker(services)
    for text in texts:
        assert (await ask("remember", content=text)).ok
    return ask


@pytest.mark.parametrize("words", [ENGLISH.split(), GERMAN.split()], ids=["english", "german"])
async def test_a_common_word_is_never_taken_for_a_near_one(services: Services, vault: Vault, words: list[str]) -> None:
    near = [each for word in words for each in _near(word)]
    ask = await _hold(services, " ".join(near))
    looked = await vault.db.read(lambda tx: Vocabulary().look(tx, words, correct=True))
    assert {word: found.meant for word, found in looked.items() if found.meant} == {}
    # They are near enough: letters that are no word are taken for one of them.
    slip = f"{near[0][:-1]}z"
    assert (await vault.db.read(lambda tx: Vocabulary().look(tx, [slip], correct=True)))[slip].meant
    for asked in (f"where is the {words[0]}", words[1], " ".join(words[:12])):
        assert (await ask("recall", query=asked, mode="keyword")).content.get("warnings", []) == [], asked


async def test_words_that_went_wrong_before_are_left_alone(services: Services) -> None:
    ask = await _hold(services, "lost and found: a metin, the closet of the losers", "we lost it")
    for asked in ("lose", "what did we lose", "meine", "wo ist meine Karte"):
        assert (await ask("recall", query=asked, mode="keyword")).content.get("warnings", []) == [], asked


@pytest.mark.parametrize("question", FOREIGN)
async def test_a_question_in_another_language_is_left_alone(services: Services, question: str) -> None:
    words = [word for word in question.split() if word.isascii() and len(word) > 3]
    ask = await _hold(services, " ".join(f"{word[:-2]}x{word[-1]} {word}x" for word in words))
    assert (await ask("recall", query=question, mode="keyword")).content.get("warnings", []) == []


async def test_slips_are_mended_and_said_in_whole_words(services: Services) -> None:
    ask = await _hold(services, *(f"about {meant} and its {meant.lower()}ness" for meant in SLIPS.values()))
    for typed, meant in SLIPS.items():
        found = (await ask("recall", query=typed, mode="keyword")).content
        assert found["warnings"] == [f'taken for a slip: "{typed}" (searched: "{meant}")'], json.dumps(found)
        assert found["hits"][0]["content"].startswith(f"about {meant}")


async def test_what_the_caller_keeps_private_is_a_word(services: Services) -> None:
    ask = await _hold(services, "the harbours of the north")
    await ask("remember", content="harbuors is what my cat is called", visibility="private")
    assert (await ask("recall", query="harbuors", mode="keyword")).content.get("warnings", []) == []


def test_forms_of_common_words_are_common() -> None:
    assert all(map(languages.is_common, ("losing", "meetings", "gearbeitet", "fragte", "wohnungen", "schoenes")))
    assert not any(map(languages.is_common, (*SLIPS, "xylophonse", "prohects", "quotta", "marimbba")))
