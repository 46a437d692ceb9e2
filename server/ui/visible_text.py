"""Stored text as a page shows it: what would be invisible, or turn the text around, is named instead.

Characters that reorder a line can make it read as something else, and those of the block of tags carry words that only
a model reads. Joiners and marks of scripts that need them are left alone.
"""

from __future__ import annotations

import json
import re

_HIDDEN = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f"  # controls but tab and line feed
    "\u202a-\u202e\u2066-\u2069"  # embeddings, overrides, isolates
    "\u2028\u2029\ufeff\ufff9-\ufffb"
    "\ud800-\udfff"  # halves of characters, which no page can hold
    "\U000e0000-\U000e007f]"  # tags
)


def show(text: object) -> str:
    """The text with each hidden character as ``[U+202E]``; what is no text, such as a list in metadata, as JSON."""
    said = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False, default=str)
    return _HIDDEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", said.replace("\r\n", "\n"))
