"""How ONNX Runtime is asked to run a graph, whether of an embedding model or of a cross-encoder.

Memory, after 1,000 mixed texts in a process with nothing else: without the arena 251 MB and peaks of 600, as each call
maps and unmaps its buffers (up to 40 % slower on long texts); with the arena the largest run decides: 2,048 padded
tokens 270 MB, 1,024 213, 512 184, 256 170, at the same speed per text (33 ms for 190 tokens, 3 ms for 12; larger runs
are slower). Shrinking the arena after each run gained nothing; neither did plans of memory, one kept for each shape of
a run, which took 4 MB more. Spinning is off: it would burn the core the event loop needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vaults.errors import EmbeddingUnavailable

TOKENS_PER_RUN = 256  # tokens of one run, padding included, for each thread
MAX_TEXTS = 64  # texts of one run, however short


def open_session(graph: bytes | Path, *, weights: Path | None, threads: int, device: str = "cpu") -> Any:
    """A session for ``graph``; the weights it names lie in the folder ``weights``, or beside its file. Raises
    EmbeddingUnavailable for a device that cannot be used here, and what ONNX Runtime raises for a graph it refuses."""
    import onnxruntime

    provider = _provider(device, onnxruntime.get_available_providers())
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_mem_pattern = False  # one would be planned and kept for each shape, and there are thousands
    options.log_severity_level = 3  # errors only: stderr is the log
    if weights is not None:  # only for a graph given as bytes may the folder be told
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(weights))
    return onnxruntime.InferenceSession(
        graph if isinstance(graph, bytes) else str(graph), options, providers=[provider]
    )


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
