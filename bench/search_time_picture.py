"""Stacked bars as SVG, from milliseconds by stage. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

COLOURS = ("#4c78a8", "#72b7b2", "#54a24b", "#eeca3b", "#f58518", "#e45756")
WIDTH, LEFT, BAR, GAP, TOP = 860, 130, 34, 18, 24
LEGEND_LINE = 20


def draw(bars: Mapping[str, Mapping[str, float]]) -> str:
    """A bar for each measurement, in order, and what the colours mean."""
    stages = list(next(iter(bars.values())))
    scale = (WIDTH - LEFT - 80) / max(sum(bar.values()) for bar in bars.values())
    bottom = TOP + len(bars) * (BAR + GAP)
    height = bottom + LEGEND_LINE * ((len(stages) + 1) // 2) + 10
    parts = [
        line for row, (name, bar) in enumerate(bars.items()) for line in _bar(name, bar, TOP + row * (BAR + GAP), scale)
    ]
    keys = [line for place, stage in enumerate(stages) for line in _key(stage, place, bottom)]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif"'
        ' font-size="13" role="img" aria-label="Processor time of a recall by stage, in milliseconds">'
    )
    return "\n".join([head, f'<rect width="{WIDTH}" height="{height}" fill="white"/>', *parts, *keys, "</svg>", ""])


def _bar(name: str, bar: Mapping[str, float], y: int, scale: float) -> Iterator[str]:
    yield f'<text x="{LEFT - 10}" y="{y + 22}" text-anchor="end">{escape(name)}</text>'
    x = float(LEFT)
    for (stage, ms), colour in zip(bar.items(), COLOURS, strict=False):
        width = ms * scale
        shape = f'x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{colour}"'
        yield f"<rect {shape}><title>{escape(stage)}: {ms:.2f} ms</title></rect>"
        if width > 34:
            yield f'<text x="{x + width / 2:.1f}" y="{y + 22}" text-anchor="middle" fill="white">{ms:.2f}</text>'
        x += width
    yield f'<text x="{x + 8:.1f}" y="{y + 22}">{sum(bar.values()):.1f} ms</text>'


def _key(stage: str, place: int, top: int) -> Iterator[str]:
    x, y = LEFT + (place % 2) * 320, top + (place // 2) * LEGEND_LINE
    yield f'<rect x="{x}" y="{y}" width="12" height="12" fill="{COLOURS[place]}"/>'
    yield f'<text x="{x + 18}" y="{y + 11}">{escape(stage)}</text>'
