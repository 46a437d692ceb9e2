"""What other systems stored, cut and cleaned to what a line of an import may hold."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from vaults.memory_types import MEMORY_TYPES

CONTENT = 51_200
TITLE = 500
LABEL = 200
SENTENCE = 2_000
SENTENCES = 1_000
TAGS, TAG = 20, 100
METADATA_BYTES = 10 * 1024
STATE_BYTES = 64 * 1024
DEPTH = 24
"""Max levels of JSON that are kept; a line may have a few more."""


_UNFIT = re.compile("[\x00\ud800-\udfff]")
_SPACE = re.compile(r"[\s\x00-\x1f\x7f\u2028\u2029]+")


def clean_text(text: str) -> str:
    """The text without NUL, which ends strings in too many readers; half characters become a question mark in a box."""
    if _UNFIT.search(text) is None:
        return text
    # Two halves that belong together, as JSON writes them, become the character they stand for.
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\x00", "")


def clean_json(value: Any, depth: int = DEPTH) -> Any:
    """A value of JSON with every text in it cleaned. What is nested deeper, or is no number, becomes None."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(str(key)): clean_json(each, depth - 1) for key, each in value.items()} if depth else None
    if isinstance(value, list | tuple):
        return [clean_json(each, depth - 1) for each in value] if depth else None
    if isinstance(value, float) and not -1e308 < value < 1e308:
        return None
    return value if value is None or isinstance(value, bool | int | float) else None


def parse_json(text: Any) -> Any:
    """What a column of JSON holds, cleaned; None for what is no JSON."""
    if not isinstance(text, str) or not text.strip():
        return None
    try:
        return clean_json(json.loads(text))
    except (ValueError, RecursionError):
        return None


def without_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that say something: no None, no blank text, no empty list."""
    return {name: value for name, value in fields.items() if not _is_empty(value)}


def _is_empty(value: Any) -> bool:
    return value is None or value in ([], {}) or (isinstance(value, str) and not value.strip())


def cut_text(value: Any, most: int) -> str | None:
    """A text of at most so many characters; None for a blank one. What is no text is written as JSON."""
    if value is None:
        return None
    text = clean_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)).strip()
    if len(text) > most:
        text = text[: most - 1].rstrip() + "…"
    return text or None


def to_label(value: Any) -> str | None:
    """A text in one line of at most 200 characters. A longer one ends in a digest, so that two that differ stay two."""
    if value is None:
        return None
    text = _SPACE.sub(" ", clean_text(str(value))).strip()
    if len(text) > LABEL:
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        text = f"{text[: LABEL - 17].rstrip()}~{digest}"
    return text or None


def to_tags(values: Any) -> list[str]:
    """Up to 20 labels of up to 100 characters, each once, in their order."""
    found = [_SPACE.sub(" ", clean_text(str(each))).strip()[:TAG].strip() for each in _to_items(values)]
    return list(dict.fromkeys(each for each in found if each))[:TAGS]


def to_sentences(values: Any) -> list[str]:
    """A list of texts, whatever stood in the list."""
    found = (cut_text(each, SENTENCE) for each in _to_items(values))
    return [each for each in found if each][:SENTENCES]


def _to_items(values: Any) -> Iterable[Any]:
    if values is None or isinstance(values, Mapping):
        return [] if not values else [values]
    return values if isinstance(values, list | tuple) else [values]


def to_fraction(value: Any) -> float | None:
    """A number from 0 to 1; one outside becomes the nearer of the two, anything else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return None
    return min(1.0, max(0.0, float(value)))


def to_count(value: Any) -> int | None:
    """A whole number from 0."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if number and 0 <= value < 2**53 else None


def fit_metadata(values: Mapping[str, Any], most: int = METADATA_BYTES) -> dict[str, Any]:
    """What fits of an object, its largest values left out first."""
    kept: dict[str, Any] = clean_json(without_empty(values))
    sizes = {name: _json_bytes(name) + _json_bytes(value) + 4 for name, value in kept.items()}
    total = sum(sizes.values()) + 2
    for name in sorted(sizes, key=sizes.__getitem__, reverse=True):
        if total <= most:
            break
        total -= sizes[name]
        del kept[name]
    return kept


def to_state(value: Any) -> dict[str, Any]:
    """A state as the object that it must be; ``left_out`` names what was too large for it."""
    state = value if isinstance(value, dict) else {"state": value}
    kept = fit_metadata(state, STATE_BYTES)
    lost = [name for name, each in state.items() if name not in kept and not _is_empty(each)]
    return fit_metadata({**kept, "left_out": to_tags(lost)}, STATE_BYTES) if lost else kept


def _json_bytes(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())


def to_memories(fields: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The lines of a memory: one, or several with the first as their parent where its content is longer than one may
    be. A type that is not ours is kept in the metadata."""
    whole = dict(fields)
    kind = str(whole.get("type") or "raw").strip().lower()
    if kind not in MEMORY_TYPES:
        whole["metadata"] = {"original_type": whole["type"], **(whole.get("metadata") or {})}
        kind = "raw"
    whole["type"] = kind
    whole["title"] = cut_text(whole.get("title"), TITLE)
    whole["metadata"] = fit_metadata(whole.get("metadata") or {})
    parts = split_text(clean_text(str(whole.get("content") or "")), CONTENT)
    if len(parts) < 2:
        yield without_empty({**whole, "content": parts[0] if parts else None})
        return
    own = str(whole["external_id"])
    yield without_empty({**whole, "content": parts[0], "parent": own, "position": 0})
    shared = {name: value for name, value in whole.items() if name not in ("key", "supersedes", "links", "subjects")}
    for number, part in enumerate(parts[1:], 2):
        title = cut_text(f"{whole['title']} ({number})", TITLE) if whole["title"] else None
        place = {"parent": own, "position": number - 1, "external_id": to_label(f"{own[: LABEL - 8]}#{number}")}
        yield without_empty({**shared, **place, "title": title, "content": part})


def split_text(text: str, most: int) -> list[str]:
    """The text in pieces of at most so many characters, at ends of paragraphs, lines or words where there are any.
    None of them is blank."""
    parts: list[str] = []
    while len(text) > most:
        ends = (text.rfind(mark, most // 2, most) + len(mark) for mark in ("\n\n", "\n", " "))
        end = next((each for each in ends if each > most // 2), most)
        parts.append(text[:end].rstrip())
        text = text[end:]
    parts.append(text)
    return [part for part in parts if part.strip()]
