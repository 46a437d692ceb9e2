"""The graph as documents for other programs. Pure; names are escaped, whatever they contain."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from vaults.domain.text.sanitize import escape_hidden

MAX_LABEL = 80
"""Max characters of a name in a diagram."""

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PLAIN = re.compile(r"[^\w .,:+\-]")


@dataclass(frozen=True, slots=True)
class ExportNode:
    """A note in a document."""

    n: int  # its place in the document, from 1
    path: str
    title: str
    category: str
    hub: float  # how central it is, 0 to 100


@dataclass(frozen=True, slots=True)
class ExportEdge:
    """A note's links to another. ``times``: how many there are."""

    source: int
    target: int
    times: int


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """How a document is written."""

    dot: Callable[[ExportNode], str]
    arrow: Callable[[ExportEdge], str]
    whole: Callable[[Sequence[str], Sequence[str]], str]  # from dots and arrows to the document
    arrows: int = 1_000_000  # max links its readers accept


def _xml(text: str) -> str:
    return escape(_ILLEGAL.sub("\ufffd", text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _data(key: str, value: str) -> str:
    return f'<data key="{key}">{_xml(value)}</data>'


def _graphml_dot(dot: ExportNode) -> str:
    fields = _data("path", dot.path) + _data("title", dot.title) + _data("hub", f"{dot.hub:g}")
    category = _data("category", dot.category) if dot.category else ""
    return f"<node id={quoteattr(f'n{dot.n}')}>{fields}{category}</node>"


def _graphml_arrow(arrow: ExportEdge) -> str:
    return f'<edge source="n{arrow.source}" target="n{arrow.target}">{_data("times", str(arrow.times))}</edge>'


_KEYS = "".join(
    f'<key id="{name}" for="{of}" attr.name="{name}" attr.type="{kind}"/>\n'
    for name, of, kind in (
        ("path", "node", "string"),
        ("title", "node", "string"),
        ("category", "node", "string"),
        ("hub", "node", "double"),
        ("times", "edge", "int"),
    )
)


def _graphml(dots: Sequence[str], arrows: Sequence[str]) -> str:
    body = "\n".join([*dots, *arrows])
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
        f'{_KEYS}<graph edgedefault="directed">\n{body}\n</graph>\n</graphml>\n'
    )


def _json_dot(dot: ExportNode) -> str:
    fields = {"id": dot.n, "path": dot.path, "title": dot.title, "category": dot.category or None, "hub": dot.hub}
    return json.dumps({name: value for name, value in fields.items() if value is not None}, ensure_ascii=False)


def _json_arrow(arrow: ExportEdge) -> str:
    return json.dumps({"source": arrow.source, "target": arrow.target, "times": arrow.times})


def _json(dots: Sequence[str], arrows: Sequence[str]) -> str:
    return f'{{"nodes": [\n{_rows(dots)}\n],\n"links": [\n{_rows(arrows)}\n]}}\n'


def _rows(parts: Sequence[str]) -> str:
    return ",\n".join(parts)


def _mermaid_dot(dot: ExportNode) -> str:
    return f'  n{dot.n}["{mermaid_label(dot.title)}"]'


def mermaid_label(name: str) -> str:
    """A name for use in quotes in Mermaid: everything but letters and plain signs becomes a numeric entity."""
    line = " ".join(escape_hidden(name).split())
    short = line if len(line) <= MAX_LABEL else f"{line[: MAX_LABEL - 1]}…"
    return _PLAIN.sub(lambda sign: f"#{ord(sign[0])};", short) or "#32;"


def _mermaid_arrow(arrow: ExportEdge) -> str:
    return f"  n{arrow.source} --> n{arrow.target}"


def _mermaid(dots: Sequence[str], arrows: Sequence[str]) -> str:
    return "\n".join(["graph LR", *dots, *arrows, ""])


FORMATS: Mapping[str, ExportFormat] = {
    "graphml": ExportFormat(_graphml_dot, _graphml_arrow, _graphml),
    "json": ExportFormat(_json_dot, _json_arrow, _json),
    "mermaid": ExportFormat(_mermaid_dot, _mermaid_arrow, _mermaid, arrows=500),
}
"""Formats by name. Mermaid refuses to draw more than five hundred links."""
