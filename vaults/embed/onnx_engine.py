"""The ONNX Runtime engine: serves a prepared model with onnxruntime and tokenizers alone, without torch.

Memory, after 1,000 mixed texts in a process with nothing else: without the arena 251 MB and peaks of 600, as each call
maps and unmaps its buffers (up to 40 % slower on long texts); with the arena the largest run decides: 2,048 padded
tokens 270 MB, 1,024 213, 512 184, 256 170, at the same speed per text (33 ms for 190 tokens, 3 ms for 12; larger runs
are slower). Shrinking the arena after each run gained nothing. Spinning is off: it would burn the core the event loop
needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from vaults.embed.batches import split_into_batches
from vaults.embed.prepared_model import TOKENIZER, PreparedModel
from vaults.errors import EmbeddingUnavailable

if TYPE_CHECKING:
    import numpy as np

_TOKENS_PER_RUN = 256  # tokens of one run, padding included, for each thread
_MAX_TEXTS = 64  # texts of one run, however short


class OnnxEmbedder:
    """One prepared model in ONNX Runtime. Raises EmbeddingUnavailable for a device that it cannot use here."""

    engine: ClassVar[str] = "onnx"

    def __init__(self, prepared: PreparedModel, *, threads: int, device: str = "cpu") -> None:
        from tokenizers import Tokenizer

        self.identity = prepared.identity
        self.max_tokens = prepared.manifest.max_tokens
        self._budget = _TOKENS_PER_RUN * threads
        self._pad_id = prepared.manifest.pad_id
        self._tokenizer = Tokenizer.from_file(str(prepared.folder / TOKENIZER))
        # The file pads every text to 128 tokens, which makes a short query three times as expensive.
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(self.max_tokens)
        self._session = _open_session(prepared, threads, device)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        import numpy as np

        # encode() would hold the interpreter's lock, for half a second on a text of 1 MB; the batch calls do not.
        tokens = [text.ids for text in self._tokenizer.encode_batch_fast(list(texts))]
        vectors = np.empty((len(tokens), self.identity.width), dtype=np.float32)
        for rows in split_into_batches([len(ids) for ids in tokens], budget=self._budget, most=_MAX_TEXTS):
            vectors[rows] = self._run([tokens[row] for row in rows])
        return vectors

    def close(self) -> None:
        self._session = None

    def _run(self, tokens: list[list[int]]) -> np.ndarray:
        import numpy as np

        shape = (len(tokens), max(map(len, tokens)))
        ids = np.full(shape, self._pad_id, dtype=np.int64)
        mask = np.zeros(shape, dtype=np.int64)
        for row, text in enumerate(tokens):
            ids[row, : len(text)] = text
            mask[row, : len(text)] = 1
        (hidden,) = self._session.run(None, {"input_ids": ids, "attention_mask": mask})
        return _pool_mean(hidden, mask)


def _pool_mean(hidden: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Mean over a text's own tokens, then unit length; in float32 like the original."""
    import numpy as np

    weight = mask[:, :, None].astype(np.float32)
    mean = (hidden * weight).sum(axis=1) / np.maximum(weight.sum(axis=1), 1e-9)
    return cast("np.ndarray", mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-12))


def _provider(device: str, available: Sequence[str]) -> tuple[str, dict[str, str]]:
    """What runs the graph, and how: on a graphics card with all digits, as the vectors must be those of the CPU."""
    kind, _, number = device.partition(":")
    if kind == "cpu":
        return "CPUExecutionProvider", {}
    if kind != "cuda" or not (number or "0").isdigit() or "CUDAExecutionProvider" not in available:
        raise EmbeddingUnavailable(
            f"ONNX Runtime cannot use the device {device} here.",
            hint="Set embedding.device to cpu, embedding.engine to sentence-transformers, or install onnxruntime-gpu.",
        )
    return "CUDAExecutionProvider", {"device_id": number or "0", "use_tf32": "0"}


def _open_session(prepared: PreparedModel, threads: int, device: str) -> Any:
    import onnxruntime

    provider = _provider(device, onnxruntime.get_available_providers())
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3  # errors only: stderr is the log
    # The bundled model's graph does not lie beside its weights. Only for one given as bytes may the folder be told.
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(prepared.folder))
    return onnxruntime.InferenceSession(prepared.graph.read_bytes(), options, providers=[provider])
