"""A real cross-encoder, tiny and of random weights, through ONNX Runtime and through sentence-transformers.

Covers vaults.embed.bundled, vaults.embed.cross_encoder_backend, vaults.embed.cross_encoder_model,
vaults.embed.cross_encoder_torch.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.vaults.embed import tiny_cross
from tests.vaults.embed.tiny_cross import TOKENS
from vaults.embed import bundled
from vaults.embed.cross_encoder import CrossEncoderService
from vaults.embed.cross_encoder_backend import CrossEncoderOptions
from vaults.embed.cross_encoder_model import load_cross_encoder
from vaults.errors import EmbeddingUnavailable

OPTIONS = CrossEncoderOptions(model=None, device="cpu", threads=1, max_tokens=512, timeout_s=60, cache=100)
TEXTS = ["a dog sat on the mat", "cat", "", "the red house " * 30, "東京 🙂", "a blue cat ran far away"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_cross.build(tmp_path_factory.mktemp("cross") / "tiny-cross")


@pytest.fixture(scope="module", params=["OnnxCrossEncoder", "TorchCrossEncoder"])
def served(request: pytest.FixtureRequest, tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model for either engine: ONNX Runtime cannot make do with the vocabulary alone."""
    folder = tiny
    if request.param == "TorchCrossEncoder":
        folder = tmp_path_factory.mktemp("cross") / "tiny-torch"
        shutil.copytree(tiny, folder)
        (folder / "tokenizer.json").unlink()
    assert type(load_cross_encoder(options(folder))).__name__ == request.param
    return folder


def options(folder: Path | str, **changes: Any) -> CrossEncoderOptions:
    return dataclasses.replace(OPTIONS, model=str(folder), **changes)


def copied(tiny: Path, place: Path, **config: Any) -> Path:
    """The same weights with other words in ``config.json``; None removes one."""
    folder = place / "copy"
    shutil.copytree(tiny, folder)
    found = json.loads((folder / "config.json").read_text()) | config
    (folder / "config.json").write_text(json.dumps({key: value for key, value in found.items() if value is not None}))
    return folder


def by_hand(folder: Path, query: str, texts: Sequence[str]) -> np.ndarray:
    """sigmoid(logit) by transformers alone, pair by pair."""
    import torch
    from transformers import BertForSequenceClassification, BertTokenizer

    tokenizer = BertTokenizer.from_pretrained(folder)
    model = BertForSequenceClassification.from_pretrained(folder).eval()
    found = []
    for text in texts:
        pair = tokenizer([query], [text], truncation="longest_first", max_length=TOKENS, return_tensors="pt")
        with torch.inference_mode():
            found.append(torch.sigmoid(model(**pair).logits[0, 0].double()).item())
    return np.array(found)


@pytest.mark.parametrize("activation", [None, "Identity", "Sigmoid", "Tanh"])
def test_a_score_is_one_sigmoid_of_the_models_logit_whatever_its_files_say(
    served: Path, tiny: Path, tmp_path: Path, activation: str | None
) -> None:
    more = {"sentence_transformers": {"activation_fn": f"torch.nn.modules.activation.{activation}"}}
    if activation == "Identity":
        more = {"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"}  # as old models say it
    folder = copied(served, tmp_path, **(more if activation else {}))
    scores = load_cross_encoder(options(folder)).score("the cat", TEXTS)
    np.testing.assert_allclose(scores, by_hand(tiny, "the cat", TEXTS), atol=1e-5)
    assert max(scores) - min(scores) > 0.1


def test_a_score_does_not_depend_on_the_other_texts(served: Path) -> None:
    model = load_cross_encoder(options(served))
    alone = [model.score("the cat", [text])[0] for text in TEXTS]
    np.testing.assert_allclose(model.score("the cat", TEXTS), alone, atol=1e-5)


def test_no_more_is_read_than_the_model_can_and_the_setting_allows(served: Path) -> None:
    wide, narrow = load_cross_encoder(options(served)), load_cross_encoder(options(served, max_tokens=16))
    start = "the cat sat on the mat "
    assert wide.score("a dog", [start * 100]) == pytest.approx(wide.score("a dog", [start * 9]), abs=1e-6)
    assert narrow.score("a dog", [start * 9]) == pytest.approx(narrow.score("a dog", [start * 3]), abs=1e-6)
    assert wide.score("a dog", [start * 9]) != pytest.approx(wide.score("a dog", [start * 3]), abs=1e-4)
    assert len(wide.score("q " * 10_000, [start * 10_000])) == 1


def test_texts_no_tokenizer_takes_get_a_score(served: Path) -> None:
    scores = load_cross_encoder(options(served)).score("lone \ud800 surrogate", ["lone \udfff surrogate", "\x00", ""])
    assert all(0 < score < 1 for score in scores)


async def test_the_service_loads_on_first_need_names_the_model_and_keeps_scores(tiny: Path) -> None:
    service = CrossEncoderService(options(tiny))
    assert (service.configured, service.identity, service.state().status) == (True, None, "cold")
    first = await service.score("the cat", TEXTS)
    np.testing.assert_allclose(first, by_hand(tiny, "the cat", TEXTS), atol=1e-5)
    assert (service.identity or "").startswith("tiny-cross@")
    assert service.state().status == "ready"
    await service.close()
    assert await service.score("the cat", TEXTS[::-1]) == first[::-1]


async def refused(model: Path | str) -> str:
    service = CrossEncoderService(options(model))
    with pytest.raises(EmbeddingUnavailable) as told:
        await service.score("the cat", ["a dog"])
    await service.close()
    return told.value.message


async def test_an_absent_model_is_named_and_not_fetched(tmp_path: Path) -> None:
    message = "Reranking is unavailable: The reranking model {} is not on this machine."
    for model in ("no-such-model", "nobody/no-such-model", str(tmp_path / "absent")):
        assert await refused(model) == message.format(model)


async def test_a_model_that_is_no_cross_encoder_is_refused_not_given_random_weights(tiny: Path, tmp_path: Path) -> None:
    embedding = bundled.bundled_folder()
    assert embedding
    assert "is not a cross-encoder" in await refused(embedding)
    assert "is not a cross-encoder" in await refused(copied(tiny, tmp_path, architectures=["BertModel"]))


async def test_a_classifier_of_several_classes_is_refused(tiny: Path, tmp_path: Path) -> None:
    from transformers import BertConfig, BertForSequenceClassification

    folder = copied(tiny, tmp_path)
    config = BertConfig.from_pretrained(folder)
    config.num_labels = 3
    BertForSequenceClassification(config).save_pretrained(folder)
    assert "gives classes, not a score" in await refused(folder)


async def test_broken_files_are_reported_without_their_path(tiny: Path, tmp_path: Path) -> None:
    folder = copied(tiny, tmp_path)
    for broken in (b"broken", b"\xff" * 4096, b"\x02" + bytes(7) + b"[]", b""):
        (folder / "model.safetensors").write_bytes(broken)
        assert "The files of the model copy cannot be read" in await refused(folder)
    (folder / "model.safetensors").unlink()
    assert "holds no weights" in await refused(folder)


async def test_the_librarys_own_format_is_accepted(tiny: Path, tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder

    CrossEncoder(str(tiny), device="cpu", local_files_only=True).save_pretrained(str(tmp_path / "saved"))
    saved = load_cross_encoder(options(tmp_path / "saved")).score("the cat", TEXTS)
    np.testing.assert_allclose(saved, load_cross_encoder(options(tiny)).score("the cat", TEXTS), atol=1e-6)
