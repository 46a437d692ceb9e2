"""HTML: the main content without navigation and boilerplate, by headings; links as text (URL), tables as rows."""

from __future__ import annotations

import re
from typing import Any

from vaults.formats.html_content import drop_boilerplate, find_main, read_content
from vaults.formats.moments import to_moment
from vaults.formats.parsed_document import ParsedDocument, ParseFailed, ParseLimits
from vaults.formats.part_limits import clean_line, clean_text, take_parts
from vaults.formats.section_builder import SectionBuilder
from vaults.formats.text_encoding import read_text

_DECLARED = re.compile(
    rb"<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*[\"']?([A-Za-z0-9._-]{2,30})", re.IGNORECASE
)
_TAG = re.compile(
    r"<(?:script|style)\b.*?(?:</(?:script|style)\s*>|\Z)|<!--.*?(?:-->|\Z)|<[^<>]*>", re.DOTALL | re.IGNORECASE
)
_AUTHOR = ("author", "article:author", "dc.creator", "dcterms.creator", "citation_author")
_CREATED = (
    "article:published_time",
    "date",
    "dc.date",
    "dcterms.created",
    "citation_publication_date",
    "datepublished",
)
_MODIFIED = ("article:modified_time", "last-modified", "dcterms.modified", "og:updated_time", "datemodified")
_TITLE = ("og:title", "dc.title", "citation_title")


def parse(data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Parse a page. One that is nested deeper than the limit comes as text without structure."""
    warnings: list[str] = []
    declared = _DECLARED.search(data[:4096])
    text = read_text(data, limits, warnings, declared[1].decode("ascii") if declared else None)
    root, complete = load_page(text)
    sections = SectionBuilder()
    if not complete:
        warnings.append("nested too deep: read without its structure")
        sections.add_block(_strip_tags(text))
        return ParsedDocument(
            "html", "text/html", take_parts(sections.build(), limits, warnings), warnings=tuple(warnings)
        )
    about = _read_meta(root)
    drop_boilerplate(root)
    read_content(find_main(root), sections)
    parts = take_parts(sections.build(), limits, warnings)
    return ParsedDocument(
        format="html",
        mime="text/html",
        parts=parts,
        title=clean_line(_first(about, _TITLE) or about.get("title")) or clean_line(sections.title),
        author=clean_line(_first(about, _AUTHOR)),
        created_at=to_moment(_first(about, _CREATED)),
        modified_at=to_moment(_first(about, _MODIFIED)),
        warnings=tuple(warnings),
        metadata={
            key: line for key in ("description", "language", "canonical") if (line := clean_line(about.get(key)))
        },
    )


def load_page(text: str) -> tuple[Any, bool]:
    """The root of a page, and whether it holds the whole page."""
    from lxml import etree

    # huge_tree off: the parser stops where elements are nested more than 256 deep.
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=False, remove_comments=True, remove_pis=True, no_network=True)
    try:
        root = etree.fromstring(clean_text(text).encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:
        root = None
    if root is None:
        raise ParseFailed("empty", "the page holds nothing")
    return root, not any(
        error.type_name == "ERR_INTERNAL_ERROR" or "depth" in error.message for error in parser.error_log
    )


def _strip_tags(text: str) -> str:
    import html

    return re.sub(r"\n\s*\n\s*", "\n\n", html.unescape(_TAG.sub(" ", text)))


def _read_meta(root: Any) -> dict[str, str]:
    about: dict[str, str] = {}
    for meta in root.iter("meta"):
        name = meta.get("name") or meta.get("property") or meta.get("itemprop") or meta.get("http-equiv")
        if name and meta.get("content"):
            about.setdefault(name.strip().lower(), meta.get("content"))
    title = next(root.iter("title"), None)
    about["title"] = "".join(title.itertext()) if title is not None else ""
    about["language"] = root.get("lang") or ""
    links = (each.get("href") for each in root.iter("link") if each.get("rel") == "canonical")
    about["canonical"] = next(links, None) or ""
    return about


def _first(about: dict[str, str], names: tuple[str, ...]) -> str | None:
    return next((about[name] for name in names if about.get(name)), None)
