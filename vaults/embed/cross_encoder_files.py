"""What of a cross-encoder's folder ONNX Runtime can serve, and why not where it cannot."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from vaults.embed.bert_graph import BertShape
from vaults.embed.graph_nodes import StoredTensor, read_header
from vaults.errors import EmbeddingUnavailable

GRAPHS = ("onnx/model.onnx", "model.onnx")
WEIGHTS, TOKENIZER, CONFIG, TOKENIZER_CONFIG = (
    "model.safetensors",
    "tokenizer.json",
    "config.json",
    "tokenizer_config.json",
)
_CLASSIFIER = "ForSequenceClassification"
_HEADS = (_CLASSIFIER, "ForCausalLM")  # architectures that come with trained weights for a score
_PLAIN = {"hidden_act": ("gelu",), "position_embedding_type": ("absolute", None), "is_decoder": (False, None)}


@dataclass(frozen=True, slots=True)
class BertWeights:
    """A BERT from whose weights a graph is written."""

    path: Path
    tensors: dict[str, StoredTensor]
    shape: BertShape


@dataclass(frozen=True, slots=True)
class OnnxFiles:
    """What ONNX Runtime serves: a graph that is here, or weights that one is written for."""

    graph: Path | BertWeights
    tokenizer: Path
    max_tokens: int
    pad_id: int
    used: tuple[Path, ...]
    """The files that the scores depend on."""


def is_cross_encoder(folder: Path) -> bool:
    """Whether the model's own files say so. Older cross-encoders are plain classifiers without a list of modules."""
    if (folder / "modules.json").is_file():
        return read_json(folder / "config_sentence_transformers.json").get("model_type") == "CrossEncoder"
    return any(name.endswith(_HEADS) for name in _architectures(folder))


def find_onnx_files(name: str, folder: Path) -> OnnxFiles | str:
    """The files, or in a few words what stands against it. Raises EmbeddingUnavailable where they are broken, or give
    more than one number."""
    if not any(each.endswith(_CLASSIFIER) for each in _architectures(folder)):
        return "it is no sequence classifier"
    if not (folder / TOKENIZER).is_file():
        return f"it has no {TOKENIZER}"
    if _does_more(folder):
        return "it does more than its transformer"
    graph = next((folder / each for each in GRAPHS if (folder / each).is_file()), None) or _find_bert(name, folder)
    if isinstance(graph, str):
        return graph
    config = read_json(folder / CONFIG)
    numbers = [graph.path] if isinstance(graph, BertWeights) else [graph, *graph.parent.glob(f"{graph.name}?data")]
    words = [path for name in (TOKENIZER, CONFIG, TOKENIZER_CONFIG) if (path := folder / name).is_file()]
    return OnnxFiles(
        graph=graph,
        tokenizer=folder / TOKENIZER,
        max_tokens=_max_tokens(folder, config),
        pad_id=int(config.get("pad_token_id") or 0),
        used=(*numbers, *words),
    )


def read_json(path: Path) -> dict[str, Any]:
    """The object in ``path``; an empty one where there is none."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _find_bert(name: str, folder: Path) -> BertWeights | str:
    """Its weights, which are trusted no further than their sizes: ONNX Runtime reads no byte outside the file."""
    config, weights = read_json(folder / CONFIG), folder / WEIGHTS
    if _architectures(folder) != [f"Bert{_CLASSIFIER}"] or any(
        config.get(key, fine[0]) not in fine for key, fine in _PLAIN.items()
    ):
        return f"it has no {GRAPHS[0]}, and is no plain BERT"
    if not weights.is_file():
        return f"it has neither {GRAPHS[0]} nor {WEIGHTS}"
    path = weights.resolve()  # a link of a cache, and ONNX Runtime follows none out of the folder it is told
    try:
        tensors, shape = read_header(path), TypeAdapter(BertShape).validate_python(config)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, ValidationError) as error:
        raise EmbeddingUnavailable(f"The files of the model {name} cannot be read.") from error
    if any(tensor.kind != "F32" for tensor in tensors.values() if len(tensor.shape) == 2):
        return "its weights are not in 32 bits"
    head = tensors.get("classifier.weight")
    if head is not None and head.shape[:1] != (1,):
        raise EmbeddingUnavailable(f"The model {name} gives classes, not a score.")
    return BertWeights(path, tensors, shape)


def _does_more(folder: Path) -> bool:
    """Whether sentence-transformers would do more with the model than its transformer does: layers, or words of its own
    before a text."""
    modules, more = folder / "modules.json", read_json(folder / "config_sentence_transformers.json")
    layers = json.loads(modules.read_bytes()) if modules.is_file() else [None]
    return len(layers) != 1 or bool(more.get("default_prompt_name"))


def _architectures(folder: Path) -> list[str]:
    found = read_json(folder / CONFIG).get("architectures")
    return [str(each) for each in found] if isinstance(found, list) else []


def _max_tokens(folder: Path, config: dict[str, Any]) -> int:
    """What the model reads of query and text together, as its files say. Without a number, as a BERT."""
    places = _whole(config.get("max_position_embeddings"))
    if places and "roberta" in str(config.get("model_type")):
        places = _whole(places - 1 - int(config.get("pad_token_id") or 0))  # they are counted from behind that one
    told = (_whole(read_json(folder / TOKENIZER_CONFIG).get("model_max_length")), places)
    return min((number for number in told if number), default=512)


def _whole(value: Any) -> int | None:
    """``value`` where it is a number that a model may have."""
    return int(value) if isinstance(value, int | float) and 1 <= value < 1e9 else None
