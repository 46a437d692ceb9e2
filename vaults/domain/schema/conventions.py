"""What the notes of a folder, or of a type, do alike: inferred, with the shares that say so and exceptions. Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from vaults.domain.schema.note_properties import Sheet
from vaults.domain.schema.overview import TYPE
from vaults.domain.schema.spellings import TAGS

SHARE = 0.8
"""Share of notes from which on what they do alike is a convention."""

FEWEST = 5
"""Notes of a folder or a type below which they have no conventions."""

CHOICES = 8
"""Different values a field may have for them to be a closed set."""

OFTEN = 2
"""Notes that have a value of a closed set: one that a single note has is an exception."""

Rule = Literal["required", "type", "enum", "name", "tag"]


@dataclass(frozen=True, slots=True)
class Convention:
    """``of``: ``folder`` or ``type``, ``name``: which; ``notes``: how many were looked at, ``share`` of them do it.
    ``field``: the field, or the tag. ``value``: the type; the kind of name. ``choices``: the closed set.
    ``exceptions``: paths of notes that do otherwise."""

    of: Literal["folder", "type"]
    name: str
    rule: Rule
    field: str | None
    value: str | None
    choices: tuple[str, ...]
    notes: int
    share: float
    exceptions: tuple[str, ...]


def inferred(sheets: Sequence[Sheet]) -> list[Convention]:
    """Of every folder by itself, and of every type of note but those that are all but one folder's."""
    by_folder: defaultdict[str, list[Sheet]] = defaultdict(list)
    by_type: defaultdict[str, list[Sheet]] = defaultdict(list)
    for sheet in sheets:
        by_folder[sheet.folder].append(sheet)
        held = sheet.values.get(TYPE)
        for text in held.texts if held and held.kind == "string" else ():
            by_type[text].append(sheet)
    found: list[Convention] = []
    for name in sorted(by_folder):
        found += _of("folder", name, by_folder[name])
    for name in sorted(by_type):
        homes = {sheet.folder for sheet in by_type[name]}
        if len(homes) > 1 or len(by_type[name]) < SHARE * len(by_folder[homes.pop()]):
            found += _of("type", name, by_type[name])
    return found


def _of(of: Literal["folder", "type"], name: str, sheets: Sequence[Sheet]) -> Iterator[Convention]:
    if len(sheets) < FEWEST:
        return
    counted: Counter[str] = Counter(field for sheet in sheets for field in sheet.values if field not in TAGS)
    for field, number in counted.most_common():
        if number >= SHARE * len(sheets):
            missing = [sheet.path for sheet in sheets if field not in sheet.values]
            yield _made((of, name, "required", field), sheets, missing)
        if number >= FEWEST:
            yield from _values(of, name, field, [sheet for sheet in sheets if field in sheet.values])
    yield from _tags(of, name, sheets)
    if of == "folder" and (kind := _naming(sheets)) is not None:
        others = [sheet.path for sheet in sheets if not NAMES[kind].fullmatch(stem(sheet.path))]
        yield _made((of, name, "name", None), sheets, others, value=kind)


def _made(
    key: tuple[Literal["folder", "type"], str, Rule, str | None],
    sheets: Sequence[Sheet],
    exceptions: Sequence[str],
    value: str | None = None,
    choices: Sequence[str] = (),
) -> Convention:
    share = round(1 - len(exceptions) / len(sheets), 3)
    return Convention(*key, value, tuple(choices), len(sheets), share, tuple(exceptions))


def _values(of: Literal["folder", "type"], name: str, field: str, having: Sequence[Sheet]) -> Iterator[Convention]:
    """One type, and a closed set of values. Notes whose value is empty are no exceptions."""
    filled = [sheet for sheet in having if sheet.values[field].kind != "empty"]
    if len(filled) < FEWEST:
        return
    [(kind, number)] = Counter(sheet.values[field].kind for sheet in filled).most_common(1)
    if number < SHARE * len(filled):
        return
    others = [sheet.path for sheet in filled if sheet.values[field].kind != kind]
    yield _made((of, name, "type", field), filled, others, value=kind)
    if kind == "string" and not (of == "type" and field == TYPE):
        yield from _choices(of, name, field, [sheet for sheet in filled if sheet.values[field].kind == kind])


def _choices(of: Literal["folder", "type"], name: str, field: str, filled: Sequence[Sheet]) -> Iterator[Convention]:
    counted: Counter[str] = Counter(sheet.values[field].texts[0] for sheet in filled)
    often = [text for text, number in counted.most_common() if number >= OFTEN]
    others = [sheet.path for sheet in filled if counted[sheet.values[field].texts[0]] < OFTEN]
    closed = 1 <= len(often) <= CHOICES and len(often) * OFTEN <= len(filled)
    if closed and len(filled) >= FEWEST and len(others) <= (1 - SHARE) * len(filled):
        yield _made((of, name, "enum", field), filled, others, choices=often)


def _tags(of: Literal["folder", "type"], name: str, sheets: Sequence[Sheet]) -> Iterator[Convention]:
    carried = [with_parents(sheet.tags) for sheet in sheets]
    counted: Counter[str] = Counter(tag for tags in carried for tag in tags)
    # Of a tag and one below it that as many carry, the one below says more.
    dull = {tag.rpartition("/")[0] for tag, number in counted.items() if counted[tag.rpartition("/")[0]] == number}
    for tag, number in sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])):
        if number >= SHARE * len(sheets) and tag not in dull:
            others = [sheet.path for sheet, tags in zip(sheets, carried, strict=True) if tag not in tags]
            yield _made((of, name, "tag", tag), sheets, others)


def with_parents(tags: Iterable[str]) -> set[str]:
    """Tags in lower case, and those above them: a note with ``a/b`` carries ``a``."""
    parts = [tag.lower().split("/") for tag in tags]
    return {"/".join(each[:end]) for each in parts for end in range(1, len(each) + 1)}


NAMES = {
    "dated": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*"),
    "kebab-case": re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*"),
    "snake_case": re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*"),
    "Title Case": re.compile(r"[^\W\d_a-z][^\W_]*(?: [^\W_a-z][^\W_]*)*"),
}
"""How files may be named."""

_MARKS = {"kebab-case": "-", "snake_case": "_", "Title Case": " "}


def _naming(sheets: Sequence[Sheet]) -> str | None:
    """The kind of names most notes have. One word alone is of every kind, and speaks for none."""
    names = [stem(sheet.path) for sheet in sheets]
    for kind, pattern in NAMES.items():
        fitting = [name for name in names if pattern.fullmatch(name)]
        telling = [name for name in fitting if _MARKS.get(kind, "") in name]
        if len(fitting) >= SHARE * len(names) and 2 * len(telling) >= len(fitting):
            return kind
    return None


def stem(path: str) -> str:
    """A note's file name without its ending."""
    return PurePosixPath(path).stem
