"""A cross-encoder without PyTorch: which folders ONNX Runtime serves, that its scores are the library's, and what is
said of those that it cannot serve.

Covers vaults.embed.cross_encoder_files, vaults.embed.cross_encoder_graph, vaults.embed.graph_nodes,
vaults.embed.onnx_session.
"""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.vaults.embed import tiny_cross
from tests.vaults.embed.test_cross_encoder import TEXTS, copied, options
from vaults.embed import cross_encoder_onnx
from vaults.embed.cross_encoder_backend import Scorer
from vaults.embed.cross_encoder_files import find_onnx_files
from vaults.embed.cross_encoder_model import load_cross_encoder
from vaults.embed.cross_encoder_onnx import OnnxCrossEncoder
from vaults.embed.models_extra import EXTRA, RERANK_EXTRA
from vaults.errors import EmbeddingUnavailable

TORCH = ("torch", "sentence_transformers", "transformers", "huggingface_hub")
LONG = "the red cat sat on the mat in the blue house and the dog ran far away "


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_cross.build(tmp_path_factory.mktemp("onnx") / "tiny-cross")


@pytest.fixture(scope="module")
def library_scores(tiny: Path) -> np.ndarray:
    """As sentence-transformers has it, with one sigmoid."""
    from sentence_transformers import CrossEncoder
    from torch import nn

    model = CrossEncoder(str(tiny), device="cpu", local_files_only=True)
    pairs = [("the cat", text) for text in TEXTS]
    return np.asarray(model.predict(pairs, activation_fn=nn.Sigmoid(), show_progress_bar=False))


