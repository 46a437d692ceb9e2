"""Listing the values of a field, and finding different spellings of the same value. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from vaults.domain.schema.note_properties import NoteProperties
from vaults.markdown.tags import parse_tags

TAG_FIELDS = ("tags", "tag")
"""Fields in which one text may hold several values."""

MIN_SIMILARITY = 88.0
"""Min similarity of two values, in per cent, to count as spellings of one."""

MIN_SUGGESTION = 0.6
"""Min share of letters that match (optimal string alignment) for a value to be suggested."""

MAX_COMPARED = 300
"""Max values, most frequent first, that are compared letter by letter."""

MIN_LENGTH = 5
"""Min letters for similarity: in shorter words, one letter makes another word."""

_SEPARATORS = re.compile(r"[\s_\-./]+")


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A value and the notes that have it. ``near``: values that may be the same, spelled in another way."""

    value: str
    type: str
    notes: int
    near: list[str] = field(default_factory=list)


def list_field_values(notes: Sequence[NoteProperties], name: str) -> list[FieldValue]:
    """The values of a field, or the items of its lists, most used first."""
    counted: Counter[tuple[str, str]] = Counter()
    for note in notes:
        if (value := note.values.get(name)) is not None:
            kind = "string" if value.kind == "list" else str(value.kind)
            texts = parse_tags(list(value.texts)) if name in TAG_FIELDS else value.texts
            counted.update({(text, kind) for text in texts} or {("", str(value.kind))})
    ordered = sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))
    near = find_similar([text for (text, kind), _ in ordered if kind == "string"])
    return [FieldValue(text, kind, count, near.get(text, [])) for (text, kind), count in ordered]


def find_similar(texts: Sequence[str]) -> dict[str, list[str]]:
    """For each text with similar ones, those. Differences in case, accents, spaces, dashes and the like are ignored;
    so is a letter in a long text, unless the text contains digits."""
    by_key: defaultdict[str, list[str]] = defaultdict(list)
    for text in dict.fromkeys(texts):
        by_key[spelling_key(text)].append(text)
    keys = [key for key in by_key if len(key) >= MIN_LENGTH and not any(sign.isdigit() for sign in key)][:MAX_COMPARED]
    linked = {key: {key} for key in by_key}
    for one, two in _find_similar_keys(keys):
        linked[one].add(two)
        linked[two].add(one)
    found = {}
    for key, spelled in by_key.items():
        family = [text for each in sorted(linked[key]) for text in by_key[each]]
        for text in spelled:
            if others := [each for each in family if each != text]:
                found[text] = others[:MAX_COMPARED]
    return found


def _find_similar_keys(keys: Sequence[str]) -> list[tuple[str, str]]:
    if len(keys) < 2:
        return []
    from rapidfuzz import fuzz, process

    scores = process.cdist(keys, keys, scorer=fuzz.ratio, score_cutoff=MIN_SIMILARITY)
    pairs = scores.nonzero()
    return [(keys[a], keys[b]) for a, b in zip(*map(list, pairs), strict=True) if a < b]


def spelling_key(text: str) -> str:
    """A key that ignores case, accents, spaces, dashes, dots, slashes and underscores."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return _SEPARATORS.sub("", "".join(sign for sign in plain if not unicodedata.combining(sign)))


def suggest_value(text: str, among: Sequence[str]) -> str | None:
    """The value that ``text`` most likely stands for, if any."""
    key = spelling_key(text)
    same = next((each for each in among if spelling_key(each) == key), None)
    if same is not None or not among:
        return same
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    keys = {each: spelling_key(each) for each in among}
    found = process.extractOne(key, keys, scorer=OSA.normalized_similarity, score_cutoff=MIN_SUGGESTION)
    return found[2] if found else None
