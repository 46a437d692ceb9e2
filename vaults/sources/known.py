"""Every source there is, by its name on the command line."""

from __future__ import annotations

from vaults.errors import InvalidArgument
from vaults.sources import (
    basic_memory,
    chatgpt,
    claude,
    flywheel,
    jsonl,
    local_recall,
    markdown,
    mcp_memory_service,
    mcp_server_memory,
    mem0,
    mempack,
    moltmind,
    nano_brain,
    tables,
)
from vaults.sources.source import Source

_MODULES = (
    basic_memory, chatgpt, claude, flywheel, jsonl, local_recall, markdown, mcp_memory_service, mcp_server_memory, mem0,
    mempack, moltmind, nano_brain, tables,
)  # fmt: skip
SOURCES: dict[str, Source] = {each.SOURCE.name: each.SOURCE for each in _MODULES}


def find_source(name: str) -> Source:
    """The source of this name. Raises ``InvalidArgument``."""
    if name not in SOURCES:
        raise InvalidArgument("SOURCE", f"{name[:40]} is not known; there are {', '.join(sorted(SOURCES))}")
    return SOURCES[name]
