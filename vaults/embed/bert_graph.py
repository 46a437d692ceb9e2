"""Writes the graph of a BERT for ONNX Runtime. The weights stay in the model's own safetensors file: the graph names
their places in it, so nothing is copied, and the graph is small enough to lie in the repository.

The bundled model's is ``minilm.onnx``, beside this file. ``make graph`` writes it anew, which needs ``onnx``; serving
it does not. It fits the published weights and no others, because places are bytes of that file.

Each text's tokens are one matrix, and each linear layer one Gemm, which takes the weights as PyTorch stores them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vaults.embed import bundled

OPSET = 20  # the first with Gelu
IR_VERSION = 9  # of that opset; the default is that of the installed onnx, which an older runtime may refuse
_LOWEST = -3.4028234663852886e38  # what the original adds where there is padding


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """Where the numbers of a tensor lie in a safetensors file."""

    shape: tuple[int, ...]
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class BertShape:
    """What of a BERT's configuration decides about its graph."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    layer_norm_eps: float


def read_header(weights: Path) -> dict[str, StoredTensor]:
    """The tensors of a safetensors file: eight bytes say how long the header is, the numbers lie behind it."""
    with weights.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        told = json.loads(file.read(length))
    first = 8 + length
    return {
        name: StoredTensor(tuple(each["shape"]), first + begin, end - begin)
        for name, each in told.items()
        if name != "__metadata__"
        for begin, end in [each["data_offsets"]]
    }


def write_bert_graph(weights: Path, config: Mapping[str, Any]) -> bytes:
    """The serialised graph of the BERT whose weights and configuration these are. Takes ``input_ids`` and
    ``attention_mask`` and gives ``hidden``, the vectors of all tokens."""
    shape = BertShape(*(config[name] for name in BertShape.__dataclass_fields__))
    nodes = _Nodes(weights.name, read_header(weights))
    sizes = nodes.add("Shape", "input_ids")
    masked = _add_mask(nodes)
    hidden = _add_embeddings(nodes, shape)
    for number in range(shape.num_hidden_layers):
        hidden = _add_layer(nodes, shape, f"encoder.layer.{number}", _Attended(hidden, masked, sizes))
    nodes.add("Reshape", hidden, _joined(nodes, sizes, [shape.hidden_size]), result="hidden")
    return _to_bytes(nodes, shape)


@dataclass(frozen=True, slots=True)
class _Attended:
    """What a layer reads, each by the name of a result: all tokens' vectors, what is added to hide padding, and the
    number of texts and of tokens in each."""

    hidden: str
    masked: str
    sizes: str


class _Nodes:
    """The nodes so far, in the order in which they are computed, and the tensors they read."""

    def __init__(self, location: str, tensors: Mapping[str, StoredTensor]) -> None:
        self.nodes: list[Any] = []
        self.initializers: dict[str, Any] = {}
        self._location, self._tensors = location, tensors

    def add(self, operator: str, *inputs: str, result: str = "", **attributes: Any) -> str:
        """Add a node; returns the name of its result."""
        from onnx import helper

        name = result or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name

    def weight(self, name: str) -> str:
        """A tensor of the weights file."""
        from onnx import TensorProto

        if name not in self.initializers:
            stored = self._tensors[name]
            tensor = TensorProto(name=name, dims=stored.shape, data_type=TensorProto.FLOAT)
            tensor.data_location = TensorProto.EXTERNAL
            places = {"location": self._location, "offset": stored.offset, "length": stored.length}
            for key, value in places.items():
                tensor.external_data.add(key=key, value=str(value))
            self.initializers[name] = tensor
        return name

    def integers(self, values: Sequence[int]) -> str:
        return self._constant("INT64", values, [len(values)])

    def number(self, value: float) -> str:
        return self._constant("FLOAT", [value], [])

    def index(self, value: int) -> str:
        return self._constant("INT64", [value], [])

    def _constant(self, kind: str, values: Sequence[float], dims: Sequence[int]) -> str:
        from onnx import TensorProto, helper

        name = f"{kind.lower()}{'' if dims else '_scalar'}_{'_'.join(map(repr, values))}"
        if name not in self.initializers:
            self.initializers[name] = helper.make_tensor(name, getattr(TensorProto, kind), dims, values)
        return name


def _add_mask(nodes: _Nodes) -> str:
    """Nothing for a token, the lowest number for padding: ``[texts, 1, 1, tokens]``."""
    mask = nodes.add("Cast", "attention_mask", to=1)
    missing = nodes.add("Sub", nodes.number(1.0), mask)
    return nodes.add("Unsqueeze", nodes.add("Mul", missing, nodes.number(_LOWEST)), nodes.integers([1, 2]))


