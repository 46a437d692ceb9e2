"""A memory as a Markdown file with YAML frontmatter, for people and for other tools. Pure."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

from vaults.domain.memories.memory_model import Memory

SLUG_BYTES = 100
"""Max bytes of the title in a file name: with the id well below the 255 every file system allows."""

_FIELDS = (
    "id", "external_id", "title", "type", "tags", "keywords", "entity", "author", "workspace", "thread", "applies_to",
    "parent", "position", "confidence", "occurred_at", "created_at", "updated_at", "expires_at", "visibility", "tier",
    "archived_at", "archived_reason", "supersedes", "superseded_by", "anchor_commit", "metadata",
)  # fmt: skip

# JSON strings are YAML strings, except that YAML wants these escaped.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def to_markdown(memory: Memory) -> str:
    """The file's text: every field that is set, then the content unchanged."""
    lines = ["---"]
    for name in _FIELDS:
        value = getattr(memory, name)
        if value is not None and value not in ([], {}):
            lines.append(f"{name}: {_yaml(value)}")
    return "\n".join([*lines, "---", "", memory.content]) + "\n"


def to_file_name(memory: Memory) -> str:
    """``<title>-<id>.md``: the id keeps names distinct, whatever titles share and however a system compares names."""
    words = "-".join(re.findall(r"\w+", unicodedata.normalize("NFC", memory.title.lower())))
    slug = words.encode()[:SLUG_BYTES].decode("utf-8", "ignore").strip("-_")
    return f"{slug}-{memory.id}.md" if slug else f"{memory.id}.md"


def _yaml(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
