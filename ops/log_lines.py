"""Renders fields as exactly one line of text, whatever they hold.

Pure functions: no clock, no stream. Three things hold for every line: it is one line (control characters, ANSI
escapes and line separators come out as ``\\uXXXX``), it is at most ``LINE_LIMIT`` bytes of ASCII (a pipe takes that
many at once, so lines of several workers never mix), and nothing that looks like a JWT survives in it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import PurePath
from types import TracebackType
from typing import Any

from vaults.errors import StrongroomError

VALUE_LIMIT = 200  # characters of one value
LINE_LIMIT = 4096  # bytes of one line, newline included: PIPE_BUF of Linux
FRAMES = 6  # innermost frames named for a failure

_TOKEN = re.compile(r"eyJ[\w-]*\.[\w-]*(?:\.[\w-]*)?")
_AWKWARD = re.compile(r"[^ !#-\[\]-~]")  # whatever JSON would have to escape
_PLAIN = re.compile(r"[\w.,:/@+-]+", re.ASCII)


def _type_name(value: object) -> str:
    return f"<{type(value).__name__}>"


_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True, default=_type_name).encode


def clip(text: str, limit: int = VALUE_LIMIT) -> str:
    """``text`` without tokens, at most ``limit`` characters; a cut is marked by three dots."""
    # Cut before searching: a megabyte must cost no more than a line. The margin catches a token at the edge.
    text = text[: limit + 4096]
    if "eyJ" in text:
        text = _TOKEN.sub("[token]", text)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def tidy(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are set, clipped and JSON-safe."""
    kept: dict[str, Any] = {}
    for key, value in fields.items():
        if value is None:
            continue
        kind = type(value)
        if kind is str:
            kept[key] = value if len(value) <= VALUE_LIMIT and "eyJ" not in value else clip(value)
        elif kind is float:
            kept[key] = round(value, 3) if math.isfinite(value) else None
        elif kind is int or kind is bool:
            kept[key] = value
        elif isinstance(value, str):
            kept[key] = clip(str(value))
        else:
            kept[key] = clip(_encode(value)) if isinstance(value, list | tuple) else _type_name(value)
    return kept


def to_json_line(fields: Mapping[str, Any]) -> str:
    """One JSON object and a newline."""
    kept = tidy(fields)
    line = _encode(kept)
    if len(line) >= LINE_LIMIT:  # many values, each full of characters that take six bytes or more
        line = _encode({key: _to_plain(value) for key, value in kept.items()})
    return (line.replace("\x7f", "\\u007f") if "\x7f" in line else line) + "\n"


def _to_plain(value: Any) -> Any:
    return _AWKWARD.sub("?", value)[:100] if isinstance(value, str) else value


def to_text_line(fields: Mapping[str, Any]) -> str:
    """The same line for people: time, level, event, then ``key=value``."""
    kept = tidy(fields)
    head = f"{str(kept.pop('ts', ''))[11:23]} {kept.pop('level', 'info'):<7} {_word(kept.pop('event', ''))}"
    line = " ".join([head, *(f"{key}={_word(value)}" for key, value in kept.items())])
    return (line if len(line) < LINE_LIMIT else line[: LINE_LIMIT - 4] + "...") + "\n"


def _word(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        return value
    return _encode(value).replace("\x7f", "\\u007f")


def failure_fields(error: BaseException) -> dict[str, Any]:
    """What a log may say about an exception: type, place, and the reason if it is one of our errors.

    Never ``str(error)``: libraries put input into their messages, and input is memory text.
    """
    fields: dict[str, Any] = {"error": type(error).__qualname__, "where": _traceback_places(error.__traceback__)}
    if isinstance(error, StrongroomError):
        fields["reason"] = error.message  # written for people, free of content by the contract of vaults.errors
    elif isinstance(error, OSError) and error.strerror:
        fields["reason"] = error.strerror  # without the file's name
    cause = error.__cause__ or error.__context__
    if cause is not None:
        fields["cause"] = type(cause).__qualname__
    return fields


def _traceback_places(trace: TracebackType | None) -> str:
    places: list[str] = []
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(f"{'/'.join(PurePath(code.co_filename).parts[-2:])}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return " < ".join(reversed(places[-FRAMES:]))
