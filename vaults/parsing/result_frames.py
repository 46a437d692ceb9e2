"""A result, a dataclass, as JSON in frames of bounded size, and back. What is read is checked against the types.

Fields that are tuples of dataclasses, such as the parts of a document, come in slices, so that the reader is never busy
with one frame for long, and never holds the whole of it twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter

FRAME_BYTES = 256 * 1024
"""Bytes of a frame that are aimed at; what one holds is not known before it is written."""

SLICE = 64
"""Items of a slice at most."""

MAX_FRAME = 64 * 1024 * 1024
"""Bytes of a frame at most."""

Result = TypeVar("Result")


class ResultFrame(NamedTuple):
    """A slice of the field ``field``, or, where that is None, the rest of the result and the last of its frames."""

    field: str | None
    body: bytes


class ResultCodec(Generic[Result]):
    """Reads and writes results of one type."""

    def __init__(self, kind: type[Result]) -> None:
        hints = get_type_hints(kind)
        self._whole = TypeAdapter[Any](kind)
        self._sliced = {
            each.name: TypeAdapter[Any](hint)
            for each in fields(kind)  # type: ignore[arg-type]  # a dataclass, which no type can say
            if get_origin(hint := hints[each.name]) is tuple and is_dataclass(get_args(hint)[0])
        }

    def to_frames(self, result: Any) -> Iterator[ResultFrame]:
        """The frames of a result."""
        for name, adapter in self._sliced.items():
            items = getattr(result, name)
            step = SLICE
            start = 0
            while start < len(items):
                body = adapter.dump_json(items[start : start + step])
                start += step
                yield ResultFrame(name, body)
                step = max(1, min(SLICE, step * FRAME_BYTES // len(body)))
        rest = replace(result, **dict.fromkeys(self._sliced, ()))
        yield ResultFrame(None, self._whole.dump_json(rest))

    def take(self, frame: ResultFrame, items: dict[str, list[Any]]) -> Result | None:
        """Take a frame: add its slice to ``items``; the result, made of these, once it was the last. Raises
        ``ValueError`` or ``KeyError`` for what is no frame of such a result."""
        if frame.field is not None:
            items.setdefault(frame.field, []).extend(self._sliced[frame.field].validate_json(frame.body))
            return None
        rest = self._whole.validate_json(frame.body)
        complete: Result = replace(rest, **{name: tuple(items.get(name, ())) for name in self._sliced})
        return complete
