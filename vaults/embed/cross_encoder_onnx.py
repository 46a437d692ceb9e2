"""The ONNX Runtime engine of a cross-encoder: onnxruntime and tokenizers alone, without torch. Where the folder has no
graph, one is written in memory for its weights, which needs ``onnx``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vaults.embed.batches import split_into_batches
from vaults.embed.cross_encoder_backend import CrossEncoderOptions, cut_legible, squash_logits
from vaults.embed.cross_encoder_files import BertWeights, OnnxFiles
from vaults.embed.cross_encoder_graph import INPUTS, RESULT, write_cross_encoder_graph
from vaults.embed.onnx_session import MAX_TEXTS, TOKENS_PER_RUN, open_session
from vaults.errors import EmbeddingUnavailable

if TYPE_CHECKING:
    import numpy as np
    from tokenizers import Encoding


class OnnxCrossEncoder:
    """One cross-encoder in ONNX Runtime, on the processor."""

    def __init__(self, name: str, revision: str, files: OnnxFiles, options: CrossEncoderOptions) -> None:
        """Scores two pairs, so that a graph that cannot is refused here."""
        from tokenizers import Tokenizer

        self.identity = f"{name}@{revision[:16]}"
        self._max_tokens = min(files.max_tokens, options.max_tokens)
        self._budget = TOKENS_PER_RUN * options.threads
        self._pad_id = files.pad_id
        self._tokenizer = Tokenizer.from_file(str(files.tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(self._max_tokens, strategy="longest_first")
        self._session = _open(name, files, options.threads)
        self._inputs = _require_inputs(name, self._session)
        if self._run(self._tokenizer.encode_batch_fast([("a question", ""), ("a question", "some text")])).shape != (
            2,
            1,
        ):
            raise EmbeddingUnavailable(f"The model {name} gives classes, not a score.")

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Shortest pairs first, so that little is padding, and no run is larger than the budget."""
        import numpy as np

        question = cut_legible(query, self._max_tokens)
        # Unlike encode(), this is not done under the interpreter's lock.
        pairs = self._tokenizer.encode_batch_fast([(question, cut_legible(text, self._max_tokens)) for text in texts])
        logits = np.empty(len(pairs), dtype=np.float64)
        for rows in split_into_batches([len(pair.ids) for pair in pairs], budget=self._budget, most=MAX_TEXTS):
            logits[rows] = self._run([pairs[row] for row in rows])[:, 0]
        return squash_logits(logits)

    def close(self) -> None:
        self._session = None

    def _run(self, pairs: Sequence[Encoding]) -> np.ndarray:
        """``[texts, 1]``"""
        import numpy as np

        shape = (len(pairs), max(len(pair.ids) for pair in pairs))
        ids, mask, kinds = np.full(shape, self._pad_id, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, pair in enumerate(pairs):
            ids[row, : len(pair.ids)] = pair.ids
            mask[row, : len(pair.ids)] = 1
            kinds[row, : len(pair.ids)] = pair.type_ids
        told = dict(zip(INPUTS, (ids, mask, kinds), strict=True))
        (logits,) = self._session.run([RESULT], {name: told[name] for name in self._inputs})
        return logits  # type: ignore[no-any-return]


def _open(name: str, files: OnnxFiles, threads: int) -> Any:
    graph = files.graph
    if not isinstance(graph, BertWeights):
        return open_session(graph, weights=None, threads=threads)
    try:
        written = write_cross_encoder_graph(graph.path, graph.tensors, graph.shape)
    except (KeyError, ValueError, ZeroDivisionError) as error:
        raise EmbeddingUnavailable(f"The weights of the model {name} are not those of its config.json.") from error
    return open_session(written, weights=graph.path.parent, threads=threads)


def _require_inputs(name: str, session: Any) -> tuple[str, ...]:
    """What the graph wants to be told."""
    inputs = tuple(each.name for each in session.get_inputs())
    if not set(inputs) <= set(INPUTS) or RESULT not in {each.name for each in session.get_outputs()}:
        raise EmbeddingUnavailable(
            f"The graph of the model {name} is not that of a cross-encoder.",
            hint=f"It takes {', '.join(INPUTS)}, or some of these, and gives {RESULT}.",
        )
    return inputs
