"""An ONNX graph under construction whose weights stay in a safetensors file: it names their places there. Needs
``onnx``, which serving does not."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OPSET = 20  # the first with Gelu
IR_VERSION = 9  # of that opset; the default is that of the installed onnx, which an older runtime may refuse
AXES = ("texts", "tokens")


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """Where the numbers of a tensor lie in a safetensors file."""

    shape: tuple[int, ...]
    offset: int
    length: int
    kind: str = "F32"  # as the format names it


def read_header(weights: Path) -> dict[str, StoredTensor]:
    """The tensors of a safetensors file: eight bytes say how long the header is, the numbers lie behind it. Raises
    ValueError, or what a mapping or sequence raises, for a file of another kind."""
    with weights.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > weights.stat().st_size:
            raise ValueError("the header is longer than the file")
        told = json.loads(file.read(length))
    first = 8 + length
    return {
        name: StoredTensor(tuple(each["shape"]), first + begin, end - begin, each["dtype"])
        for name, each in told.items()
        if name != "__metadata__"
        for begin, end in [each["data_offsets"]]
    }


class GraphNodes:
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


def to_bytes(nodes: GraphNodes, inputs: Sequence[str], result: str, dims: Sequence[str | int]) -> bytes:
    """The serialised graph: ``inputs`` are integers, ``[texts, tokens]``; ``result`` is of ``dims``."""
    from onnx import TensorProto, helper

    graph = helper.make_graph(
        nodes.nodes,
        "bert",
        [helper.make_tensor_value_info(name, TensorProto.INT64, AXES) for name in inputs],
        [helper.make_tensor_value_info(result, TensorProto.FLOAT, dims)],
        list(nodes.initializers.values()),
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="strongroom"
    )
    return bytes(model.SerializeToString(deterministic=True))
