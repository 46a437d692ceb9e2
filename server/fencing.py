"""A fence round what others wrote, so that a model can tell where it ends: nothing inside can close it."""

from __future__ import annotations

import re
import secrets

_LABEL = re.compile(r"[^\w.:/@~-]+")
_LABEL_LENGTH = 100


def fenced(source: str, text: str, **about: str) -> str:
    """``text`` between two marks of this one answer. ``source`` and what is said ``about`` it stand in the first; of
    them nothing is kept that could end it."""
    mark = f"data-{secrets.token_hex(4)}"
    said = "".join(f' {name}="{_label(value)}"' for name, value in {"source": source, **about}.items())
    return f"<{mark}{said}>\n{text}\n</{mark}>"


def _label(value: str) -> str:
    return _LABEL.sub("_", value)[:_LABEL_LENGTH]
