"""Links of a note to notes and files: wiki links, Markdown links and definitions, links in frontmatter."""

from __future__ import annotations

import re

from vaults.markdown.destinations import definitions, inline_links
from vaults.markdown.lines import LineCounter, matches
from vaults.markdown.link import Kind, Link
from vaults.markdown.scan import Scan

_WIKI = re.compile(
    r"\[\[([^\[\]|#\n\0]*+)(?:#([^\[\]|\n\0]*+))?+(?:\|((?:[^\[\]\n]++|\[(?!\[)|\](?!\]))*+))?+\]\]",
)


def links(scan: Scan, text: str) -> list[Link]:
    """Every link, in order. Code hides a link; a comment does not, for a renamed note is renamed there too."""
    found: list[Link] = []
    if scan.body_start:
        found += _wiki_links(scan.lines[: scan.body_start + 1], scan.lines, text, "frontmatter")
    found += _wiki_links(scan.linked, scan.lines, text, "wiki")
    wikis = len(found)
    if "](" in scan.linked:
        found += inline_links(scan, text)
    if "]:" in scan.linked:
        found += definitions(scan, text)
    if len(found) > wikis:
        found.sort(key=_start)
    return found


def _start(link: Link) -> int:
    return link.start


def _wiki_links(readable: str, lines: str, text: str, kind: Kind) -> list[Link]:
    found: list[Link] = []
    counter = LineCounter(lines)
    for match in matches(_WIKI, readable):
        start, target_start = match.start() - 1, match.start(1) - 1
        line = counter.line(start)
        if kind == "frontmatter" and text.startswith("#", counter.line_start()):
            continue
        target, anchor, alias = match[1], match[2] or "", match[3]
        if alias is not None:
            alias = text[match.start(3) - 1 : match.end(3) - 1].strip()
            if match[2] is None:
                target = target.removesuffix("\\")  # `[[note\|alias]]` in a table
            else:
                anchor = anchor.removesuffix("\\")
        target_start += len(target) - len(target.lstrip())
        target = target.strip()
        heading, block = apart(anchor) if anchor else ("", "")
        if not (target or heading or block):
            continue
        embed = readable[start] == "!"
        found.append(
            Link(
                kind, line, start - embed, match.end() - 1, target, target_start, target_start + len(target),
                heading, block, alias or "", embed,
            )
        )  # fmt: skip
    return found


def apart(anchor: str) -> tuple[str, str]:
    """Heading and block id of what follows the first ``#``."""
    heading, mark, block = anchor.rpartition("^")
    if mark and not heading.rstrip("#").strip():
        return "", block.strip()
    if mark and heading.endswith("#"):
        return heading.rstrip("#").strip(), block.strip()
    return anchor.strip(), ""
