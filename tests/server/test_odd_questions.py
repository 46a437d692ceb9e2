"""Questions nobody should ask, of vaults with next to nothing in them: an answer in both forms, never a failure."""

from __future__ import annotations

from typing import Any

import pytest

from server.services import Services
from tests.conftest import asker
from tests.noted import settled

QUESTIONS = {
    "long": "where does the ferry land and who says so? " * 225,
    "one word, long": "ferry" * 2_000,
    "German": "Wo legt die Fähre an?",
    "Russian": "где причаливает паром?",
    "Japanese": "フェリーはどこに着きますか",
    "Arabic": "أين ترسو العبارة؟",
    "stop words": "what is it that they have been and will be",
    "a letter": "f",
    "numbers": "3 1 4 1 5 9 2 6",
    "a number": "40",
    "marks": "?! … -- *",
    "pictures": "\N{SHIP} \N{ANCHOR}",
}
MODES = ("hybrid", "keyword", "semantic")

FEW: dict[str, tuple[dict[str, Any], ...]] = {
    "nothing": (),
    "one item": ({"content": "The ferry lands at pier 40"},),
    "equal items": tuple(
        {"content": "The ferry lands at pier 40", "on_duplicate": "store", "thread": f"t{n}"} for n in range(12)
    ),
    "a word each": tuple({"content": word} for word in ("ferry", "f", "40", "причал", "フェリー")),
}


@pytest.mark.parametrize("held", FEW.values(), ids=FEW.keys())
async def test_any_question_is_answered_with_what_there_is(
    services: Services, held: tuple[dict[str, Any], ...]
) -> None:
    ask = asker(services)
    for each in held:
        assert (await ask("remember", **each)).ok, each
    await settled(services)
    for name, question in QUESTIONS.items():
        for mode in MODES:
            answers = [await ask("recall", query=question, mode=mode) for _ in range(2)]
            assert all(answer.ok for answer in answers), (name, mode, answers[0].text)
            one, two = ([(hit["id"], hit["score"]) for hit in answer.content["hits"]] for answer in answers)
            assert one == two, (name, mode)
            assert all(0 <= score <= 1 for _, score in one), (name, mode)
            assert len({hit for hit, _ in one}) == len(one) <= len(held), (name, mode)
            for hit in answers[0].content["hits"]:
                assert hit["content"] in answers[0].text, (name, mode)
