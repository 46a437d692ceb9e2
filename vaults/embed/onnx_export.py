"""Writes a sentence-transformers model as an ONNX graph, and checks whether that is possible."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from vaults.embed.prepared_model import GRAPH, TOKENIZER, WEIGHTS
from vaults.errors import InvalidArgument

_OPSET = 17
_AXES = {0: "texts", 1: "tokens"}
_SHARED_FROM = 1024  # bytes from which a tensor goes into the weights file instead of the graph


def unsupported_model_error(reason: str) -> InvalidArgument:
    """The error for a model that works, but not from a prepared copy."""
    return InvalidArgument(
        "embedding.model",
        f"can only be served by sentence-transformers: {reason}",
        hint="Set embedding.engine to sentence-transformers, or leave it on auto.",
    )


def require_exportable(model: Any) -> None:
    """Raises InvalidArgument unless the model is a transformer, mean pooling and at most a normalisation."""
    layers = [type(layer).__name__ for layer in model]
    if layers not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise unsupported_model_error("it has layers besides a transformer, mean pooling and normalisation")
    if model[1].pooling_mode != "mean":
        raise unsupported_model_error("it does not pool by the mean")
    if model.default_prompt_name is not None:
        raise unsupported_model_error("it puts a prompt before each text")
    if getattr(model.tokenizer, "backend_tokenizer", None) is None:
        raise unsupported_model_error("its tokenizer has no fast form")


def write_graph(model: Any, folder: Path) -> None:
    """Write graph, weights and tokenizer to ``folder``. Changes the model's attention, so verify with vectors made
    before.

    Raises InvalidArgument when the exporter cannot follow the model.
    """
    (folder / TOKENIZER).write_text(model.tokenizer.backend_tokenizer.to_str(), encoding="utf-8")
    whole = folder / "whole.onnx"
    try:
        with warnings.catch_warnings():
            # The exporter warns that it is the old one. The new one needs onnxscript and writes a slower graph.
            warnings.simplefilter("ignore")
            _export(model, whole)
    except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
        raise unsupported_model_error("its graph cannot be exported") from error
    _split(whole, folder)
    whole.unlink()


def _export(model: Any, path: Path) -> None:
    import torch

    transformer = model[0].auto_model
    # The fused attention decides from the data whether to skip its mask, which a recorded graph would freeze.
    transformer.set_attn_implementation("eager")

    class Hidden(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.transformer = transformer

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return self.transformer(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    example = model.tokenizer(["a few words", "some more words than those"], padding=True, return_tensors="pt")
    names = ["input_ids", "attention_mask"]
    with torch.no_grad():
        torch.onnx.export(
            Hidden().eval().cpu(),
            tuple(example[name].cpu() for name in names),
            str(path),
            input_names=names,
            output_names=["hidden"],
            dynamic_axes=dict.fromkeys([*names, "hidden"], _AXES),
            opset_version=_OPSET,
            dynamo=False,
        )


def _split(whole: Path, folder: Path) -> None:
    """Put the weights into a file of their own: ONNX Runtime maps it, and only rows of words in use become resident."""
    import onnx

    onnx.save_model(
        onnx.load(str(whole)),
        str(folder / GRAPH),
        save_as_external_data=True,
        all_tensors_to_one_file=True,
        location=WEIGHTS,
        size_threshold=_SHARED_FROM,
    )