@pytest.fixture(scope="module")
def exported(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as people publish it for ONNX Runtime, its graph written by PyTorch; no weights beside it."""
    import torch
    from transformers import BertForSequenceClassification

    folder = tmp_path_factory.mktemp("exported") / "tiny-exported"
    (folder / "onnx").mkdir(parents=True)
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tiny / name, folder)
    model = BertForSequenceClassification.from_pretrained(tiny, attn_implementation="eager").eval()
    names = ["input_ids", "attention_mask", "token_type_ids"]
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the exporter warns that it is the old one, and of what it freezes
        torch.onnx.export(
            model,
            tuple(torch.ones(2, 5, dtype=torch.int64) for _ in names),
            str(folder / "onnx" / "model.onnx"),
            input_names=names,
            output_names=["logits"],
            dynamic_axes={name: {0: "batch", 1: "sequence"} for name in names} | {"logits": {0: "batch"}},
            dynamo=False,
        )
    return folder


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Takes libraries out of reach."""

    def hide(*names: str) -> None:
        for name in names:
            monkeypatch.setitem(sys.modules, name, None)

    return hide


def refused(folder: Path, **more: Any) -> EmbeddingUnavailable:
    with pytest.raises(EmbeddingUnavailable) as told:
        load_cross_encoder(options(folder, **more))
    return told.value


def test_scores_are_those_of_sentence_transformers_and_need_none_of_it(
    tiny: Path, library_scores: np.ndarray, without: Callable[..., None]
) -> None:
    without(*TORCH)
    model = load_cross_encoder(options(tiny))
    np.testing.assert_allclose(model.score("the cat", TEXTS), library_scores, rtol=0, atol=1e-5)
    assert np.ptp(library_scores) > 0.1, "a constant would do"
    assert model.score("the cat", []) == []


def test_a_graph_that_is_published_is_served_without_what_writes_one(
    exported: Path, library_scores: np.ndarray, without: Callable[..., None], tmp_path: Path
) -> None:
    without(*TORCH, "onnx")
    np.testing.assert_allclose(
        load_cross_encoder(options(exported)).score("the cat", TEXTS), library_scores, rtol=0, atol=1e-5
    )
    flat = tmp_path / "flat"
    shutil.copytree(exported, flat)
    (flat / "onnx" / "model.onnx").rename(flat / "model.onnx")
    assert isinstance(load_cross_encoder(options(flat)), OnnxCrossEncoder)


def test_half_a_layer_saved_is_sound_to_the_format_that_defines_it(tiny: Path) -> None:
    import onnx

    files = find_onnx_files("tiny", tiny)
    assert not isinstance(files, str)
    assert not isinstance(files.graph, Path)
    written = cross_encoder_onnx.write_cross_encoder_graph(files.graph.path, files.graph.tensors, files.graph.shape)
    graph = onnx.load_model_from_string(written)
    read = {each.name for each in graph.graph.initializer if each.external_data}
    assert set(files.graph.tensors) == {name if name.startswith("classifier") else f"bert.{name}" for name in read}
    onnx.shape_inference.infer_shapes(graph, strict_mode=True, data_prop=True)


def test_runs_are_bounded_and_hold_pairs_of_one_length(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_cross_encoder(options(tiny))
    shapes: list[list[int]] = []
    scored = OnnxCrossEncoder._run

    def watched(self: OnnxCrossEncoder, pairs: Any) -> Any:
        shapes.append([len(pair.ids) for pair in pairs])
        return scored(self, pairs)

    monkeypatch.setattr(OnnxCrossEncoder, "_run", watched)
    texts = [LONG * (number % 4) for number in range(40)]
    scores = model.score("the cat", texts)
    assert [scores[number] for number in range(4)] == pytest.approx(scores[4:8], abs=1e-6)
    assert all(len(run) * max(run) <= cross_encoder_onnx.TOKENS_PER_RUN for run in shapes)
    lengths = [length for run in shapes for length in run]
    assert lengths == sorted(lengths)
    assert len(shapes) > 1


def test_the_digest_follows_what_the_scores_depend_on(tiny: Path, tmp_path: Path) -> None:
    def digest(folder: Path) -> str:
        return load_cross_encoder(options(folder)).identity.partition("@")[2]

    before = digest(tiny)
    assert digest(copied(tiny, tmp_path)) != before, "another config.json"
    same = tmp_path / "same"
    shutil.copytree(tiny, same)
    (same / "README.md").write_text("words")
    assert digest(same) == before


def test_the_digest_follows_numbers_that_lie_beside_a_graph(tiny: Path, tmp_path: Path) -> None:
    folder = copied(tiny, tmp_path)
    (folder / "onnx").mkdir()
    for name in ("model.onnx", "model.onnx_data"):
        (folder / "onnx" / name).write_bytes(b"numbers")
    files = find_onnx_files("copy", folder)
    assert not isinstance(files, str)
    used = {path.name for path in files.used}
    assert used == {"model.onnx", "model.onnx_data", "tokenizer.json", "config.json", "tokenizer_config.json"}


def test_weights_that_are_links_into_a_cache_are_followed(tiny: Path, tmp_path: Path) -> None:
    folder, blobs = tmp_path / "snapshot", tmp_path / "blobs"
    shutil.copytree(tiny, folder)
    blobs.mkdir()
    shutil.move(folder / "model.safetensors", blobs / "0123abcd")
    (folder / "model.safetensors").symlink_to(blobs / "0123abcd")
    scores = load_cross_encoder(options(folder)).score("the cat", TEXTS)
    assert scores == load_cross_encoder(options(tiny)).score("the cat", TEXTS)


def test_without_what_writes_a_graph_the_small_extra_is_named(tiny: Path, without: Callable[..., None]) -> None:
    without(*TORCH, "onnx")
    told = refused(tiny)
    assert RERANK_EXTRA in told.message
    assert "onnx/model.onnx" in str(told.hint)


def _drop_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def _split_weights(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")


def _add_layer(folder: Path) -> None:
    (folder / "modules.json").write_text(json.dumps([{"type": "Transformer"}, {"type": "Dense"}]))
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"model_type": "CrossEncoder"}))


def _add_prompt(folder: Path) -> None:
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"default_prompt_name": "query"}))


