"""Summaries of a vault's fields, tags and folders. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from vaults.domain.schema.note_properties import NoteProperties

MAX_EXAMPLES = 3
"""Max different values shown of a field."""

EXAMPLE_LENGTH = 60
"""Max characters of an example."""

MAX_FOLDERS = 5
"""Max folders listed for a field, those with most of it."""

MAX_KEPT = 20
"""Max different values of a field from which examples are chosen."""

USUAL_SHARE = 0.5
"""Min share of a folder's notes for something to be usual there."""

TYPE_FIELD = "type"
"""The field that names a note's type."""


@dataclass(frozen=True, slots=True)
class FieldUse:
    """``type``: the one type its values have, or mixed; ``types``: notes by type; ``notes``: those that have it;
    ``folders``: where most of them are."""

    name: str
    type: str
    notes: int
    types: dict[str, int]
    examples: list[str]
    folders: dict[str, int]


@dataclass(frozen=True, slots=True)
class TagCount:
    """A tag as it is most often written, and the notes that carry it or one below it."""

    tag: str
    notes: int


@dataclass(frozen=True, slots=True)
class FolderOverview:
    """``notes``: right in it, ``below``: with those in its folders. ``fields``: shares of its own notes that have
    them, for fields most of them have. ``type``: what most of its notes say they are."""

    folder: str
    notes: int
    below: int
    fields: dict[str, float] = field(default_factory=dict)
    type: str | None = None


class _FieldCounts:
    """Counts for one field."""

    __slots__ = ("examples", "folders", "notes", "types")

    def __init__(self) -> None:
        self.notes = 0
        self.types: Counter[str] = Counter()
        self.folders: Counter[str] = Counter()
        self.examples: Counter[str] = Counter()


def summarize_fields(notes: Sequence[NoteProperties]) -> list[FieldUse]:
    """Every field, the most used first."""
    seen: defaultdict[str, _FieldCounts] = defaultdict(_FieldCounts)
    for note in notes:
        for name, value in note.values.items():
            counts = seen[name]
            counts.notes += 1
            counts.types[value.kind] += 1
            counts.folders[note.folder] += 1
            for text in value.texts[:MAX_EXAMPLES]:
                if text and (text in counts.examples or len(counts.examples) < MAX_KEPT):
                    counts.examples[text] += 1
    found = [_summarize_field(name, counts) for name, counts in seen.items()]
    return sorted(found, key=lambda each: (-each.notes, each.name))


def _summarize_field(name: str, counts: _FieldCounts) -> FieldUse:
    kinds = [kind for kind in counts.types if kind != "empty"]
    kind = "mixed" if len(kinds) > 1 else kinds[0] if kinds else "empty"
    examples = [text[:EXAMPLE_LENGTH] for text, _ in counts.examples.most_common(MAX_EXAMPLES)]
    folders = dict(counts.folders.most_common(MAX_FOLDERS))
    return FieldUse(
        name=name,
        type=kind,
        notes=counts.notes,
        types=dict(counts.types.most_common()),
        examples=examples,
        folders=folders,
    )


def count_tags(notes: Iterable[NoteProperties]) -> list[TagCount]:
    """Every tag, the most used first. A note with ``a/b`` counts for ``a`` as well."""
    counted: Counter[str] = Counter()
    spelt: dict[str, str] = {}
    for note in notes:
        found: dict[str, str] = {}
        for tag in note.tags:
            parts = tag.split("/")
            for end in range(1, len(parts) + 1):
                written = "/".join(parts[:end])
                found.setdefault(written.lower(), written)
        counted.update(found.keys())
        for key, written in found.items():
            spelt.setdefault(key, written)
    ordered = sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))
    return [TagCount(spelt[key], count) for key, count in ordered]


def summarize_folders(notes: Sequence[NoteProperties]) -> list[FolderOverview]:
    """Every folder with notes in it or below, by path; ``''`` is the notes folder itself."""
    own: defaultdict[str, list[NoteProperties]] = defaultdict(list)
    below: Counter[str] = Counter()
    for note in notes:
        own[note.folder].append(note)
        below.update(_ancestors(note.folder))
    return [_summarize_folder(name, own.get(name, []), below[name]) for name in sorted(below)]


def _ancestors(folder: str) -> list[str]:
    """The folder itself and all above it, up to the notes folder."""
    parts = folder.split("/") if folder else []
    return ["/".join(parts[:end]) for end in range(len(parts) + 1)]


def _summarize_folder(name: str, own: Sequence[NoteProperties], below: int) -> FolderOverview:
    counted: Counter[str] = Counter(field for note in own for field in note.values)
    usual = {each: round(n / len(own), 2) for each, n in counted.most_common() if n >= USUAL_SHARE * len(own)}
    types: Counter[str] = Counter(
        text for note in own if TYPE_FIELD in note.values for text in note.values[TYPE_FIELD].texts
    )
    most = types.most_common(1)
    return FolderOverview(
        name, len(own), below, usual, most[0][0] if most and most[0][1] >= USUAL_SHARE * len(own) else None
    )
