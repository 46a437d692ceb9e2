"""Frames between the server and a worker: the lengths of two parts, JSON, and raw bytes.

Never pickle: hostile bytes may own a worker, and must not own who reads its answers."""

from __future__ import annotations

import json
import struct
from typing import IO, Any

HEAD = struct.Struct(">IQ")
"""Length of the JSON, length of the bytes."""

MAX_JSON = 65_536
"""Max bytes of the JSON of one frame."""


def start_frame(message: bytes, body_size: int = 0) -> bytes:
    """A frame up to its body."""
    return HEAD.pack(len(message), body_size) + message


def to_json(value: Any) -> bytes:
    """A message as JSON."""
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def read_frame(stream: IO[bytes]) -> tuple[dict[str, Any], bytes] | None:
    """A request, as a worker reads it; None at the end of the stream."""
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    size, body_size = HEAD.unpack(head)
    message = stream.read(size)
    body = stream.read(body_size)
    return (json.loads(message), body) if len(body) == body_size else None
