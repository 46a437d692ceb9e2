"""A cross-encoder of 30,000 numbers: real files for the real library, made in a moment."""

from __future__ import annotations

import warnings
from pathlib import Path

WORDS = ["the", "a", "cat", "dog", "sat", "on", "mat", "ran", "far", "away", "in", "house", "red", "blue"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"
TOKENS = 48
"""Of a query and a text together."""


def build(folder: Path) -> Path:
    """A BERT of random weights, always the same, that gives one score per pair."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what torch says while it is imported is not ours
        import torch
        from sentence_transformers import CrossEncoder  # noqa: F401 - its imports warn too
        from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    folder.mkdir()
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *LETTERS, *(f"##{c}" for c in LETTERS)]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(1)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    config = BertConfig(
        vocab_size=len(vocabulary), max_position_embeddings=TOKENS, num_labels=1, initializer_range=0.5, **shape
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder
