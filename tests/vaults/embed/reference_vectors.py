"""Vectors of the bundled model as sentence-transformers 6.2.0 with PyTorch 2.13.0 gave them: what every vault's are to
stay comparable with. ``python -m tests.vaults.embed.reference_vectors`` writes them anew, for another model only.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

PATH = Path(__file__).with_suffix(".npy")
WORDS = "agents keep what they learn in vaults nobody else can open so that next week starts where this one ended"
TEXTS = (
    "",
    "vault",
    "  spaces around\n",
    "Ünïcode, 東京, 🙂 and a\ttab",
    "Когда делается резервная копия?",
    "def f(x):\n\treturn x['a'] != None  # TODO\r\n",
    WORDS,
    f"{WORDS} " * 5,
    f"{WORDS} " * 30,
    "x" * 3000,
)


def read() -> np.ndarray:
    """A row for each text."""
    return np.asarray(np.load(PATH))


def write() -> None:
    from vaults.embed.engines import load_embedder
    from vaults.settings import EmbeddingSettings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what torch says while it is imported is not ours
        model = load_embedder(EmbeddingSettings(engine="sentence-transformers"))
    np.save(PATH, model.embed(TEXTS))


if __name__ == "__main__":
    write()
