"""Writes the graph of a BERT for ONNX Runtime. The weights stay in the model's own safetensors file: the graph names
their places in it, so nothing is copied, and the graph is small enough to lie in the repository.

The bundled model's is ``minilm.onnx``, beside this file. ``make graph`` writes it anew, which needs ``onnx``; serving
it does not. It fits the published weights and no others, because places are bytes of that file.

Each text's tokens are one matrix, and each linear layer one Gemm, which takes the weights as PyTorch stores them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vaults.embed import bundled
from vaults.embed.graph_nodes import AXES, GraphNodes, read_header, to_bytes

_LOWEST = -3.4028234663852886e38  # what the original adds where there is padding


@dataclass(frozen=True, slots=True)
class BertShape:
    """What of a BERT's configuration decides about its graph."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    layer_norm_eps: float


def write_bert_graph(weights: Path, config: Mapping[str, Any]) -> bytes:
    """The serialised graph of the BERT whose weights and configuration these are. Takes ``input_ids`` and
    ``attention_mask`` and gives ``hidden``, the vectors of all tokens."""
    shape = BertShape(*(config[name] for name in BertShape.__dataclass_fields__))
    nodes = GraphNodes(weights.name, read_header(weights))
    read = add_layers(nodes, shape, add_input(nodes, shape), shape.num_hidden_layers)
    nodes.add("Reshape", read.hidden, by_text(nodes, read.sizes, [shape.hidden_size]), result="hidden")
    return to_bytes(nodes, ("input_ids", "attention_mask"), "hidden", (*AXES, shape.hidden_size))


@dataclass(frozen=True, slots=True)
class Attended:
    """What a layer reads, each by the name of a result: all tokens' vectors, what is added to hide padding, and the
    number of texts and of tokens in each."""

    hidden: str
    masked: str
    sizes: str


def add_input(nodes: GraphNodes, shape: BertShape, kinds: str | None = None) -> Attended:
    """What the first layer reads, ``[texts * tokens, hidden_size]``. ``kinds`` names the input that says which text of
    a pair each token belongs to; without it there is one text."""
    sizes = nodes.add("Shape", "input_ids")
    masked = _add_mask(nodes)
    return Attended(_add_embeddings(nodes, shape, kinds), masked, sizes)


def add_layers(nodes: GraphNodes, shape: BertShape, read: Attended, count: int) -> Attended:
    """The first ``count`` layers."""
    for number in range(count):
        read = replace(read, hidden=add_layer(nodes, shape, number, read))
    return read


def add_layer(nodes: GraphNodes, shape: BertShape, number: int, read: Attended, asking: str | None = None) -> str:
    """Attention and two linear layers, each with what it was given added and normalised. ``asking`` names vectors of
    one token of each text, ``[texts, hidden_size]``, where the others' are not wanted any more."""
    layer = f"encoder.layer.{number}"
    context = _add_attention(nodes, shape, f"{layer}.attention.self", read, asking)
    attended = add_linear(nodes, f"{layer}.attention.output.dense", context)
    added = nodes.add("Add", attended, asking or read.hidden)
    hidden = _add_norm(nodes, shape, f"{layer}.attention.output.LayerNorm", added)
    wide = nodes.add("Gelu", add_linear(nodes, f"{layer}.intermediate.dense", hidden), approximate="none")
    narrow = add_linear(nodes, f"{layer}.output.dense", wide)
    return _add_norm(nodes, shape, f"{layer}.output.LayerNorm", nodes.add("Add", narrow, hidden))


def _add_mask(nodes: GraphNodes) -> str:
    """Nothing for a token, the lowest number for padding: ``[texts, 1, 1, tokens]``."""
    mask = nodes.add("Cast", "attention_mask", to=1)
    missing = nodes.add("Sub", nodes.number(1.0), mask)
    return nodes.add("Unsqueeze", nodes.add("Mul", missing, nodes.number(_LOWEST)), nodes.integers([1, 2]))


def _add_embeddings(nodes: GraphNodes, shape: BertShape, kinds: str | None) -> str:
    """Word, which text of a pair, and place, added up: ``[texts * tokens, hidden_size]``."""
    words = nodes.add("Gather", nodes.weight("embeddings.word_embeddings.weight"), "input_ids")
    kind = nodes.add("Gather", nodes.weight("embeddings.token_type_embeddings.weight"), kinds or nodes.index(0))
    count = nodes.add("Shape", "input_ids", start=1, end=2)
    places = nodes.weight("embeddings.position_embeddings.weight")
    place = nodes.add("Slice", places, nodes.integers([0]), count)
    added = nodes.add("Add", nodes.add("Add", words, kind), place)
    flat = nodes.add("Reshape", added, nodes.integers([-1, shape.hidden_size]))
    return _add_norm(nodes, shape, "embeddings.LayerNorm", flat)


def _add_attention(nodes: GraphNodes, shape: BertShape, attention: str, read: Attended, asking: str | None) -> str:
    """Each asking token's mixture of the tokens of its text, by several heads side by side."""
    heads = [shape.num_attention_heads, shape.hidden_size // shape.num_attention_heads]
    by_head = by_text(nodes, read.sizes, heads)
    asked = nodes.integers([-1, 1, *heads]) if asking else by_head

    def split(part: str, hidden: str, size: str, order: Sequence[int]) -> str:
        whole = add_linear(nodes, f"{attention}.{part}", hidden)
        return nodes.add("Transpose", nodes.add("Reshape", whole, size), perm=order)

    query = split("query", asking or read.hidden, asked, [0, 2, 1, 3])
    key = split("key", read.hidden, by_head, [0, 2, 3, 1])
    value = split("value", read.hidden, by_head, [0, 2, 1, 3])
    likeness = nodes.add("Mul", nodes.add("MatMul", query, key), nodes.number(heads[1] ** -0.5))
    share = nodes.add("Softmax", nodes.add("Add", likeness, read.masked), axis=-1)
    mixed = nodes.add("Transpose", nodes.add("MatMul", share, value), perm=[0, 2, 1, 3])
    return nodes.add("Reshape", mixed, nodes.integers([-1, shape.hidden_size]))


def add_linear(nodes: GraphNodes, name: str, hidden: str) -> str:
    return nodes.add("Gemm", hidden, nodes.weight(f"{name}.weight"), nodes.weight(f"{name}.bias"), transB=1)


def _add_norm(nodes: GraphNodes, shape: BertShape, name: str, hidden: str) -> str:
    weights = nodes.weight(f"{name}.weight"), nodes.weight(f"{name}.bias")
    return nodes.add("LayerNormalization", hidden, *weights, axis=-1, epsilon=shape.layer_norm_eps)


def by_text(nodes: GraphNodes, sizes: str, more: Sequence[int]) -> str:
    """A shape: texts, tokens, and ``more``. Equal ones are one node to the runtime."""
    return nodes.add("Concat", sizes, nodes.integers(more), axis=0)


def bundled_graph() -> bytes:
    """The graph of the bundled model, as ``minilm.onnx`` is to be."""
    folder = bundled.bundled_folder()
    assert folder is not None, "the bundled model is not installed"
    return write_bert_graph(folder / bundled.WEIGHTS, json.loads((folder / "config.json").read_bytes()))


if __name__ == "__main__":
    bundled.GRAPH.write_bytes(bundled_graph())
