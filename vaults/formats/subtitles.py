"""Subtitles, SRT and WebVTT: what is said, in stretches of time."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

from vaults.formats.parsed_document import ParsedDocument, ParsedPart, ParseLimits
from vaults.formats.part_limits import take_parts
from vaults.formats.text_encoding import read_text

STRETCH_CHARACTERS = 1_500
"""Characters after which a stretch ends."""

_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d\d)[.,]\d{1,3}"
_TIMES = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^<>]{1,100})>")
_TAG = re.compile(r"<[^<>]{0,200}>|\{\\[^{}]{0,200}\}")


class Cue(NamedTuple):
    """What is shown at a time."""

    start: str
    end: str
    text: str


def parse(data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Parse either format."""
    warnings: list[str] = []
    text = read_text(data, limits, warnings)
    mime = "text/vtt" if text.startswith("WEBVTT") else "application/x-subrip"
    parts = take_parts(_join_cues(_read_cues(text)), limits, warnings)
    return ParsedDocument("subtitles", mime, parts, warnings=tuple(warnings))


def _read_cues(text: str) -> Iterator[Cue]:
    """The cues in order; a line that was shown in the cue before is not said twice."""
    shown: set[str] = set()
    for block in re.split(r"\n[ \t]*\n", text):
        lines = block.split("\n")
        at = next((number for number, line in enumerate(lines[:3]) if _TIMES.match(line)), None)
        if at is None:
            continue
        found = _TIMES.match(lines[at])
        assert found is not None
        said = [line for each in lines[at + 1 :] if (line := _clean(each))]
        fresh = [line for line in said if line not in shown]
        shown = set(said)
        if fresh:
            yield Cue(_to_time(found.groups()[:3]), _to_time(found.groups()[3:]), "\n".join(fresh))


def _clean(line: str) -> str:
    return html.unescape(_TAG.sub("", _VOICE.sub(r"\1: ", line))).strip()


def _to_time(numbers: tuple[str | None, ...]) -> str:
    hours, minutes, seconds = (int(each or 0) for each in numbers)
    return f"{hours:02}:{minutes:02}:{seconds:02}"


def _join_cues(cues: Iterator[Cue]) -> Iterator[ParsedPart]:
    kept: list[Cue] = []
    size = 0
    for cue in cues:
        if kept and size + len(cue.text) > STRETCH_CHARACTERS:
            yield _to_part(kept)
            kept, size = [], 0
        kept.append(cue)
        size += len(cue.text)
    if kept:
        yield _to_part(kept)


def _to_part(cues: list[Cue]) -> ParsedPart:
    return ParsedPart("\n".join(cue.text for cue in cues), locator=f"{cues[0].start}–{cues[-1].end}")