def _add_embeddings(nodes: _Nodes, shape: BertShape) -> str:
    """Word, kind of text (there is one) and place, added up: ``[texts * tokens, hidden_size]``."""
    words = nodes.add("Gather", nodes.weight("embeddings.word_embeddings.weight"), "input_ids")
    kind = nodes.add("Gather", nodes.weight("embeddings.token_type_embeddings.weight"), nodes.index(0))
    count = nodes.add("Shape", "input_ids", start=1, end=2)
    places = nodes.weight("embeddings.position_embeddings.weight")
    place = nodes.add("Slice", places, nodes.integers([0]), count)
    added = nodes.add("Add", nodes.add("Add", words, kind), place)
    flat = nodes.add("Reshape", added, nodes.integers([-1, shape.hidden_size]))
    return _add_norm(nodes, shape, "embeddings.LayerNorm", flat)


def _add_layer(nodes: _Nodes, shape: BertShape, layer: str, read: _Attended) -> str:
    """Attention and two linear layers, each with what it was given added and normalised."""
    context = _add_attention(nodes, shape, f"{layer}.attention.self", read)
    attended = _add_linear(nodes, f"{layer}.attention.output.dense", context)
    hidden = _add_norm(nodes, shape, f"{layer}.attention.output.LayerNorm", nodes.add("Add", attended, read.hidden))
    wide = nodes.add("Gelu", _add_linear(nodes, f"{layer}.intermediate.dense", hidden), approximate="none")
    narrow = _add_linear(nodes, f"{layer}.output.dense", wide)
    return _add_norm(nodes, shape, f"{layer}.output.LayerNorm", nodes.add("Add", narrow, hidden))


def _add_attention(nodes: _Nodes, shape: BertShape, attention: str, read: _Attended) -> str:
    """Each token's mixture of the tokens of its text, by several heads side by side."""
    width = shape.hidden_size // shape.num_attention_heads
    by_head = _joined(nodes, read.sizes, [shape.num_attention_heads, width])

    def split(part: str, order: Sequence[int]) -> str:
        whole = _add_linear(nodes, f"{attention}.{part}", read.hidden)
        return nodes.add("Transpose", nodes.add("Reshape", whole, by_head), perm=order)

    query, key, value = split("query", [0, 2, 1, 3]), split("key", [0, 2, 3, 1]), split("value", [0, 2, 1, 3])
    likeness = nodes.add("Mul", nodes.add("MatMul", query, key), nodes.number(width**-0.5))
    share = nodes.add("Softmax", nodes.add("Add", likeness, read.masked), axis=-1)
    mixed = nodes.add("Transpose", nodes.add("MatMul", share, value), perm=[0, 2, 1, 3])
    return nodes.add("Reshape", mixed, nodes.integers([-1, shape.hidden_size]))


def _add_linear(nodes: _Nodes, name: str, hidden: str) -> str:
    return nodes.add("Gemm", hidden, nodes.weight(f"{name}.weight"), nodes.weight(f"{name}.bias"), transB=1)


def _add_norm(nodes: _Nodes, shape: BertShape, name: str, hidden: str) -> str:
    weights = nodes.weight(f"{name}.weight"), nodes.weight(f"{name}.bias")
    return nodes.add("LayerNormalization", hidden, *weights, axis=-1, epsilon=shape.layer_norm_eps)


def _joined(nodes: _Nodes, sizes: str, more: Sequence[int]) -> str:
    """A shape: texts, tokens, and ``more``. Equal ones are one node to the runtime."""
    return nodes.add("Concat", sizes, nodes.integers(more), axis=0)


def _to_bytes(nodes: _Nodes, shape: BertShape) -> bytes:
    from onnx import TensorProto, helper

    axes = ["texts", "tokens"]
    graph = helper.make_graph(
        nodes.nodes,
        "bert",
        [helper.make_tensor_value_info(name, TensorProto.INT64, axes) for name in ("input_ids", "attention_mask")],
        [helper.make_tensor_value_info("hidden", TensorProto.FLOAT, [*axes, shape.hidden_size])],
        list(nodes.initializers.values()),
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="strongroom"
    )
    return bytes(model.SerializeToString(deterministic=True))


def bundled_graph() -> bytes:
    """The graph of the bundled model, as ``minilm.onnx`` is to be."""
    folder = bundled.bundled_folder()
    assert folder is not None, "the bundled model is not installed"
    return write_bert_graph(folder / bundled.WEIGHTS, json.loads((folder / "config.json").read_bytes()))


if __name__ == "__main__":
    bundled.GRAPH.write_bytes(bundled_graph())
