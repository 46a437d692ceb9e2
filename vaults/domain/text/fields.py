"""Texts and JSON as callers may give them: what pydantic checks where they arrive."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any

from pydantic import AfterValidator, Field


def clean(text: str) -> str:
    """The text, if it can be stored: NUL ends strings in too many readers, and lone surrogates are not text."""
    if "\x00" in text:
        raise ValueError("must not hold NUL characters")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("must be valid Unicode (it holds a lone surrogate)") from None
    return text


def _require_filled(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return clean(text)


JSON_DEPTH = 32
"""Max levels of JSON: more than people write, far fewer than any serialiser on the way back gives up at."""


def check_json_size(value: dict[str, Any], kilobytes: int) -> dict[str, Any]:
    """The object, if it can be stored. Raises ``ValueError`` when it is too deep, too long as JSON, or not JSON."""
    if _json_depth(value) > JSON_DEPTH:
        raise ValueError(f"must be at most {JSON_DEPTH} levels deep")
    try:
        size = len(_encode_object(value).encode("utf-8"))
    except (ValueError, RecursionError, UnicodeEncodeError):
        raise ValueError("must be plain JSON: no NaN, no lone surrogates, not too deep") from None
    if size > kilobytes * 1024:
        raise ValueError(f"must be at most {kilobytes} KB as JSON")
    return value


_encode_object = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def _json_depth(value: Any) -> int:
    """Levels of lists and objects. Iterative, since the value may be nested as deep as a body is long."""
    depth, level = 0, [value]
    while level := [inner for inner in level if isinstance(inner, dict | list)]:
        depth += 1
        level = [each for inner in level for each in (inner.values() if isinstance(inner, dict) else inner)]
    return depth


Text = Annotated[str, AfterValidator(clean)]
Filled = Annotated[str, AfterValidator(_require_filled)]
LABEL = 200
Label = Annotated[str, Field(min_length=1, max_length=LABEL), AfterValidator(_require_filled)]
Tag = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_require_filled)]


def hash_parts(*parts: object) -> str:
    """A digest of ``parts`` that no other list of parts shares."""
    return hashlib.sha256(_encode_parts(parts).encode()).hexdigest()[:32]


_encode_parts = json.JSONEncoder(default=str).encode  # ``json.dumps`` would make an encoder on every call
