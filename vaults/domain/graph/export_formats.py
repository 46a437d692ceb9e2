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

    node: Callable[[ExportNode], str]
    edge: Callable[[ExportEdge], str]
    whole: Callable[[Sequence[str], Sequence[str]], str]  # from nodes and edges to the document
    max_edges: int = 1_000_000  # max links that its readers accept


def _xml(text: str) -> str:
    return escape(_ILLEGAL.sub("\ufffd", text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _data(key: str, value: str) -> str:
    return f'<data key="{key}">{_xml(value)}</data>'


def _graphml_node(node: ExportNode) -> str:
    fields = _data("path", node.path) + _data("title", node.title) + _data("hub", f"{node.hub:g}")
    category = _data("category", node.category) if node.category else ""
    return f"<node id={quoteattr(f'n{node.n}')}>{fields}{category}</node>"


def _graphml_edge(edge: ExportEdge) -> str:
    return f'<edge source="n{edge.source}" target="n{edge.target}">{_data("times", str(edge.times))}</edge>'


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


def _graphml(nodes: Sequence[str], edges: Sequence[str]) -> str:
    body = "\n".join([*nodes, *edges])
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
        f'{_KEYS}<graph edgedefault="directed">\n{body}\n</graph>\n</graphml>\n'
    )


def _json_node(node: ExportNode) -> str:
    fields = {"id": node.n, "path": node.path, "title": node.title, "category": node.category or None, "hub": node.hub}
    return json.dumps({name: value for name, value in fields.items() if value is not None}, ensure_ascii=False)


def _json_edge(edge: ExportEdge) -> str:
    return json.dumps({"source": edge.source, "target": edge.target, "times": edge.times})


def _json(nodes: Sequence[str], edges: Sequence[str]) -> str:
    return f'{{"nodes": [\n{_rows(nodes)}\n],\n"links": [\n{_rows(edges)}\n]}}\n'


def _rows(parts: Sequence[str]) -> str:
    return ",\n".join(parts)


def _mermaid_node(node: ExportNode) -> str:
    return f'  n{node.n}["{mermaid_label(node.title)}"]'


def mermaid_label(name: str) -> str:
    """A name for use in quotes in Mermaid: everything but letters and plain signs becomes a numeric entity."""
    line = " ".join(escape_hidden(name).split())
    short = line if len(line) <= MAX_LABEL else f"{line[: MAX_LABEL - 1]}…"
    return _PLAIN.sub(lambda sign: f"#{ord(sign[0])};", short) or "#32;"


def _mermaid_edge(edge: ExportEdge) -> str:
    return f"  n{edge.source} --> n{edge.target}"


def _mermaid(nodes: Sequence[str], edges: Sequence[str]) -> str:
    return "\n".join(["graph LR", *nodes, *edges, ""])


FORMATS: Mapping[str, ExportFormat] = {
    "graphml": ExportFormat(_graphml_node, _graphml_edge, _graphml),
    "json": ExportFormat(_json_node, _json_edge, _json),
    "mermaid": ExportFormat(_mermaid_node, _mermaid_edge, _mermaid, max_edges=500),
}
"""Formats by name. Mermaid refuses to draw more than five hundred links."""
