"""What agents left in a vault that pages show: of each kind something, and texts that are long, foreign and hostile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.browser.agent import call_as_agent

LONG = "Averylongwordwithoutanyplacetobreakit" * 12
HOSTILE = "<script>alert(1)</script><svg onload=alert(1)> {{ 7*7 }} \u202eevil\u202c"

NOTE = f"""---
title: Cranes
tags: [harbour, heavy]
owner: Ann
---
# Cranes

Three stand on the quay, see [[Yard/Tides|the tides]] and [[Nowhere]].

## Work

- [ ] grease the ropes
- [x] paint the jib

| crane | tons |
|---|---:|
| north | 40 |
| {LONG} | 12 |

```python
lift({LONG!r})
```
"""

NOTES = {
    "Yard/Cranes.md": NOTE,
    "Yard/Tides.md": "# Tides\n\nHigh at noon. They decide when [[Cranes]] lift.\n",
    "Yard/Paint & co.md": "# Paint\n\nGreen paint for the [[Cranes]].\n",
    "Log.md": "# Log\n\nOne line.\n",
}


@dataclass(frozen=True)
class Harbour:
    """``memory``: one that replaced another; ``session``, ``document``: their ids."""

    memory: str
    session: str
    hostile: str
    document: str


def fill_harbour(address: str, token: str) -> Harbour:
    """Write it as an agent does."""

    def call(*calls: tuple[str, dict[str, Any]]) -> list[Any]:
        return call_as_agent(address, token, calls)

    notes = [("note_write", {"path": path, "content": content}) for path, content in NOTES.items()]
    first, hostile, *_ = call(
        ("remember", {"content": "The north crane lifts thirty tons.", "type": "fact", "tags": ["crane"]}),
        ("remember", {"content": f"{HOSTILE} {LONG}", "title": f"{HOSTILE} {LONG}"[:500]}),
        ("remember", {"content": "Ships are unloaded at night: the quay is free then.", "type": "decision"}),
        *notes,
        ("claims", {"action": "claim", "resources": ["quay/north"], "description": "repairs"}),
        ("session_save", {"goal": f"Paint the cranes {HOSTILE}", "summary": "Two are painted", "where_left_off": LONG}),
        ("note_write", {"path": "Log.md", "content": "# Log\n\nAnother line.\n", "mode": "overwrite"}),
    )
    newer, _, found, told = call(
        ("memory_supersede", {"id": first["id"], "content": "The north crane lifts forty tons.", "reason": "rebuilt"}),
        ("ingest", {"content": "The harbour rules.\n\nNobody swims here.", "title": "Rules"}),
        ("search", {"query": "swims", "mode": "keyword", "kinds": ["document"]}),
        ("session_history", {}),
    )
    return Harbour(newer["id"], told["sessions"][0]["id"], hostile["id"], found["hits"][0]["id"])
