"""The graph of the bundled model: the file is what is written today, and its vectors are those vaults hold."""

from __future__ import annotations

import numpy as np

from tests.vaults.embed import reference_vectors
from vaults.embed import bundled
from vaults.embed.bert_graph import bundled_graph
from vaults.embed.engines import load_embedder
from vaults.embed.graph_nodes import read_header
from vaults.embed.preparation import TOLERANCE
from vaults.settings import EmbeddingSettings


def test_the_graph_in_the_repository_is_the_one_that_is_written() -> None:
    assert bundled.GRAPH.read_bytes() == bundled_graph(), "run: make graph"


def test_the_graph_is_sound_to_the_format_that_defines_it() -> None:
    import onnx

    graph = onnx.load(str(bundled.GRAPH), load_external_data=False)
    folder = bundled.bundled_folder()
    assert folder
    stored = read_header(folder / bundled.WEIGHTS)
    read = {each.name: each for each in graph.graph.initializer if each.external_data}
    # Not read: a range of numbers, and the layer that follows the sentence model's last.
    assert set(stored) - set(read) == {"embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias"}
    assert {name: tuple(each.dims) for name, each in read.items()} == {name: stored[name].shape for name in read}
    onnx.shape_inference.infer_shapes(graph, strict_mode=True, data_prop=True)


def test_vectors_are_those_of_sentence_transformers() -> None:
    model = load_embedder(EmbeddingSettings(engine="onnx"))
    assert np.abs(model.embed(reference_vectors.TEXTS) - reference_vectors.read()).max() <= TOLERANCE
    assert model.identity.key == "0d60df0db5a027b3", "every vault would embed again"
