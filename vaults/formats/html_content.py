"""The content of an HTML page: which element holds it, what is no content, and its blocks in order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from vaults.formats.section_builder import SectionBuilder
from vaults.formats.table_text import to_table

_NEVER_READ = frozenset({
    "script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "canvas", "audio", "video", "map",
    "head", "button", "input", "select", "textarea", "option", "datalist", "dialog",
})  # fmt: skip
_AROUND = frozenset(("nav", "footer", "aside", "menu"))
_AROUND_ROLES = frozenset(
    ("navigation", "banner", "contentinfo", "search", "complementary", "menu", "menubar", "dialog", "alertdialog")
)
_AROUND_NAME = re.compile(
    r"(?:^|[\s_-])(?:nav|navbar|navigation|breadcrumbs?|sidebar|cookie|cookies|consent|banner|advert|ads?|promo|share|"
    r"sharing|social|newsletter|skip-?link|toc|menu|footer|popup|modal|related-posts)(?:$|[\s_-])",
    re.IGNORECASE,
)
_BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html",
    "li", "main", "menu", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead",
    "tr", "ul",
})  # fmt: skip
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_OUTSIDE = re.compile(r"(?:https?|mailto|ftp):", re.IGNORECASE)

MIN_CONTENT, MIN_LEFT = 200, 20
"""Characters below which a lone ``article`` is not the content of its page, and below which nothing would be left."""


def drop_boilerplate(root: Any) -> None:
    """Remove what nobody reads, and what stands around the content. Where nothing would be left, only the former."""
    from lxml import etree

    etree.strip_elements(root, *_NEVER_READ - {"head"}, with_tail=False)
    most = len(_text_of(root))
    around = list(_find_around(root, most))
    if most - sum(len(_text_of(each)) for each in around) >= MIN_LEFT:
        for each in around:
            _remove(each)


def _find_around(root: Any, most: int) -> Iterator[Any]:
    """The outermost elements that are no content."""
    from lxml import etree

    walk = etree.iterwalk(root, events=("start",))
    for _, each in walk:
        if _stands_around(each) and not _holds_content(each, most):
            yield each
            walk.skip_subtree()


def _stands_around(element: Any) -> bool:
    tag = element.tag
    if tag in ("html", "body", "main", "article"):
        return False
    if tag in _AROUND or element.get("role") in _AROUND_ROLES:
        return True
    if element.get("hidden") is not None or element.get("aria-hidden") == "true":
        return True
    if tag == "header":  # of the page; one of an article holds its title
        inside = any(above.tag in ("main", "article", "section") for above in element.iterancestors())
        return not inside and next(element.iter("h1"), None) is None
    named = f"{element.get('id') or ''} {element.get('class') or ''}"
    return tag in ("div", "ul", "section", "form") and _AROUND_NAME.search(named) is not None


def _holds_content(element: Any, most: int) -> bool:
    """Whether an element by whose name it stands around holds the page all the same, as a frame does."""
    if element.tag in _AROUND or element.tag == "header":
        return False
    return next(element.iter("main", "article"), None) is not None or 2 * len(_text_of(element)) > most


def _remove(element: Any) -> None:
    parent = element.getparent()
    if parent is None:
        return
    if element.tail:
        before = element.getprevious()
        if before is not None:
            before.tail = (before.tail or "") + element.tail
        else:
            parent.text = (parent.text or "") + element.tail
    parent.remove(element)


def _text_of(element: Any) -> str:
    return str(element.xpath("normalize-space(.)"))  # in C: a page may have frames in frames, each of which is asked


def find_main(root: Any) -> Any:
    """The element with the content: ``main``, else the only ``article``, else the body."""
    marked = [each for each in root.iter("main", "div", "section") if each.tag == "main" or each.get("role") == "main"]
    if marked and _text_of(marked[0]):
        return marked[0]
    articles = list(root.iter("article"))
    if len(articles) == 1 and len(_text_of(articles[0])) >= MIN_CONTENT:
        return articles[0]
    body = next(root.iter("body"), None)
    return root if body is None else body


def read_content(element: Any, sections: SectionBuilder) -> None:
    """Add what an element holds to the sections, in order."""
    from lxml import etree

    reader = _BlockReader(sections)
    walk = etree.iterwalk(element, events=("start", "end"))
    for event, each in walk:
        if event == "end":
            reader.leave(each, is_last=each is element)
        elif reader.enter(each):
            walk.skip_subtree()
    reader.end_block()


class _BlockReader:
    """Gathers inline text until a block ends."""

    def __init__(self, sections: SectionBuilder) -> None:
        self._sections = sections
        self._text: list[str] = []
        self._prefix = ""
        self._depth = 0  # of lists
        self._links: list[int] = []
        self._whole: Any = None  # an element that was read, or left out, with all it holds

    def enter(self, element: Any) -> bool:
        """Whether the element was read with all it holds."""
        tag = element.tag
        if tag in _NEVER_READ:
            self._whole = element
        elif tag == "table" and next(element.iterdescendants("table"), None) is None:
            self._whole = element
            self._read_table(element)
        elif tag == "pre":
            self._whole = element
            self._read_code(element)
        else:
            self._begin(element, tag)
            return False
        return True

    def _begin(self, element: Any, tag: str) -> None:
        if tag in _BLOCKS:
            self.end_block()
        if tag in ("ul", "ol"):
            self._depth += 1
        elif tag == "li":
            self._prefix = f"{'  ' * min(max(self._depth - 1, 0), 8)}- "
        elif tag == "a":
            self._links.append(len(self._text))
        elif tag == "img":
            self._text.append(f" {element.get('alt') or ''} ")
        elif tag == "br":
            self._text.append("\n")
        self._text.append(_fold(element.text))

    def leave(self, element: Any, *, is_last: bool) -> None:
        tag = element.tag
        if self._whole is element:
            self._whole = None
        elif tag == "a":
            self._end_link(element.get("href"))
        elif tag in _HEADINGS:
            self._sections.add_heading(_HEADINGS[tag], self._take())
        elif tag in _BLOCKS:
            self.end_block()
        if tag in ("ul", "ol"):
            self._depth = max(0, self._depth - 1)
        if not is_last:
            self._text.append(_fold(element.tail))

    def _end_link(self, address: str | None) -> None:
        start = self._links.pop() if self._links else len(self._text)
        said = "".join(self._text[start:]).strip()
        address = (address or "").strip()
        if said and _OUTSIDE.match(address) and address not in (said, f"mailto:{said}") and len(address) <= 500:
            self._text.append(f" ({address})")

    def _take(self) -> str:
        text = "".join(self._text)
        self._text, self._links = [], []
        return "\n".join(line for each in text.split("\n") if (line := " ".join(each.split())))

    def end_block(self) -> None:
        """The text so far is a block of its own."""
        text = self._take()
        if text:
            self._sections.add_block(f"{self._prefix}{text}")
            self._prefix = ""

    def _read_table(self, table: Any) -> None:
        """A table as rows; one with a single column is no table but layout."""
        self.end_block()
        rows = [[_text_of_cell(cell) for cell in row.iterchildren("td", "th")] for row in table.iter("tr")]
        self._sections.add_block("\n".join(_text_of(each) for each in table.iterchildren("caption")))
        if any(len(row) > 1 for row in rows):
            self._sections.add_block(to_table(rows))
        else:
            self._sections.add_block("\n\n".join(cell for row in rows for cell in row))

    def _read_code(self, element: Any) -> None:
        """Preformatted text as a fence, its blanks kept."""
        self.end_block()
        code = "".join(element.itertext()).strip("\n")
        if code.strip():
            mark = "`" * max(3, max((len(each) for each in re.findall(r"`+", code)), default=0) + 1)
            self._sections.add_block(f"{mark}\n{code}\n{mark}")


def _fold(text: str | None) -> str:
    return re.sub(r"\s+", " ", text) if text else ""


def _text_of_cell(cell: Any) -> str:
    return " ".join(" ".join(cell.itertext()).split())
