"""Which note a link means.

A wiki link's name is tried, whatever its case, as a path from the vault's root, as a path from the source's folder, as
the end of exactly one note's path, as exactly one note's title, and as exactly one note's alias. The first step that
knows a note decides: an end that fits several notes is ambiguous and means none of them, and no title is asked after.
A Markdown link is a path from the source's folder, then one from the root, and no guess beyond.
"""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vaults.markdown.link import Link

SUFFIXES = (".md", ".markdown")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A note a link may mean: its vault-relative path and the names it goes by."""

    path: str
    title: str | None = None
    aliases: Sequence[str] = ()


def folded(name: str) -> str:
    """A name as names are compared: in one normal form, without case."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def name_key(target: str) -> str:
    """The last part of a path or name without ``.md``, folded.

    A link's candidates are the notes whose file name, title or alias has the key of its target.
    """
    return _stem(folded(target.strip()).rpartition("/")[2])


class Known:
    """Notes that links may mean, made ready to be asked for many of them."""

    __slots__ = ("_candidates", "_places", "_unique")

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._candidates = candidates
        paths = [candidate.path for candidate in sorted(candidates, key=_rank, reverse=True)]
        places = {form: path for path in paths for form in (folded(_stem(path)), folded(path))}
        # Of two that differ in case alone, the one spelt so.
        self._places = places | {form: path for path in paths for form in (_stem(path), path)}
        self._unique: dict[str, str | None] = {}

    def resolve(self, target: str, source: str) -> str | None:
        """The path of the note that a wiki link's name means; None: none, or several. An empty one means the source."""
        name = target.strip()
        if not name:
            return source
        found = self._at(_from_root(name)) or self._at(_from_folder(name, source))
        return found or self._called(_stem(folded(name)))

    def resolve_link(self, link: Link, source: str) -> str | None:
        """The path of the note that ``link`` in the note ``source`` means."""
        if link.kind != "markdown":
            return self.resolve(link.target, source)
        if not link.target:
            return source
        return self._at(_from_folder(link.page, source)) or self._at(_from_root(link.page))

    def _at(self, place: str | None) -> str | None:
        if place is None:
            return None
        return self._places.get(place) or self._places.get(folded(place))

    def _called(self, wanted: str) -> str | None:
        if wanted not in self._unique:
            self._unique[wanted] = _unique(wanted, self._candidates)
        return self._unique[wanted]


def resolve(target: str, source: str, candidates: Sequence[Candidate]) -> str | None:
    """The path of the note that ``target``, a wiki link's name in the note ``source``, means; None: none, or several.

    An empty target (``[[#heading]]``) means the source.
    """
    return Known(candidates).resolve(target, source)


def resolve_link(link: Link, source: str, candidates: Sequence[Candidate]) -> str | None:
    """The path of the note that ``link`` in the note ``source`` means."""
    return Known(candidates).resolve_link(link, source)


def _rank(candidate: Candidate) -> tuple[bool, str]:
    return not candidate.path.lower().endswith(SUFFIXES[0]), candidate.path


def _stem(path: str) -> str:
    for suffix in SUFFIXES:
        if len(path) > len(suffix) and path[-len(suffix) :].lower() == suffix:
            return path[: -len(suffix)]
    return path


def _from_root(wanted: str) -> str | None:
    return _inside(wanted.lstrip("/"))


def _from_folder(wanted: str, source: str) -> str | None:
    if wanted.startswith("/"):
        return None
    return _inside(posixpath.join(posixpath.dirname(source), wanted))


def _inside(path: str) -> str | None:
    """The path without ``.`` and ``..``; None where it leaves the vault."""
    if path and path[0] != "." and path[-1] not in "./" and "/." not in path and "//" not in path:
        return path  # as most are
    plain = posixpath.normpath(path)
    return None if plain == ".." or plain.startswith("../") else plain


def _unique(wanted: str, candidates: Sequence[Candidate]) -> str | None:
    end = f"/{wanted}"
    steps: tuple[Callable[[Candidate], bool], ...] = (
        lambda candidate: f"/{_stem(folded(candidate.path))}".endswith(end),
        lambda candidate: candidate.title is not None and folded(candidate.title) == wanted,
        lambda candidate: any(folded(alias) == wanted for alias in candidate.aliases),
    )
    for fits in steps:
        found = {candidate.path for candidate in candidates if fits(candidate)}
        if found:
            return found.pop() if len(found) == 1 else None
    return None
