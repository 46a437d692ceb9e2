"""Drawing a scene as SVG: no scripts, no external resources, every name escaped, readable on light and on dark."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from vaults.domain.graph.svg import text_metrics
from vaults.domain.graph.svg.labels import Label, LabelledDot, choose_max_width, measure_label, place_labels
from vaults.domain.graph.svg.layout import DotExtent, DotPlaces, PictureFrame, choose_distances, place_dots
from vaults.domain.graph.svg.scenes import Scene, SceneDot, SceneLine

WIDTH, HEIGHT = 1200, 800
FRAME = PictureFrame(24, 64, WIDTH - 24, HEIGHT - 56)

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9")
"""Distinguishable with any colour vision (Okabe and Ito, "Color Universal Design", 2008), on white and on black."""

GREY = "#8a8f98"

BOLD_FROM_SIZE = 14.0
"""Font size from which a label is bold."""

# The card has its own background, so the picture is readable on any page; without styles it is the light one.
_STYLE = (
    ".card{fill:#fcfcfa;stroke:#d9dce1}.ink{fill:#1d2127}.faint{fill:#5b626c}.halo{stroke:#fcfcfa}"
    "@media(prefers-color-scheme:dark){.card{fill:#14171c;stroke:#2c323b}.ink{fill:#e9ecf1}.faint{fill:#9aa3af}"
    ".halo{stroke:#14171c}}"
)
_FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"

# Characters that XML 1.0 does not allow.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG document, with the number of notes and links in it, and of labels that found a place."""

    svg: str
    notes: int
    links: int
    labels: int


def draw(scene: Scene) -> Picture:
    """Draw a scene; equal scenes give equal bytes."""
    discs, labels = compose(scene)
    parts = [
        *_write_head(scene),
        *_write_lines(scene, {disc.number: disc for disc in discs}),
        *_write_dots(scene, discs),
        *_write_labels(labels, scene.middle),
        *_write_legend(scene),
        "</svg>",
    ]
    return Picture("\n".join(parts) + "\n", len(scene.dots), len(scene.lines), len(labels))


def compose(scene: Scene) -> tuple[list[LabelledDot], list[Label]]:
    """Place the dots and labels of a scene."""
    places = _place_dots(scene)
    ems = choose_max_width(len(scene.dots))
    discs = [
        LabelledDot(
            dot.number,
            *places[dot.number],
            radius=_choose_radius(scene, dot),
            text=dot.title if dot.named else "",
            size=_choose_font_size(scene, dot),
            ems=ems,
        )
        for dot in scene.dots
    ]
    return discs, place_labels(discs, FRAME)


def _place_dots(scene: Scene) -> DotPlaces:
    """Place dots, with room below each for its label."""
    rooms, below, ems = {}, {}, choose_max_width(len(scene.dots))
    for dot in scene.dots:
        radius = _choose_radius(scene, dot)
        _, wide, high = measure_label(dot.title, _choose_font_size(scene, dot), ems) if dot.named else ((), 0.0, 0.0)
        rooms[dot.number] = DotExtent(max(radius, wide / 2) + 3, radius + high / 2 + 4)
        below[dot.number] = high / 2
    spots = place_dots(scene, FRAME, rooms)
    return {number: (x, round(y - below[number], 1)) for number, (x, y) in spots.items()}


def _choose_radius(scene: Scene, dot: SceneDot) -> float:
    if not dot.named:
        return 3.0
    if dot.number == scene.middle:
        return 22.0
    return round(5 + 13 * math.sqrt(dot.weight) * (0.8 if dot.hops > 1 else 1.0), 1)


def _choose_font_size(scene: Scene, dot: SceneDot) -> float:
    if dot.number == scene.middle:
        return 18.0
    return round(11 + 4 * math.sqrt(dot.weight), 1) if dot.hops < 2 else 11.0


def _write_head(scene: Scene) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        f' role="img" aria-labelledby="graph-title graph-desc" font-family="{_FONT}">'
    )
    yield f'<title id="graph-title">{_escape(scene.title)}</title>'
    yield f'<desc id="graph-desc">{_escape(_describe(scene))}</desc>'
    yield f"<style>{_STYLE}</style>"
    yield f'<rect class="card" fill="#fcfcfa" x=".5" y=".5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="12"/>'
    yield _write_text(24, 38, 20, text_metrics.shorten(scene.title, 40), "ink", more='font-weight="600"')
    yield _write_text(WIDTH - 24, 38, 13, _write_caption(scene), "faint", more='text-anchor="end"')


def _write_caption(scene: Scene) -> str:
    """How much is shown, and how much is left out."""
    several = [f"{len(scene.dots)} notes, {len(scene.lines)} links"]
    several += [f"{scene.hidden:,} more notes left out"] if scene.hidden else []
    several += [f"{scene.cut:,} links left out"] if scene.cut else []
    several += [f"{scene.alone:,} without links"] if scene.alone else []
    return " · ".join(several)


def _describe(scene: Scene) -> str:
    first = sorted(scene.dots, key=lambda dot: (-dot.weight, dot.path))[:10]
    named = ", ".join(text_metrics.shorten(dot.title, 30) for dot in first)
    return f"{_write_caption(scene)}. Most central: {named}." if first else "No note links to another."