def _halve(folder: Path) -> None:
    from safetensors.numpy import load_file, save_file

    path = folder / "model.safetensors"
    save_file({name: numbers.astype(np.float16) for name, numbers in load_file(path).items()}, path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"architectures": ["ElectraForSequenceClassification"]}, "is no plain BERT"),
        ({"architectures": ["LlamaForCausalLM"]}, "it is no sequence classifier"),
        ({"hidden_act": "relu"}, "is no plain BERT"),
        ({"position_embedding_type": "relative_key"}, "is no plain BERT"),
        (_drop_tokenizer, "it has no tokenizer.json"),
        (_split_weights, "it has neither onnx/model.onnx nor model.safetensors"),
        (_add_layer, "it does more than its transformer"),
        (_add_prompt, "it does more than its transformer"),
        (_halve, "its weights are not in 32 bits"),
    ],
)
def test_what_onnx_runtime_cannot_serve_needs_the_large_extra_and_says_why(
    tiny: Path, tmp_path: Path, without: Callable[..., None], change: Any, reason: str
) -> None:
    folder = copied(tiny, tmp_path, **(change if isinstance(change, dict) else {}))
    if not isinstance(change, dict):
        change(folder)
    without(*TORCH)
    told = refused(folder)
    assert told.message.startswith("The model copy needs sentence-transformers, which is not installed: ")
    assert reason in told.message
    assert EXTRA in told.message, "a warning of a search shows the message alone"


def test_another_device_than_the_processor_is_served_by_sentence_transformers(
    tiny: Path, without: Callable[..., None]
) -> None:
    without(*TORCH)
    assert "it is to run on cuda" in refused(tiny, device="cuda").message


def test_a_config_that_is_not_that_of_the_weights_is_refused(tiny: Path, tmp_path: Path) -> None:
    for number, wrong in enumerate(
        ({"num_hidden_layers": 3}, {"hidden_size": "wide"}, {"num_attention_heads": 0}, {"num_hidden_layers": 0})
    ):
        told = refused(copied(tiny, tmp_path / str(number), **wrong))
        assert "of the model copy" in told.message, wrong


def _graph_of(folder: Path, inputs: list[str], result: str, width: int) -> Path:
    """A graph that gives ``width`` zeros for each text, whatever it says."""
    from onnx import TensorProto, helper

    place = folder / "onnx" / "model.onnx"
    place.parent.mkdir(exist_ok=True)
    told = [helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "s"]) for name in inputs]
    nodes = [
        helper.make_node("Cast", inputs[:1], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["numbers"], ["mean"], axes=[1], keepdims=1),
        helper.make_node("Concat", ["mean"] * width, [result], axis=1),
    ]
    gives = [helper.make_tensor_value_info(result, TensorProto.FLOAT, ["b", width])]
    opset = [helper.make_opsetid("", 17)]
    graph = helper.make_graph(nodes, "g", told, gives)
    place.write_bytes(helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString())
    return folder


@pytest.mark.parametrize(
    ("inputs", "result", "width", "reason"),
    [
        (["input_ids"], "logits", 3, "gives classes, not a score"),
        (["input_ids", "position_ids"], "logits", 1, "is not that of a cross-encoder"),
        (["input_ids", "attention_mask"], "last_hidden_state", 1, "is not that of a cross-encoder"),
    ],
)
def test_a_graph_of_another_kind_is_refused(
    tiny: Path, tmp_path: Path, inputs: list[str], result: str, width: int, reason: str
) -> None:
    folder = _graph_of(copied(tiny, tmp_path), inputs, result, width)
    assert reason in refused(folder).message


def test_a_graph_may_do_without_the_kinds_of_tokens(tiny: Path, tmp_path: Path) -> None:
    model: Scorer = load_cross_encoder(options(_graph_of(copied(tiny, tmp_path), ["input_ids"], "logits", 1)))
    assert len(model.score("the cat", TEXTS)) == len(TEXTS)


@pytest.mark.parametrize(
    ("config", "tokenizer", "expected"),
    [
        ({"max_position_embeddings": 48}, {"model_max_length": 10**30}, 48),
        ({"max_position_embeddings": 512}, {"model_max_length": 256}, 256),
        ({"max_position_embeddings": 514, "model_type": "xlm-roberta", "pad_token_id": 1}, {}, 512),
        ({"max_position_embeddings": "many"}, {"model_max_length": None}, 512),
        ({"max_position_embeddings": float("inf")}, {"model_max_length": -1}, 512),
    ],
)
def test_no_more_tokens_are_read_than_either_file_allows(
    tiny: Path, tmp_path: Path, config: dict[str, Any], tokenizer: dict[str, Any], expected: int
) -> None:
    folder = copied(tiny, tmp_path, **config)
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    files = find_onnx_files("copy", folder)
    assert not isinstance(files, str)
    assert files.max_tokens == expected
