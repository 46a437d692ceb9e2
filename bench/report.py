"""The table, in plain text and in Markdown, and the JSON beside it."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.figures import Figure
from bench.machine import one_line

WIDTH = 100
COLUMNS = (58, 12, 14, 8)
SIGNS = {"<=": "≤", "<": "<", ">=": "≥", "=": "="}


def number(value: float | None, unit: str) -> str:
    """A figure as people read it."""
    if value is None:
        return "–"
    if unit in ("MiB", "KiB"):
        return f"{value:.0f} {unit}"
    if unit == "ms":
        return f"{value:.1f} ms"
    text = f"{value:.0f}" if value == int(value) and unit == "" else f"{value:.3f}" if unit == "" else f"{value:.2f}"
    return f"{text} {unit}".strip()


def limit(figure: Figure) -> str:
    """The limit with its sense."""
    return "" if figure.limit is None else f"{SIGNS[figure.sense]} {number(figure.limit, figure.unit)}"


def plain(figures: Sequence[Figure], about: dict[str, Any]) -> str:
    """For a terminal; the numbers behind a figure stand below it."""
    head = ("figure", "measured", "limit", "")
    lines = [_row(head), "─" * WIDTH]
    for figure in figures:
        lines.append(_row((figure.name, number(figure.value, figure.unit), limit(figure), figure.verdict)))
        lines += textwrap.wrap(figure.raw, WIDTH, initial_indent="    ", subsequent_indent="    ")
    return "\n".join([*lines, "─" * WIDTH, *_foot(about)])


def markdown(figures: Sequence[Figure], about: dict[str, Any]) -> str:
    """For ``docs/figures.md``."""
    rows = [
        f"| {figure.name} | {number(figure.value, figure.unit)} | {limit(figure)} | {figure.verdict} |"
        for figure in figures
    ]
    return "\n".join(["| figure | measured | limit | |", "|---|---|---|---|", *rows, "", *_foot(about)])


def write_json(path: Path, figures: Sequence[Figure], about: dict[str, Any]) -> None:
    """Everything, for programs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = {"about": about, "figures": [figure.as_json() for figure in figures]}
    path.write_text(json.dumps(whole, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _row(cells: Sequence[str]) -> str:
    return " ".join(cell.ljust(width) for cell, width in zip(cells, COLUMNS, strict=True)).rstrip()


def _foot(about: dict[str, Any]) -> list[str]:
    notes = [
        one_line(about["machine"]),
        f"load {about['load_before']} at the start, {about['load_after']} at the end; {about['seconds']:.0f} s",
        "texts are made up (seeded); above 2,000 vectors are mixtures of real ones; rate limits are set out of reach",
    ]
    if about["scale"] != 1:
        notes.insert(0, "QUICK RUN: smaller sizes, fewer rounds; these figures only show that the bench works")
    return [line for note in notes for line in textwrap.wrap(note, WIDTH)]
