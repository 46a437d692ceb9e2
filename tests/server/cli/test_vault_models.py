"""Models of vaults at the command line: changed, shown, recommended, refused.

Covers server.cli.model_recommendation, vaults.domain.insights.model_comparison.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from server.cli.model_recommendation import show
from tests.embedding_servers import embedding_server
from tests.fakes import HashEmbedder
from tests.server.cli.command import Strongroom
from vaults.domain.insights.judged_sample import JudgedSample
from vaults.domain.insights.model_comparison import ModelComparison, TriedModel, find_better
from vaults.embed.model_trial import JudgedTexts, ModelTrial, Quality

BUNDLED = "all-MiniLM-L6-v2"
ON = {"STRONGROOM_EMBEDDING__ENGINE": "auto"}


def test_a_vault_is_told_to_change_its_model_and_back(strongroom: Strongroom) -> None:
    other = {**ON, "STRONGROOM_EMBEDDING__MODEL": "/another/model"}
    strongroom("vault", "create", "one")
    said = strongroom("vault", "update", "one", "--model", BUNDLED, **other)
    assert (said.code, said.err) == (0, "")
    assert f"embeds it with {BUNDLED}; until that is done, the server's model answers" in said.out
    shown = strongroom("vault", "info", "one", "--json", **other).json
    assert shown["embedding"]["change"]["to"] == BUNDLED
    assert f"changing to {BUNDLED}: 0 of 0 passages" in strongroom("vault", "info", "one", **other).out
    assert strongroom("vault", "update", "one", "--model", "default", **other).out.endswith("the server's model\n")
    assert strongroom("vault", "info", "one", "--json", **other).json["embedding"]["change"] is None


def test_a_model_that_is_not_here_is_refused_with_what_would_help(strongroom: Strongroom) -> None:
    strongroom("vault", "create", "one")
    for name, words in (("/no/such", "is not on this machine"), ("endpoint:x", "embedding.endpoint, which is not set")):
        refused = strongroom("vault", "update", "one", "--model", name, **ON)
        assert refused.code != 0
        assert words in refused.err
    assert "embedding.engine" in strongroom("vault", "update", "one", "--model", BUNDLED).err  # it is off


@pytest.mark.e2e
async def test_models_of_this_machine_are_tried_side_by_side(strongroom: Strongroom) -> None:
    async with embedding_server(model=HashEmbedder(16)) as server:
        settings = {
            "STRONGROOM_EMBEDDING__ENGINE": "endpoint",
            "STRONGROOM_EMBEDDING__ENDPOINT": server.url(),
            "STRONGROOM_EMBEDDING__MODEL": "small",
        }

        async def run(*args: str) -> Any:
            return await asyncio.to_thread(strongroom, *args, **settings)

        await run("vault", "create", "main")
        memory = {"title": "The tide table", "content": "When the sea is high, ships enter; at low water they wait."}
        stored = await run("call", "remember", json.dumps(memory), "--vault", "main")
        assert stored.code == 0, stored.out + stored.err
        found = (await run("model", "recommend", "--json")).json
    by_name = {each["model"]: each for each in found["models"]}
    assert (by_name["default"]["width"], by_name["default"]["serves"]) == (16, True)
    assert (by_name[BUNDLED]["width"], by_name[BUNDLED]["serves"]) == (384, False)
    assert by_name[BUNDLED]["quality"] == {"questions": 1, "recall_at_1": 1.0, "recall_at_10": 1.0, "mrr": 1.0}
    assert by_name[BUNDLED]["memory_mib"] > by_name["default"]["memory_mib"]
    assert (found["titles"], found["too_few"], found["command"]) == (1, True, None)


def test_a_table_shows_what_was_measured_and_the_command_that_would_change_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    trial = ModelTrial(384, "onnx", 0.2, 90.0, 9.5, 110.0, Quality(30, 0.5, 0.9, 0.6))
    better = replace(trial, quality=Quality(30, 0.8, 1.0, 0.9))
    sample = JudgedSample(JudgedTexts(("a",), (0,), (("q", 0),) * 30), titles=30, sentences=0)
    tried = [
        TriedModel("default", "default (small)", serves=True, trial=trial),
        TriedModel("/models/my own", "my own", serves=False, trial=better),
        TriedModel("endpoint:x", "endpoint:x", serves=False, trial="the endpoint cannot be reached"),
    ]
    show(ModelComparison(sample, tried, find_better(sample, tried)), "one")
    out = capsys.readouterr().out
    assert [line.split() for line in out.splitlines()[:3]] == [
        ["MODEL", "WIDTH", "R@1", "R@10", "MRR", "TEXTS/S", "QUERY", "MS", "MIB"],
        ["default", "(small)", "384", "0.5", "0.9", "0.6", "90.0", "9.5", "110.0", "serves", "now"],
        ["my", "own", "384", "0.8", "1.0", "0.9", "90.0", "9.5", "110.0"],
    ]
    assert "the endpoint cannot be reached" in out
    assert "strongroom vault update one --model '/models/my own'" in out
    few = replace(sample, titles=19)
    assert find_better(few, tried) is None
    show(ModelComparison(few, tried, None), "one")
    assert "19 titles that can be asked for: too few to judge by" in capsys.readouterr().out
