"""A cross-encoder behind the tools: real files, real library, and what happens when they are broken."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from server.services import Services
from tests.conftest import Opening, asker
from tests.vaults.embed import tiny_cross
from vaults.embed.cross_encoder_backend import CrossEncoderOptions
from vaults.embed.cross_encoder_model import load_cross_encoder
from vaults.embed.models_extra import RERANK_EXTRA
from vaults.search.rerank_blend import blend

QUERY = "the cat on the mat"
TEXTS = [
    f"a {who} {did} {where}"
    for who in ("cat", "red cat", "dog")
    for did, where in (
        ("sat", "on the mat"),
        ("ran", "far away"),
        ("sat", "in the blue house"),
        ("ran", "on the red mat"),
    )
]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_cross.build(tmp_path_factory.mktemp("rerank") / "tiny-cross")


async def _fill(services: Services) -> None:
    for number, text in enumerate(TEXTS):
        assert (await asker(services)("remember", title=f"house {number}", content=text)).ok


async def _found(services: Services, tool: str = "recall", **arguments: Any) -> list[dict[str, Any]]:
    answer = await asker(services)(tool, query=QUERY, limit=50, max_tokens=50_000, **arguments)
    assert answer.ok, answer.text
    return list(answer.content["hits"])


async def _considered(services: Services) -> list[dict[str, Any]]:
    """The candidates by what orders them: a hit's score says how likely it is an answer, whatever its place."""
    return list((await asker(services)("explain", query=QUERY, limit=50, max_tokens=50_000)).content["candidates"])


def _titles(hits: list[dict[str, Any]]) -> list[str]:
    return [hit["title"] for hit in hits]


async def test_a_model_that_is_set_up_reorders_what_recall_finds_by_its_own_scores(
    opening: Opening, tiny: Path
) -> None:
    async with opening() as services:
        await _fill(services)
        plain, before = await _found(services), await _considered(services)
    async with opening({"rerank.model": str(tiny)}) as services:
        reranked, after = await _found(services), await _considered(services)
    assert sorted(_titles(reranked)) == sorted(_titles(plain))
    assert _titles(reranked) != _titles(plain)
    model = load_cross_encoder(CrossEncoderOptions(str(tiny), "cpu", 1, 512, 60, 0))
    contents = {hit["title"]: hit["content"] for hit in plain}
    titles = _titles(before)
    opinions = dict(enumerate(model.score(QUERY, [f"{title}\n{contents[title]}" for title in titles])))
    said = {candidate["title"]: candidate["rerank"] for candidate in after}
    assert [said[title] for title in titles] == pytest.approx(list(opinions.values()), abs=1e-3)
    expected = blend([(place, candidate["score"]) for place, candidate in enumerate(before)], opinions)
    scores = {candidate["title"]: candidate["score"] for candidate in after}
    assert scores == pytest.approx({titles[place]: score for place, score in expected}, abs=1e-3)
    assert list(scores.values()) == sorted(scores.values(), reverse=True)


async def test_the_same_question_is_answered_in_the_same_order_by_another_process(opening: Opening, tiny: Path) -> None:
    orders = []
    for _ in range(2):
        async with opening({"rerank.model": str(tiny)}) as services:
            if not orders:
                await _fill(services)
            orders += [_titles(await _found(services)), _titles(await _found(services))]
    assert orders == [orders[0]] * 4


async def test_only_the_head_is_shown_to_the_model(opening: Opening, tiny: Path) -> None:
    async with opening({"rerank.model": str(tiny), "rerank.head": 4}) as services:
        await _fill(services)
        asked, plain = await _found(services, "search"), await _found(services, "search", rerank="off")
    assert [hit["title"] for hit in asked if "rerank" in hit["signals"]] == _titles(asked[:4])
    assert sorted(_titles(asked[:4])) == sorted(_titles(plain[:4]))
    assert _titles(asked[4:]) == _titles(plain[4:])


async def test_a_caller_may_do_without(opening: Opening, tiny: Path) -> None:
    async with opening() as services:
        await _fill(services)
        plain = await _found(services, "search")
    async with opening({"rerank.model": str(tiny)}) as services:
        off, on = await _found(services, "search", rerank="off"), await _found(services, "search", rerank="on")
    assert _titles(off) == _titles(plain)
    assert not any("rerank" in hit["signals"] for hit in off)
    assert all("rerank" in hit["signals"] for hit in on)
    assert _titles(on) != _titles(off)


async def test_a_broken_model_costs_its_opinion_and_says_so(opening: Opening, tiny: Path, tmp_path: Path) -> None:
    async with opening() as services:
        await _fill(services)
        plain = _titles(await _found(services))
    broken = tmp_path / "broken"
    shutil.copytree(tiny, broken)
    (broken / "model.safetensors").write_bytes(b"no weights")
    for folder in (broken, tmp_path / "absent"):
        async with opening({"rerank.model": str(folder)}) as services:
            answer = await asker(services)("recall", query=QUERY, limit=50, max_tokens=50_000)
            found = await asker(services)("search", query=QUERY, limit=50, max_tokens=50_000)
        assert _titles(answer.content["hits"]) == plain
        assert [warning for warning in answer.content["warnings"] if warning.startswith("not reranked: ")]
        assert not any("rerank" in hit["signals"] for hit in found.content["hits"])


async def test_a_search_names_the_extra_that_a_model_lacks(
    opening: Opening, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("onnx", "torch", "sentence_transformers", "transformers"):
        monkeypatch.setitem(sys.modules, library, None)
    async with opening({"rerank.model": str(tiny)}) as services:
        await _fill(services)
        answer = await asker(services)("recall", query=QUERY)
    (warning,) = (each for each in answer.content["warnings"] if each.startswith("not reranked: "))
    assert RERANK_EXTRA in warning
    assert RERANK_EXTRA in answer.text
    assert answer.content["hits"]


async def test_explain_shows_what_the_model_thinks(opening: Opening, tiny: Path) -> None:
    async with opening({"rerank.model": str(tiny)}) as services:
        await _fill(services)
        said = (await asker(services)("explain", query=QUERY)).content
    assert all(0 < candidate["rerank"] < 1 for candidate in said["candidates"])
    assert "rerank" in said["timings_ms"]
