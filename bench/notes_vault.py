"""A vault of any number of notes, put together from the sections, links and frontmatter of real ones.

The same count and seed give the same bytes. Links lead to notes of the made vault, one in ten to a note that is not
there. Each section gets a sentence of its own, so that no two passages are the same and words keep coming, as in
notes that people wrote.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random

from bench import notes_parts
from bench.notes_parts import NoteParts, NoteSection

SIZE = (2_050, 0.7)
"""Median characters of a note and the spread of their logarithm: links and tags make some more of it."""

FRONTMATTER, ALIASED, TASKS, JOURNAL, CRLF, BOM, MISSING = 0.6, 0.1, 0.35, 0.08, 0.03, 0.01, 0.1
"""Shares of notes, and of links, that have it."""

SECTION_LINES = 50
ACCENTS = ("Übersicht", "Café", "naïve", "日本語", "Größe")
FIRST_DAY = datetime.date(1990, 1, 1)


def write_notes(folder: Path, count: int, seed: int = 1, parts: NoteParts | None = None) -> list[str]:
    """Write ``count`` notes below ``folder``, which need not be there; their paths, relative to it."""
    made = []
    folders: set[Path] = set()
    for path, data in make_notes(count, seed, parts or default_parts()):
        target = folder / path
        if target.parent not in folders:
            target.parent.mkdir(parents=True, exist_ok=True)
            folders.add(target.parent)
        target.write_bytes(data)
        made.append(path)
    return made


def make_notes(count: int, seed: int, parts: NoteParts) -> Iterator[tuple[str, bytes]]:
    """Path and bytes of every note."""
    chance = Random(seed)
    paths = _paths(chance, count, parts)
    for path in paths:
        text = _note(chance, paths, parts)
        if chance.random() < CRLF:
            text = text.replace("\n", "\r\n")
        yield path, (b"\xef\xbb\xbf" if chance.random() < BOM else b"") + text.encode()


def make_long_note(lines: int, seed: int = 1) -> str:
    """One note of exactly ``lines`` lines, some 44 bytes each: a heading every 50, prose, tasks and links. Its middle
    section, ``middle_heading(lines)``, begins with the line ``State: step 0.``"""
    chance, words = Random(seed), default_parts().words
    held = []
    for number in range(lines):
        section, place = divmod(number, SECTION_LINES)
        if place == 0:
            line = f"## {_section(section)}" if section else "# A long note"
        elif place == 2 and _section(section) == middle_heading(lines):
            line = "State: step 0."
        elif place in (1, SECTION_LINES - 1):
            line = ""
        elif place == 5:
            line = f"- [ ] {' '.join(chance.choices(words, k=6))}"
        elif place == 7:
            line = f"See [[{chance.choice(words)} {number}]] for {chance.choice(words)}."
        else:
            line = f"{' '.join(chance.choices(words, k=5))} {number}."
        held.append(line)
    return "\n".join(held) + "\n"


def middle_heading(lines: int) -> str:
    """The heading in the middle of ``make_long_note(lines)``."""
    return _section(max(1, lines // SECTION_LINES // 2))


def make_linking_paragraph(target: str, number: int) -> str:
    """A paragraph with a link to the note at path ``target``, in one of the ways people write it."""
    page = target.removesuffix(".md")
    name = page.rpartition("/")[2]
    return f"\nLinks here: {(f'[[{page}]]', f'[[{page}|said otherwise]]', f'[[{name}]]')[number % 3]}.\n"


@cache
def default_parts() -> NoteParts:
    """Parts of the real notes, or made-up ones."""
    return notes_parts.load_parts()


def _section(number: int) -> str:
    return f"Section {number:05d}"


def _paths(chance: Random, count: int, parts: NoteParts) -> list[str]:
    folders = _folders(chance, max(4, count // 150), parts)
    taken: set[str] = set()
    made = []
    for number in range(count):
        if chance.random() < JOURNAL:
            folder, name = "Journal/", str(FIRST_DAY + datetime.timedelta(days=number))
        else:
            folder, name = chance.choice(folders), _name(chance, parts)
        if name.casefold() in taken:
            name = f"{name} {number}"
        taken.add(name.casefold())
        made.append(f"{folder}{name}.md")
    return made


def _folders(chance: Random, count: int, parts: NoteParts) -> list[str]:
    made = [""]
    while len(made) <= count:
        above = chance.choice(made)
        if above.count("/") < 3:
            made.append(f"{above}{chance.choice(parts.words).capitalize()} {len(made)}/")
    return made


def _name(chance: Random, parts: NoteParts) -> str:
    words = chance.choices(parts.words, k=chance.randint(1, 3))
    if chance.random() < 0.02:
        words.append(chance.choice(ACCENTS))
    return " ".join(words).capitalize()


def _note(chance: Random, paths: Sequence[str], parts: NoteParts) -> str:
    wanted = chance.lognormvariate(math.log(SIZE[0]), SIZE[1])
    held = [_frontmatter(chance, parts)] if chance.random() < FRONTMATTER else []
    size = sum(map(len, held))
    while size < wanted:
        section = chance.choice(parts.sections)
        if size + section.size > 1.5 * wanted and size + 400 > wanted:
            break
        held.append(_with_links(chance, section, paths))
        held.append(f"{_sentence(chance, parts)}\n")
        size += section.size + 100
    if chance.random() < TASKS:
        held.append("\n".join(_task(chance, parts) for _ in range(chance.randint(1, 5))) + "\n")
    also = ", ".join(f"[[{_page(chance, paths)}]]" for _ in range(chance.randint(2, 4)))
    held.append(f"See also: {also} #{chance.choice(parts.tags)}\n")
    return "\n".join(held)


def _with_links(chance: Random, section: NoteSection, paths: Sequence[str]) -> str:
    pieces = list(section.pieces)
    for place in range(1, len(pieces), 2):
        missing = chance.random() < MISSING
        pieces[place] = f"Nowhere {chance.randrange(1_000)}" if missing else _page(chance, paths)
    return "".join(pieces)


def _page(chance: Random, paths: Sequence[str]) -> str:
    """How a link names a note: some notes are linked to by many."""
    page = paths[int(len(paths) * chance.random() ** 2)].removesuffix(".md")
    return page if chance.random() < 0.6 else page.rpartition("/")[2]


def _frontmatter(chance: Random, parts: NoteParts) -> str:
    keys = chance.sample(list(parts.properties), k=min(len(parts.properties), chance.randint(1, 3)))
    lines = [chance.choice(parts.properties[key]) for key in keys]
    lines.append(f"tags: [{', '.join(chance.sample(parts.tags, k=min(3, len(parts.tags))))}]")
    if chance.random() < ALIASED:
        lines.append(f"aliases:\n- {notes_parts.invent_word(chance).capitalize()} {notes_parts.invent_word(chance)}")
    return "\n".join(["---", *lines, "---"])


def _task(chance: Random, parts: NoteParts) -> str:
    mark = chance.choice(" x")
    return f"* [{mark}] {' '.join(chance.choices(parts.words, k=5))} #{chance.choice(parts.tags)}"


def _sentence(chance: Random, parts: NoteParts) -> str:
    return f"\n{' '.join(chance.choices(parts.words, k=10)).capitalize()} {notes_parts.invent_word(chance)}."
