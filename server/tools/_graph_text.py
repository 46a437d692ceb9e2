"""What a model reads of an answer of the graph: names that others gave stand in one line, harmless."""

from __future__ import annotations

from collections.abc import Iterator

from server.tools._lines import told
from vaults.domain.disarming import disarm
from vaults.domain.graph import pictures
from vaults.domain.graph.answer import Answer, Circle, Gap, GraphLink, GraphMemory, GraphNode

TITLE = 80

PICTURED = "vault://graph and note://{path}/graph"


def text(found: Answer) -> str:
    """The answer, line by line."""
    return "\n".join(_lines(found)) or "Nothing found."


def _lines(found: Answer) -> Iterator[str]:
    if found.export is not None:
        yield _document(found, found.export)
        return
    if found.note:
        yield f"There is {told(found.note)}."
    if found.score is not None:
        yield f"Strength {found.score:g}: {_parts(found.parts)}."
    if found.summary is not None:
        yield ", ".join(f"{name} {value:g}" for name, value in found.summary.items())
    if found.total is not None and found.score is None and found.summary is None and not found.note:
        yield f"{_count(found)} of {found.total}:" if found.total else "None."
    yield from (_node(each) for each in found.nodes)
    yield from (_link(each) for each in found.links)
    yield from (_gap(each) for each in found.gaps or ())
    yield from (_circle(each) for each in found.circles or ())
    yield from (_memory(each) for each in found.memories or ())
    if found.cursor:
        yield "There is more: pass the cursor."
    elif found.truncated:
        yield "There is more: raise limit."


def _document(found: Answer, export: str) -> str:
    if found.format == pictures.FORMAT:
        kept = "the most central of them are shown" if found.truncated else "all are shown"
        kb = -(-len(export.encode()) // 1000)
        return f"A picture of {found.total} notes, {kept}: {kb} kB of SVG in export, as in the resources {PICTURED}."
    cut = ", cut to fit: take a note with depth, or more max_tokens" if found.truncated else ""
    return f"{found.format} of {found.total} notes{cut}:\n{disarm(export, adversarial=False).text}"


def _count(found: Answer) -> int:
    return len(found.circles or found.gaps or found.links or found.nodes)


def _parts(parts: dict[str, float] | None) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in (parts or {}).items()) or "nothing in common"


def _node(node: GraphNode) -> str:
    said = [f"{told(node.path)}: {told(node.title, TITLE)}" if node.path else f"no note is called {told(node.title)}"]
    if node.depth is not None:
        said.append(f"step {node.depth}")
    if node.score is not None:
        said.append(f"{node.score:g}")
    if node.parts:
        said.append(_parts(node.parts))
    if node.why:
        said.append(node.why)
    if node.links_in is not None:
        said.append(f"{node.links_in} in, {node.links_out} out, hub {node.hub or 0:g}")
    return "; ".join(said)


def _link(link: GraphLink) -> str:
    there = told(link.target) if link.target else "no note" + _could_be(link)
    place = f"#{told(link.heading, TITLE)}" if link.heading else f"#^{told(link.block, TITLE)}" if link.block else ""
    said = f" as {told(link.alias, TITLE)}" if link.alias else ""
    shown = f": {link.context}" if link.context else ""
    return f"- {told(link.source)}:{link.line} → {there}{place} [{told(link.as_written, TITLE)}]{said}{shown}"


def _could_be(link: GraphLink) -> str:
    return f" (fits {', '.join(map(told, link.could_be))})" if link.could_be else ""


def _gap(gap: Gap) -> str:
    return f"- {told(gap.one)} and {told(gap.other)}: {gap.score:g} ({_parts(gap.parts)})"


def _circle(circle: Circle) -> str:
    return f"- {circle.size} notes in a circle, such as {' → '.join(map(told, [*circle.through, circle.through[0]]))}"


def _memory(memory: GraphMemory) -> str:
    return f"- memory {memory.id} ({told(memory.relation, TITLE)}): {told(memory.title, TITLE)}"
