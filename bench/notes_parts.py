"""What made-up notes are made of: sections, frontmatter, tags and words of real notes, read where they lie.

Nothing of the real notes enters the repository. Where they are not there, the parts are made up too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from bench.run import ROOT

REAL = ROOT.parent / "shared" / "vaults" / "silverbullet-docs" / "notes"

MOST = 6_000
"""Characters of a section at most: a note is to be put together from several."""

SYLLABLES = re.findall("..", "badafegohijakulameniorpaqerosateumvawoxeyozuanelinisurtomonbe")
_FRONT = re.compile(r"\A---\r?\n(.*?)^---[ \t]*\r?\n", re.S | re.M)
_KEY = re.compile(r"^([A-Za-z][\w-]*):")
_HEADING = re.compile(r"#{1,6}[ \t]+\S")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_LINK = re.compile(r"(!?\[\[)([^\[\]|#\n]+)((?:[#|][^\[\]\n]*)?\]\])")
_TAG = re.compile(r"(?<!\S)#([A-Za-z][\w/-]+)")
_WORD = re.compile(r"\b[a-z]{3,14}\b")


@dataclass(frozen=True, slots=True)
class NoteSection:
    """Text with its heading. ``pieces`` is cut at the pages its wikilinks name: every second piece is such a name."""

    pieces: tuple[str, ...]

    @property
    def size(self) -> int:
        return sum(map(len, self.pieces))


@dataclass(frozen=True, slots=True)
class NoteParts:
    """What notes are put together from. ``properties`` are whole lines of frontmatter, by key."""

    sections: tuple[NoteSection, ...]
    properties: dict[str, tuple[str, ...]]
    tags: tuple[str, ...]
    words: tuple[str, ...]
    origin: str


def load_parts(folder: Path = REAL) -> NoteParts:
    """Of the real notes in ``folder``, else made up."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.md"))] if folder.is_dir() else []
    return _parts_from(texts, f"recombined from {len(texts)} real notes") if texts else invent_parts()


def invent_parts(seed: int = 1) -> NoteParts:
    """Parts that need nothing from outside."""
    return _parts_from(_made_up_notes(Random(seed)), "made up")


def invent_word(chance: Random) -> str:
    """A word there has hardly ever been."""
    return "".join(chance.choices(SYLLABLES, k=chance.randint(3, 5)))


def split_sections(body: str) -> Iterator[str]:
    """A note's text cut before every heading outside code fences; nothing is lost between the cuts."""
    held: list[str] = []
    fence = ""
    for line in body.splitlines(keepends=True):
        if mark := _FENCE.match(line):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        elif not fence and held and _HEADING.match(line):
            yield "".join(held)
            held = []
        held.append(line)
    if held:
        yield "".join(held)


def _parts_from(texts: Iterable[str], origin: str) -> NoteParts:
    sections: list[NoteSection] = []
    properties: dict[str, list[str]] = {}
    tags: set[str] = set()
    words: set[str] = set()
    for text in texts:
        front = _FRONT.match(text)
        for key, lines in _properties(front[1] if front else ""):
            properties.setdefault(key, []).append(lines)
        body = text[front.end() :] if front else text
        tags.update(_TAG.findall(body))
        words.update(_WORD.findall(body))
        sections += [_cut_at_links(each) for each in split_sections(body) if each.strip() and len(each) <= MOST]
    kept = {key: tuple(lines) for key, lines in sorted(properties.items()) if key not in ("tags", "aliases")}
    return NoteParts(tuple(sections), kept, tuple(sorted(tags)), tuple(sorted(words)), origin)


def _cut_at_links(section: str) -> NoteSection:
    pieces, last = [], 0
    for link in _LINK.finditer(section):
        pieces += [section[last : link.start(2)], link[2]]
        last = link.end(2)
    return NoteSection((*pieces, section[last:].rstrip() + "\n"))


def _properties(block: str) -> Iterator[tuple[str, str]]:
    held: list[str] = []
    key = ""
    for line in block.splitlines():
        if mark := _KEY.match(line):
            if key:
                yield key, "\n".join(held)
            key, held = mark[1], []
        held.append(line)
    if key:
        yield key, "\n".join(held)


def _made_up_notes(chance: Random) -> Iterator[str]:
    words = [invent_word(chance) for _ in range(3_000)]
    for number in range(200):
        text = f"---\nstatus: {chance.choice(words)}\nrank: {number}\n---\n"
        for _ in range(chance.randint(2, 6)):
            text += f"{'#' * chance.randint(1, 3)} {' '.join(chance.choices(words, k=2))}\n"
            for _ in range(chance.randint(1, 3)):
                said = chance.choices(words, k=chance.randint(20, 60))
                text += f"{' '.join(said)} [[{said[0]}]] #{said[1]}.\n\n"
        yield text
