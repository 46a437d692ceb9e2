"""A fence around what others wrote, so that a model can tell where it ends: nothing inside can close it."""

from __future__ import annotations

import re
import secrets

from vaults.domain.text.sanitize import sanitize

_LABEL = re.compile(r"[^\w.:/@~-]+")
_LABEL_LENGTH = 100


def fence(source: str, text: str) -> str:
    """``text`` between two marks unique to this answer, with hidden characters made visible. ``source`` loses whatever
    could end the first mark."""
    mark, safe = f"data-{secrets.token_hex(4)}", sanitize(text)
    flags = f' flags="{" ".join(safe.flags)}"' if safe.flags else ""
    return f'<{mark} source="{_label(source)}"{flags}>\n{safe.text}\n</{mark}>'


def _label(value: str) -> str:
    return _LABEL.sub("_", value)[:_LABEL_LENGTH]