def _write_lines(scene: Scene, discs: dict[int, LabelledDot]) -> Iterator[str]:
    """One path for all lines of the same style."""
    dots = {dot.number: dot for dot in scene.dots}
    telling = _find_shortest_lines(scene)
    alike: dict[tuple[str, float, float, bool], list[str]] = defaultdict(list)
    for line in scene.lines:
        source, target = dots[line.source], dots[line.target]
        look = _choose_line_style(scene, line, source, target, telling)
        alike[look].append(_stroke(discs[line.source], discs[line.target], arrow=look[3]))
    if any(arrow for *_, arrow in alike):
        yield (
            '<defs><marker id="graph-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
            f' markerUnits="userSpaceOnUse" orient="auto"><path d="M0 .8L8 4L0 7.2Z" fill="{GREY}"/></marker></defs>'
        )
    for (colour, opacity, wide, arrow), strokes in alike.items():
        paint = f'fill="none" stroke="{colour}" stroke-opacity="{opacity}" stroke-width="{wide}"'
        if not arrow:
            yield f'<path {paint} d="{"".join(strokes)}"/>'
            continue
        yield f'<g {paint} marker-end="url(#graph-arrow)">'
        yield from (f'<path d="{stroke}"/>' for stroke in strokes)
        yield "</g>"


def _find_shortest_lines(scene: Scene) -> frozenset[SceneLine]:
    """The two shortest lines of each dot, which join it to its closest neighbours. Emphasizing only these shows the
    shape of a graph that would otherwise be a thicket."""
    shortest: dict[int, list[tuple[float, int, SceneLine]]] = defaultdict(list)
    for place, (line, distance) in enumerate(choose_distances(scene)):
        for end in (line.source, line.target):
            shortest[end].append((distance, place, line))
    return frozenset(line for several in shortest.values() for *_, line in sorted(several)[:2])


def _choose_line_style(
    scene: Scene, line: SceneLine, source: SceneDot, target: SceneDot, telling: Collection[SceneLine]
) -> tuple[str, float, float, bool]:
    """Colour, opacity, width, and whether the line has an arrowhead."""
    if scene.middle is None:
        colour = _choose_colour(source) if source.group == target.group else GREY
        return (colour, 0.55, 1.2, False) if line in telling else (GREY, _choose_opacity(len(scene.lines)), 0.7, False)
    if scene.middle in (line.source, line.target):
        other = target if line.source == scene.middle else source
        return _choose_colour(other), 0.75, 2.2 if line.both else 1.3, not line.both
    return GREY, 0.28, 0.9, False


def _choose_opacity(lines: int) -> float:
    """The opacity of minor lines: the more there are, the fainter."""
    return round(min(0.5, 4.5 / math.sqrt(lines)), 2)


def _stroke(source: LabelledDot, target: LabelledDot, *, arrow: bool) -> str:
    across, down = target.x - source.x, target.y - source.y
    far = math.hypot(across, down) or 1.0
    gap = target.radius + 1.5 if arrow else 0.0
    left = max(0.0, 1 - gap / far)
    return f"M{source.x:g} {source.y:g}L{source.x + across * left:.1f} {source.y + down * left:.1f}"


def _write_dots(scene: Scene, discs: Sequence[LabelledDot]) -> Iterator[str]:
    """Small dots first, so that important ones lie on top."""
    for dot, disc in reversed(list(zip(scene.dots, discs, strict=True))):
        edge = ' class="halo" stroke="#fcfcfa" stroke-width="1.5"' if dot.named else ' fill-opacity=".65"'
        yield (
            f'<circle cx="{disc.x:g}" cy="{disc.y:g}" r="{disc.radius:g}" fill="{_choose_colour(dot)}"{edge}>'
            f"<title>{_escape(dot.title if dot.title == dot.path else f'{dot.title} ({dot.path})')}</title></circle>"
        )


def _write_labels(labels: Sequence[Label], middle: int | None) -> Iterator[str]:
    """Labels with an outline in the background colour, so that lines behind do not cross them out."""
    yield (
        '<g text-anchor="middle" class="ink halo" fill="#1d2127" stroke="#fcfcfa" stroke-width="3"'
        ' stroke-linejoin="round" paint-order="stroke">'
    )
    for label in labels:
        bold = ' font-weight="600"' if label.number == middle or label.size >= BOLD_FROM_SIZE else ""
        lines = "".join(
            f'<tspan x="{label.x:.1f}" dy="{label.size * 1.15 if place else 0:.1f}">{_escape(line)}</tspan>'
            for place, line in enumerate(label.lines)
        )
        yield f'<text y="{label.y:.1f}" font-size="{label.size:g}"{bold}>{lines}</text>'
    yield "</g>"


def _write_legend(scene: Scene) -> Iterator[str]:
    """The meaning of the colours, in a row at the bottom."""
    counted = Counter(dot.group for dot in scene.dots)
    if not scene.dots or len(counted) < 2:
        return
    left = 24.0
    yield _write_text(left, HEIGHT - 22, 12, f"{scene.by}:", "faint")
    left += text_metrics.measure_width(f"{scene.by}:", 12) + 14
    for group in [*range(len(scene.groups)), -1]:
        if group in counted:
            name = text_metrics.shorten(scene.groups[group] if group >= 0 else "others", 11)
            text = f"{name} ({counted[group]})"
            yield f'<circle cx="{left:.1f}" cy="{HEIGHT - 26}" r="5" fill="{COLOURS[group] if group >= 0 else GREY}"/>'
            yield _write_text(left + 10, HEIGHT - 22, 12, text, "ink")
            left += 28 + text_metrics.measure_width(text, 12)


def _choose_colour(dot: SceneDot) -> str:
    return COLOURS[dot.group] if dot.group >= 0 else GREY


def _write_text(x: float, y: float, size: float, text: str, colour: str, more: str = "") -> str:
    plain = "#1d2127" if colour == "ink" else "#5b626c"
    where = f'x="{x:.1f}" y="{y:.1f}" font-size="{size:g}"'
    return f'<text class="{colour}" fill="{plain}" {where} {more}>{_escape(text)}</text>'


def _escape(text: str) -> str:
    return escape(_UNWRITABLE.sub("\ufffd", text), {'"': "&quot;"})
