"""The lines that contain links, read from the present files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from vaults.context import run_in
from vaults.domain.graph.graph_answers import GraphLink
from vaults.domain.text.sanitize import to_one_line
from vaults.errors import StrongroomError
from vaults.markdown.encoding import NotText, decode, to_lf_same_length
from vaults.vault import Vault

MAX_EXCERPT = 160
"""Max characters of a line that are shown around the link."""

MAX_BYTES = 32 * 1024 * 1024
"""Max bytes of files read for one answer; links beyond that come without their lines."""

LinePlace = tuple[str, int, str]
"""A note's path, a line number, and the text of the link there."""


async def add_lines(vault: Vault, links: Sequence[GraphLink]) -> list[GraphLink]:
    """Add the line that contains each link; a link whose line has changed since it was indexed gets none."""
    if not links:
        return []
    wanted: dict[str, set[tuple[int, str]]] = defaultdict(set)
    for link in links:
        wanted[link.source].add((link.line, link.as_written or link.heading or link.block or ""))
    found = await run_in(vault.shared.pool, _read_lines, vault, wanted)
    return [
        replace(link, context=found.get((link.source, link.line, link.as_written or link.heading or link.block or "")))
        for link in links
    ]


def _read_lines(vault: Vault, wanted: Mapping[str, Iterable[tuple[int, str]]]) -> dict[LinePlace, str]:
    found: dict[LinePlace, str] = {}
    left = MAX_BYTES
    for path, places in wanted.items():
        if left <= 0:
            break
        try:
            data = vault.notes.tree.read(path, vault.notes.settings.max_note).data
            rows = to_lf_same_length(decode(data).text).split("\n")
        except (StrongroomError, NotText):
            continue
        left -= len(data)
        for line, written in places:
            if line <= len(rows) and written in rows[line - 1]:
                found[path, line, written] = excerpt_around(rows[line - 1], written)
    return found


def excerpt_around(line: str, written: str) -> str:
    """The part of a line around ``written`` for an answer, sanitized and on one line."""
    room = max(0, MAX_EXCERPT - len(written)) // 2
    at = line.find(written)
    start, end = max(0, at - room), at + len(written) + room
    cut = to_one_line(line[start:end], MAX_EXCERPT)
    return f"{'…' if start else ''}{cut}{'…' if end < len(line) and not cut.endswith('…') else ''}"
