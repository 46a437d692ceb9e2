"""A result, a dataclass, as JSON in frames of bounded size, and back. What is read is checked against the types.

Fields that are tuples of dataclasses, such as the parts of a document, come in slices, so that the reader is never busy
with one frame for long, and never holds the whole of it twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter

FRAME_BYTES = 256 * 1024
"""Bytes after which a frame is full; one item may be larger."""

Result = TypeVar("Result")


class ResultCodec(Generic[Result]):
    """Reads and writes results of one type."""

    def __init__(self, kind: type[Result]) -> None:
        hints = get_type_hints(kind)
        self._whole = TypeAdapter[Any](kind)
        self._sliced = {
            each.name: TypeAdapter[Any](get_args(hint)[0])
            for each in fields(kind)  # type: ignore[arg-type]  # a dataclass, which no type can say
            if get_origin(hint := hints[each.name]) is tuple and is_dataclass(get_args(hint)[0])
        }

    def to_frames(self, result: Any) -> Iterator[bytes]:
        """The frames of a result; the last one has no ``field``."""
        for name, adapter in self._sliced.items():
            for items in _slices(adapter, getattr(result, name)):
                yield b'{"field":"%s","items":[%s]}' % (name.encode(), b",".join(items))
        rest = replace(result, **dict.fromkeys(self._sliced, ()))
        yield b'{"result":%s}' % self._whole.dump_json(rest)

    def take(self, message: dict[str, Any], items: dict[str, list[Any]]) -> Result | None:
        """Take a frame: add its slice to ``items``; the result, made of these, once it was the last. Raises
        ``ValueError`` or ``KeyError`` for what is no frame."""
        if "result" in message:
            rest = self._whole.validate_python(message["result"])
            complete: Result = replace(rest, **{name: tuple(items.get(name, ())) for name in self._sliced})
            return complete
        name = message["field"]
        adapter = self._sliced[name]
        items.setdefault(name, []).extend(adapter.validate_python(item) for item in message["items"])
        return None


def _slices(adapter: TypeAdapter[Any], items: tuple[Any, ...]) -> Iterator[list[bytes]]:
    slice_: list[bytes] = []
    size = 0
    for item in items:
        line = adapter.dump_json(item)
        slice_.append(line)
        size += len(line)
        if size >= FRAME_BYTES:
            yield slice_
            slice_, size = [], 0
    if slice_:
        yield slice_
