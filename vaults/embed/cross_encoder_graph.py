"""Writes the graph of a cross-encoder that is a BERT: the encoder, one number of the first token. Needs ``onnx``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from vaults.embed.bert_graph import BertShape, add_input, add_layer, add_layers, add_linear, by_text
from vaults.embed.graph_nodes import GraphNodes, StoredTensor, to_bytes

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
RESULT = "logits"


def write_cross_encoder_graph(weights: Path, tensors: Mapping[str, StoredTensor], shape: BertShape) -> bytes:
    """The serialised graph of a ``BertForSequenceClassification`` whose ``tensors`` lie in ``weights``. Takes
    ``INPUTS`` and gives ``logits``, ``[texts, 1]``. Raises KeyError where a tensor is missing."""
    nodes = GraphNodes(weights.name, {name.removeprefix("bert."): tensor for name, tensor in tensors.items()})
    last = shape.num_hidden_layers - 1
    read = add_layers(nodes, shape, add_input(nodes, shape, "token_type_ids"), last)
    texts = nodes.add("Reshape", read.hidden, by_text(nodes, read.sizes, [shape.hidden_size]))
    first = nodes.add("Gather", texts, nodes.index(0), axis=1)
    # Of the last layer nothing but the first token is read: a seventh less work in six layers, two fifths in two.
    first = add_layer(nodes, shape, last, read, asking=first)
    pooled = nodes.add("Tanh", add_linear(nodes, "pooler.dense", first))
    nodes.add(
        "Gemm", pooled, nodes.weight("classifier.weight"), nodes.weight("classifier.bias"), transB=1, result=RESULT
    )
    return to_bytes(nodes, INPUTS, RESULT, ("texts", 1))
