"""Finds a note's links to notes and files: wiki links, Markdown links and definitions, links in frontmatter."""

from __future__ import annotations

import re

from vaults.markdown.lines import LineCounter, iter_matches
from vaults.markdown.link import Link, LinkKind
from vaults.markdown.markdown_links import find_definitions, find_inline_links
from vaults.markdown.scan import Scan

_WIKI = re.compile(
    r"\[\[([^\[\]|#\n\0]*+)(?:#([^\[\]|\n]*+))?+(?:\|((?:[^\[\]\n]++|\[(?!\[)|\](?!\]))*+))?+\]\]",
)


def find_links(scan: Scan, text: str) -> list[Link]:
    """Every link, in order. Code hides a link; a comment does not, because a rename applies there too."""
    found: list[Link] = []
    # Only code is blanked out: a code span may stand in a link's heading or words, and hides a bracket or bar in it.
    if scan.body_start:
        found += _wiki_links(scan.lines[: scan.body_start + 1], scan.lines, text, "frontmatter")
    found += _wiki_links(scan.linked, scan.lines, text, "wiki")
    wikis = len(found)
    if "](" in scan.linked:
        taken = {each.start + each.embed + 1 for each in found}  # `[[a|b](c)]]`: the second bracket is the first's
        found += [each for each in find_inline_links(scan, text) if each.start not in taken]
    if "]:" in scan.linked:
        found += find_definitions(scan, text)
    if len(found) > wikis:
        found.sort(key=_start_of)
    return found


def _start_of(link: Link) -> int:
    return link.start


def _wiki_links(readable: str, lines: str, text: str, kind: LinkKind) -> list[Link]:
    found: list[Link] = []
    counter = LineCounter(lines)
    for match in iter_matches(_WIKI, readable):
        start, target_start = match.start() - 1, match.start(1) - 1
        line = counter.line(start)
        if kind == "frontmatter" and text.startswith("#", counter.line_start()):
            continue
        if "\n" in lines[match.start() : match.end()]:
            continue
        target, alias = match[1], match[3]
        anchor = "" if match[2] is None else text[match.start(2) - 1 : match.end(2) - 1]
        if alias is not None:
            alias = text[match.start(3) - 1 : match.end(3) - 1].strip()
            if match[2] is None:
                target = target.removesuffix("\\")  # `[[note\|alias]]` in a table
            else:
                anchor = anchor.removesuffix("\\")
        target_start += len(target) - len(target.lstrip())
        target = target.strip()
        heading, block = split_anchor(anchor) if anchor else ("", "")
        if not (target or heading or block):
            continue
        embed = readable[start] == "!"
        found.append(
            Link(
                kind, target, line=line, start=start - embed, end=match.end() - 1, target_start=target_start,
                target_end=target_start + len(target), heading=heading, block=block, alias=alias or "", embed=embed,
            )
        )  # fmt: skip
    return found


def split_anchor(anchor: str) -> tuple[str, str]:
    """Heading and block id in the text after the first ``#``."""
    heading, mark, block = anchor.rpartition("^")
    if mark and not heading.rstrip("#").strip():
        return "", block.strip()
    if mark and heading.endswith("#"):
        return heading.rstrip("#").strip(), block.strip()
    return anchor.strip(), ""
