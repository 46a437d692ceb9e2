"""Inferring what the notes of a folder or type have in common, with the share that conforms and exceptions. Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from vaults.domain.schema.note_properties import NoteProperties
from vaults.domain.schema.overview import TYPE_FIELD
from vaults.domain.schema.spellings import TAG_FIELDS

MIN_SHARE = 0.8
"""Min share of notes that makes a common practice a convention."""

MIN_NOTES = 5
"""Min notes in a folder or of a type for it to have conventions."""

MAX_CHOICES = 8
"""Max different values of a field for them to be a closed set."""

MIN_USES = 2
"""Min notes with a value for it to belong to a closed set: one that a single note has is an exception."""

ConventionRule = Literal["required", "type", "enum", "name", "tag"]


@dataclass(frozen=True, slots=True)
class Convention:
    """A convention of a folder, or of a type of notes."""

    of: Literal["folder", "type"]
    name: str  # of the folder or type
    rule: ConventionRule
    field: str | None  # the field, or the tag
    value: str | None  # the field's type, or the naming style
    choices: tuple[str, ...]  # the closed set of values
    notes: int  # how many were examined
    share: float  # of them that conform
    exceptions: tuple[str, ...]  # paths of the others


def infer_conventions(notes: Sequence[NoteProperties]) -> list[Convention]:
    """Conventions of every folder, and of every type of note except those that make up almost all of one folder."""
    by_folder: defaultdict[str, list[NoteProperties]] = defaultdict(list)
    by_type: defaultdict[str, list[NoteProperties]] = defaultdict(list)
    for note in notes:
        by_folder[note.folder].append(note)
        value = note.values.get(TYPE_FIELD)
        for text in value.texts if value and value.kind == "string" else ():
            by_type[text].append(note)
    found: list[Convention] = []
    for name in sorted(by_folder):
        found += _conventions_of("folder", name, by_folder[name])
    for name in sorted(by_type):
        homes = {note.folder for note in by_type[name]}
        if len(homes) > 1 or len(by_type[name]) < MIN_SHARE * len(by_folder[homes.pop()]):
            found += _conventions_of("type", name, by_type[name])
    return found


def _conventions_of(of: Literal["folder", "type"], name: str, notes: Sequence[NoteProperties]) -> Iterator[Convention]:
    if len(notes) < MIN_NOTES:
        return
    counted: Counter[str] = Counter(field for note in notes for field in note.values if field not in TAG_FIELDS)
    for field, number in counted.most_common():
        if number >= MIN_SHARE * len(notes):
            missing = [note.path for note in notes if field not in note.values]
            yield _make_convention((of, name, "required", field), notes, missing)
        if number >= MIN_NOTES:
            yield from _value_conventions(of, name, field, [note for note in notes if field in note.values])
    yield from _tag_conventions(of, name, notes)
    if of == "folder" and (kind := _name_convention(notes)) is not None:
        others = [note.path for note in notes if not NAME_PATTERNS[kind].fullmatch(stem(note.path))]
        yield _make_convention((of, name, "name", None), notes, others, value=kind)


def _make_convention(
    key: tuple[Literal["folder", "type"], str, ConventionRule, str | None],
    notes: Sequence[NoteProperties],
    exceptions: Sequence[str],
    value: str | None = None,
    choices: Sequence[str] = (),
) -> Convention:
    share = round(1 - len(exceptions) / len(notes), 3)
    return Convention(
        *key, value=value, choices=tuple(choices), notes=len(notes), share=share, exceptions=tuple(exceptions)
    )


def _value_conventions(
    of: Literal["folder", "type"], name: str, field: str, having: Sequence[NoteProperties]
) -> Iterator[Convention]:
    """Conventions for a field's type and its set of values. Notes with an empty value are no exceptions."""
    filled = [note for note in having if note.values[field].kind != "empty"]
    if len(filled) < MIN_NOTES:
        return
    [(kind, number)] = Counter(note.values[field].kind for note in filled).most_common(1)
    if number < MIN_SHARE * len(filled):
        return
    others = [note.path for note in filled if note.values[field].kind != kind]
    yield _make_convention((of, name, "type", field), filled, others, value=kind)
    if kind == "string" and not (of == "type" and field == TYPE_FIELD):
        yield from _choice_convention(of, name, field, [note for note in filled if note.values[field].kind == kind])


def _choice_convention(
    of: Literal["folder", "type"], name: str, field: str, filled: Sequence[NoteProperties]
) -> Iterator[Convention]:
    counted: Counter[str] = Counter(note.values[field].texts[0] for note in filled)
    often = [text for text, number in counted.most_common() if number >= MIN_USES]
    others = [note.path for note in filled if counted[note.values[field].texts[0]] < MIN_USES]
    closed = 1 <= len(often) <= MAX_CHOICES and len(often) * MIN_USES <= len(filled)
    if closed and len(filled) >= MIN_NOTES and len(others) <= (1 - MIN_SHARE) * len(filled):
        yield _make_convention((of, name, "enum", field), filled, others, choices=often)


def _tag_conventions(of: Literal["folder", "type"], name: str, notes: Sequence[NoteProperties]) -> Iterator[Convention]:
    carried = [add_parent_tags(note.tags) for note in notes]
    counted: Counter[str] = Counter(tag for tags in carried for tag in tags)
    # If as many notes carry a tag as carry one below it, the one below says more.
    dull = {tag.rpartition("/")[0] for tag, number in counted.items() if counted[tag.rpartition("/")[0]] == number}
    for tag, number in sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])):
        if number >= MIN_SHARE * len(notes) and tag not in dull:
            others = [note.path for note, tags in zip(notes, carried, strict=True) if tag not in tags]
            yield _make_convention((of, name, "tag", tag), notes, others)


def add_parent_tags(tags: Iterable[str]) -> set[str]:
    """Tags in lower case, with those above them: a note with ``a/b`` also carries ``a``."""
    parts = [tag.lower().split("/") for tag in tags]
    return {"/".join(each[:end]) for each in parts for end in range(1, len(each) + 1)}


NAME_PATTERNS = {
    "dated": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*"),
    "kebab-case": re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*"),
    "snake_case": re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*"),
    "Title Case": re.compile(r"[^\W\d_a-z][^\W_]*(?: [^\W_a-z][^\W_]*)*"),
}
"""Naming styles of files."""

_NAME_SEPARATORS = {"kebab-case": "-", "snake_case": "_", "Title Case": " "}


def _name_convention(notes: Sequence[NoteProperties]) -> str | None:
    """The naming style of most notes. A single word fits every style, so it is evidence for none."""
    names = [stem(note.path) for note in notes]
    for kind, pattern in NAME_PATTERNS.items():
        fitting = [name for name in names if pattern.fullmatch(name)]
        telling = [name for name in fitting if _NAME_SEPARATORS.get(kind, "") in name]
        if len(fitting) >= MIN_SHARE * len(names) and 2 * len(telling) >= len(fitting):
            return kind
    return None


def stem(path: str) -> str:
    """A note's file name without its extension."""
    return PurePosixPath(path).stem
