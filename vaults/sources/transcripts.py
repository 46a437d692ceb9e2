"""Conversations and files of other systems as documents: what all of them have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vaults.sources.record_fields import TITLE, clean_text, cut_text, fit_metadata, to_label, without_empty
from vaults.sources.times import to_rfc3339

_MARKDOWN = frozenset({"md", "markdown", "mdx"})
_CODE = frozenset(
    {"bash", "c", "cc", "cpp", "cs", "css", "go", "h", "hpp", "htm", "html", "ini", "ipynb", "java", "js", "json",
     "jsonl", "jsx", "kt", "lua", "php", "pl", "ps1", "py", "pyi", "r", "rb", "rs", "scala", "scss", "sh", "sql",
     "svelte", "swift", "tf", "toml", "ts", "tsx", "vue", "xml", "yaml", "yml"}
)  # fmt: skip


def to_part(text: Any, **fields: Any) -> dict[str, Any] | None:
    """A part of a document; None without text. Fields that say nothing are left out, an author and a heading become
    labels, ``at`` a time."""
    if not isinstance(text, str) or not (cleaned := clean_text(text).strip()):
        return None
    known = {"author": to_label(fields.get("author")), "heading": to_label(fields.get("heading"))}
    return without_empty({"text": cleaned, **fields, **known, "at": to_rfc3339(fields.get("at"))})


def to_document(parts: Iterable[dict[str, Any] | None], **fields: Any) -> dict[str, Any] | None:
    """The line of a document; None where no part has text."""
    kept = [part for part in parts if part is not None]
    if not kept:
        return None
    cleaned = {
        "kind": "document",
        **fields,
        "title": cut_text(fields.get("title"), TITLE),
        "created_at": to_rfc3339(fields.get("created_at")),
        "modified_at": to_rfc3339(fields.get("modified_at")),
        "metadata": fit_metadata(fields.get("metadata") or {}),
    }
    return without_empty({**cleaned, "parts": kept})


def find_format(name: str) -> str:
    """The format of a document from the name of its file."""
    suffix = name.rpartition(".")[2].lower()
    return "markdown" if suffix in _MARKDOWN else "code" if suffix in _CODE else "text"
