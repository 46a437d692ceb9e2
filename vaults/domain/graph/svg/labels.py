"""Placing labels: next to their dots, overlapping no other label or dot, shortened where there is little room, left out
where there is none. The most important ones choose first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vaults.domain.graph.svg import text_metrics
from vaults.domain.graph.svg.layout import PictureFrame

LEADING = 1.15
"""Line height, in font sizes."""

_EMS = (10.0, 7.0, 4.5)
_ROOMY, _FEW = 13.0, 30
_DESCENT = 0.25


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in the picture."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Whether they overlap."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def within(self, frame: PictureFrame) -> bool:
        """Whether all of it is in the frame."""
        return (
            self.left >= frame.left
            and self.top >= frame.top
            and self.right <= frame.right
            and self.bottom <= frame.bottom
        )


@dataclass(frozen=True, slots=True)
class LabelledDot:
    """A placed dot and its label's text."""

    number: int
    x: float
    y: float
    radius: float
    text: str  # "" for no label
    size: float  # font size
    ems: float = _EMS[0]  # max width of the label

    @property
    def box(self) -> Box:
        """The square around it."""
        return Box(self.x - self.radius, self.y - self.radius, self.x + self.radius, self.y + self.radius)


@dataclass(frozen=True, slots=True)
class Label:
    """A placed text. ``x``, ``y``: the middle of the baseline of its first line."""

    number: int
    lines: tuple[str, ...]
    size: float
    box: Box

    @property
    def x(self) -> float:
        return (self.box.left + self.box.right) / 2

    @property
    def y(self) -> float:
        return self.box.top + self.size * (LEADING - _DESCENT)


def choose_max_width(discs: int) -> float:
    """Max width of labels, in ems, for a number of dots."""
    return _ROOMY if discs <= _FEW else _EMS[0]


def measure_label(text: str, size: float, ems: float) -> tuple[tuple[str, ...], float, float]:
    """The lines of a label at its longest, with their width and height."""
    return _measure_lines(text_metrics.wrap(text, ems), size)


def _measure_lines(lines: tuple[str, ...], size: float) -> tuple[tuple[str, ...], float, float]:
    return lines, max(text_metrics.measure_width(line, size) for line in lines), size * LEADING * len(lines)


def place_labels(discs: Sequence[LabelledDot], frame: PictureFrame) -> list[Label]:
    """Place the labels of dots, most important first."""
    found: list[Label] = []
    dots = [(disc.number, disc.box) for disc in discs]
    for disc in discs:
        if not disc.text:
            continue
        taken = [label.box for label in found] + [box for number, box in dots if number != disc.number]
        fitting = (
            label for label in _list_options(disc) if label.box.within(frame) and not _is_taken(label.box, taken)
        )
        if label := next(fitting, None):
            found.append(label)
    return found


def _is_taken(box: Box, taken: Sequence[Box]) -> bool:
    return any(box.meets(other) for other in taken)


def _list_options(disc: LabelledDot) -> Iterator[Label]:
    """Possible labels of a dot, best first: below, above, to the sides, diagonal; then the same with less text."""
    seen: set[tuple[str, ...]] = set()
    for ems in (disc.ems, *_EMS):
        lines, wide, high = _measure_lines(text_metrics.wrap(disc.text, ems), disc.size)
        if lines in seen:
            continue
        seen.add(lines)
        away, slant = disc.radius + 2.0, disc.radius * 0.75
        for left, top in (
            (disc.x - wide / 2, disc.y + away),
            (disc.x - wide / 2, disc.y - away - high),
            (disc.x + away + 1, disc.y - high / 2),
            (disc.x - away - 1 - wide, disc.y - high / 2),
            (disc.x + slant, disc.y + slant),
            (disc.x - slant - wide, disc.y + slant),
            (disc.x + slant, disc.y - slant - high),
            (disc.x - slant - wide, disc.y - slant - high),
        ):
            yield Label(disc.number, lines, disc.size, Box(left, top, left + wide, top + high))
