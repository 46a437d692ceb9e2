"""SHA-256 of files.

Hashing the bundled weights (91 MB) costs 50 ms, so digests are taken where a model is prepared or loaded by
sentence-transformers (5 s), and not cached. The start with ONNX (0.2 s) compares sizes and times instead.
"""

from __future__ import annotations

import hashlib
from pathlib import Path


def sha256_of(path: Path) -> str:
    """Digest of the file's present bytes, 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
