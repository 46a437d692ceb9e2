"""Jupyter notebooks: cells under the headings of their Markdown; outputs as short text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vaults.formats.heading_path import HeadingPath
from vaults.formats.json_values import load_json
from vaults.formats.number_ranges import describe_range
from vaults.formats.parsed_document import ParsedDocument, ParsedPart, ParseFailed, ParseLimits
from vaults.formats.part_cutting import PART_CHARACTERS, cut_text
from vaults.formats.part_limits import clean_line, take_parts
from vaults.formats.text_encoding import read_text
from vaults.markdown.edit.outline import read_outline

MAX_OUTPUT = 500
"""Characters read of the outputs of a cell."""


def parse(data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Parse a notebook of version 3 or 4. Raises ``ParseFailed``."""
    warnings: list[str] = []
    try:
        notebook = load_json(read_text(data, limits, warnings))
    except ValueError:
        raise ParseFailed("damaged", "the notebook is damaged or incomplete") from None
    cells = _list_cells(notebook)
    metadata = _mapping(notebook.get("metadata"))
    language = _language_of(metadata)
    parts = take_parts(_read_cells(cells, language), limits, warnings)
    return ParsedDocument(
        format="notebook",
        mime="application/x-ipynb+json",
        parts=parts,
        title=clean_line(_text(metadata.get("title"))) or _first_heading(parts),
        author=_authors_of(metadata),
        warnings=tuple(warnings),
        metadata={"language": language} if language else {},
    )


def _list_cells(notebook: Any) -> list[dict[str, Any]]:
    if not isinstance(notebook, dict):
        raise ParseFailed("damaged", "the notebook has no cells")
    found = notebook.get("cells")
    if found is None:
        sheets = notebook.get("worksheets")
        found = [cell for each in _items(sheets) for cell in _items(_mapping(each).get("cells"))]
    return [cell for cell in _items(found) if isinstance(cell, dict)]


def _read_cells(cells: list[dict[str, Any]], language: str) -> Iterator[ParsedPart]:
    """Cells of one section together, as far as they fit a part."""
    path = HeadingPath()
    kept: list[str] = []
    first = last = 0
    heading: str | None = None
    for number, cell in enumerate(cells, 1):
        text, level, title = _read_cell(cell, language)
        if kept and (level or sum(map(len, kept)) + len(text) > PART_CHARACTERS):
            yield from _to_parts(kept, heading, (first, last))
            kept, first = [], 0
        if level:
            path.enter(level, title)
        if text.strip():
            heading = path.text
            kept.append(text)
            first, last = first or number, number
    yield from _to_parts(kept, heading, (first, last))


def _to_parts(texts: list[str], heading: str | None, cells: tuple[int, int]) -> Iterator[ParsedPart]:
    place = f"cell{'s' if cells[0] != cells[1] else ''} {describe_range(*cells)}"
    for piece in cut_text("\n\n".join(texts)):
        yield ParsedPart(piece.text, heading=heading, locator=place)


def _read_cell(cell: dict[str, Any], language: str) -> tuple[str, int, str]:
    """Text, and the level and words of the heading a cell begins with (level 0: none)."""
    source = _text(cell.get("source") or cell.get("input"))
    kind = cell.get("cell_type")
    if kind == "heading":  # version 3
        level = cell.get("level")
        return source, int(level) if isinstance(level, str) and level.isdigit() else 1, source
    if kind != "code":
        return _read_markdown(source)
    outputs = "\n".join(_read_output(each) for each in _items(cell.get("outputs"))).strip()
    said = f"\n\nOutput:\n{_shorten(outputs)}" if outputs else ""
    return (f"```{language}\n{source}\n```{said}" if source.strip() else said.strip()), 0, ""


def _read_markdown(source: str) -> tuple[str, int, str]:
    marks = read_outline(source).marks
    if not marks or source[: marks[0].start].strip():
        return source, 0, ""
    rest = source[marks[0].end :]
    return rest if rest.strip() else marks[0].text, marks[0].level, marks[0].text


def _read_output(output: Any) -> str:
    shown = _mapping(output)
    data = _mapping(shown.get("data"))
    texts = [shown.get("text"), data.get("text/plain"), data.get("text/markdown")]
    failed = [f"{shown.get('ename')}: {shown.get('evalue')}"] if shown.get("ename") else []
    return "\n".join([*(_text(each) for each in texts if each), *failed])


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_OUTPUT else f"{text[:MAX_OUTPUT].rstrip()} …"


def _first_heading(parts: tuple[ParsedPart, ...]) -> str | None:
    return next((part.heading.partition(" › ")[0] for part in parts if part.heading), None)


def _language_of(metadata: dict[str, Any]) -> str:
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        named = _mapping(metadata.get(key)).get(name)
        if isinstance(named, str) and named.isalnum():
            return named[:30]
    return ""


def _authors_of(metadata: dict[str, Any]) -> str | None:
    return clean_line(", ".join(_text(_mapping(each).get("name")) for each in _items(metadata.get("authors"))[:20]))


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "".join(each for each in value if isinstance(each, str))
    return value if isinstance(value, str) else ""


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
