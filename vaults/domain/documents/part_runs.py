"""From parts to passages: neighbouring small turns of one speaker share a passage, as do small parts of a document at
one place under one heading; a long part is cut. Pure.

A run depends on the parts before it only, so that what is appended leaves all but the last as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from vaults.code import identifiers
from vaults.domain.documents.document_model import TRANSCRIPT, DocumentFields, DocumentPart, context_of, file_name
from vaults.domain.text.fields import hash_parts
from vaults.index.blocks import SEPARATOR
from vaults.index.chunker import estimate_tokens
from vaults.index.passages import Passage, cut_passages
from vaults.index.traits import is_adversarial

SMALL_TOKENS = 48
"""Tokens up to which a part may share its passage: a passage of its own would say too little."""

SMALL_CHARACTERS = 600
"""Characters above which a part's tokens need no counting."""

RUN_TOKENS = 120
"""Tokens of such a passage: about a paragraph."""

MAX_WORDS = 120
"""Parts of identifiers by which a piece of code is found: the words of ``getUserName``, which the text holds as one."""

_ENDS_APART = re.compile(r"(?:[|»«·•:]|\s[–—-])\s+\Z")
_BEGINS_APART = re.compile(r"\s*[|»«·•]|\s+[–—-]\s|:\s")

PAUSE = timedelta(minutes=30)
"""Silence after which a new passage begins."""


@dataclass(frozen=True, slots=True)
class PartRun:
    """Parts that share passages, and these. ``digest``: of the parts' text."""

    parts: tuple[DocumentPart, ...]
    passages: tuple[Passage, ...]
    digest: str


def cut_runs(fields: DocumentFields, parts: Sequence[DocumentPart], max_tokens: int) -> list[PartRun]:
    """The runs of a document's parts, or of the last ones, from where a run begins, in order."""
    runs: list[list[DocumentPart]] = []
    tokens = 0
    for part in parts:
        small = _count_small(fields, part)
        if runs and small and tokens and tokens + small <= RUN_TOKENS and _continues(runs[-1][-1], part):
            runs[-1].append(part)
            tokens += small
        else:
            runs.append([part])
            tokens = small
    return [_to_run(fields, tuple(run), max_tokens) for run in runs]


def _count_small(fields: DocumentFields, part: DocumentPart) -> int:
    """Tokens of a part that may share a passage; 0 for what may not. A symbol of source code stands for itself; so does
    a paragraph that gives orders, which must not pass for what stands beside it, nor make that look suspicious."""
    if fields.kind == "code" or len(part.text) > SMALL_CHARACTERS:
        return 0
    if fields.kind == "document" and is_adversarial(part.text):
        return 0
    tokens = max(1, estimate_tokens(part.text))
    return tokens if tokens <= SMALL_TOKENS else 0


def _continues(before: DocumentPart, part: DocumentPart) -> bool:
    if (before.author, before.role, before.thinking) != (part.author, part.role, part.thinking):
        return False
    if (before.heading, before.locator) != (part.heading, part.locator):
        return False
    if before.at is None or part.at is None:
        return True
    return datetime.fromisoformat(part.at) - datetime.fromisoformat(before.at) <= PAUSE


def _to_run(fields: DocumentFields, parts: tuple[DocumentPart, ...], max_tokens: int) -> PartRun:
    first = parts[0]
    text = ("\n" if fields.kind == TRANSCRIPT else "\n\n").join(part.text for part in parts)
    cut = tuple(cut_passages(_title(fields, first), text, _labels(fields, first), max_tokens))
    for passage in cut:
        passage.columns()
        passage.grams  # noqa: B018  computed once, here, not in the transaction
    return PartRun(parts, cut, hash_parts([(part.position, part.text) for part in parts]))


def _title(fields: DocumentFields, part: DocumentPart) -> str:
    """What a passage stands under: a turn says itself what it is about, as one that was remembered does."""
    if fields.kind == TRANSCRIPT:
        return part.heading or ""
    heading = part.heading or ""
    if heading == fields.title or heading.startswith(f"{fields.title}{SEPARATOR}"):  # the first heading is the title
        return heading
    first, _, rest = heading.partition(SEPARATOR)
    if _is_named_by(fields.title, first):  # said twice, its words would weigh twice
        heading = rest
    return SEPARATOR.join(filter(None, (fields.title, heading)))


def _is_named_by(title: str, heading: str) -> bool:
    """Whether a title is the heading with more set apart from it, such as the name of a site: "Tides | Harbour"."""
    if not heading or heading not in title:
        return False
    before, _, after = title.partition(heading)
    return bool((not before or _ENDS_APART.search(before)) and (not after or _BEGINS_APART.match(after)))


def _labels(fields: DocumentFields, part: DocumentPart) -> list[str]:
    """Words a passage is found by besides its text; by those of the whole document its first part is found."""
    whole = (fields.title, file_name(fields) or "") if part.position == 0 else ()
    person = part.author or fields.author or ""
    return [*whole, context_of(fields) or "", part.locator or "", person, *_code_words(fields, part)]


def _code_words(fields: DocumentFields, part: DocumentPart) -> list[str]:
    if fields.kind != "code":
        return []
    return identifiers.to_search_words(f"{part.heading or ''} {part.text}", MAX_WORDS)
