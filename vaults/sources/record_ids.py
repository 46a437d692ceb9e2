"""Ids for the records of other systems: the same in every reading, and different for what differs."""

from __future__ import annotations

import hashlib
import json

from vaults.sources.record_fields import to_label

_ROOM = 170  # below the limit of a label: a digest and the number of a part may follow


def to_external_id(*parts: str) -> str:
    """An id of ours from a system's name and its own ids. One that is too long, or not in one line as it is, ends in a
    digest."""
    whole = ":".join(parts)
    if len(whole) <= _ROOM and to_label(whole) == whole:
        return whole
    return f"{(to_label(whole) or '')[:_ROOM].rstrip()}~{digest(whole)}"


def digest(*texts: str) -> str:
    """A short digest that no other texts share."""
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]
