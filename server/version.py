"""What runs: the version, and the commit where it is known."""

from __future__ import annotations

from functools import cache
from importlib import metadata


@cache
def version() -> str:
    """Semantic version of the installed package."""
    return metadata.version("strongroom")
