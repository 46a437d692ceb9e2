"""Which note a link means.

A wiki link's name is tried, whatever its case, as a path from the vault's root, as a path from the source's folder, as
the end of exactly one note's path, as exactly one note's title, and as exactly one note's alias. The first step that
knows a note decides: an end that fits several notes is ambiguous and means none of them, and titles are not tried.
A Markdown link is a path from the source's folder, then one from the root, and nothing else is tried.
"""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vaults.markdown.link import Link

SUFFIXES = (".md", ".markdown")


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """A note that a link may mean: its vault-relative path and its names."""

    path: str
    title: str | None = None
    aliases: Sequence[str] = ()


_LONGEST_SUFFIX = max(map(len, SUFFIXES))


def fold_name(name: str) -> str:
    """A name in the form in which names are compared: normalised, without case."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def name_key(target: str) -> str:
    """The last part of a path or name without ``.md``, folded. Unlike a title in a text, it keeps its punctuation.

    A link's candidates are the notes whose file name, title or alias has the key of its target.
    """
    return _strip_suffix(fold_name(target.strip()).rpartition("/")[2])


class TargetResolver:
    """Resolves many links among the same candidates."""

    __slots__ = ("_candidates", "_places", "_unique")

    def __init__(self, candidates: Sequence[LinkTarget]) -> None:
        self._candidates = candidates
        paths = [candidate.path for candidate in sorted(candidates, key=_rank_candidate, reverse=True)]
        places = {form: path for path in paths for form in (fold_name(_strip_suffix(path)), fold_name(path))}
        # Of two paths that differ in case alone, the exact spelling wins.
        self._places = places | {form: path for path in paths for form in (_strip_suffix(path), path)}
        self._unique: dict[str, str | None] = {}

    def resolve(self, target: str, source: str) -> str | None:
        """The path of the note that a wiki link's name means; None: none, or several. An empty one is the source."""
        name = target.strip()
        if not name:
            return source
        found = self._at(_root_paths(name)) or self._at(_relative_paths(name, source))
        return found or self._find_by_name(_strip_suffix(fold_name(name)))

    def resolve_link(self, link: Link, source: str) -> str | None:
        """The path of the note that ``link`` in the note ``source`` means."""
        if link.kind != "markdown":
            return self.resolve(link.target, source)
        if not link.target:
            return source
        return self._at(_relative_paths(link.page, source)) or self._at(_root_paths(link.page))

    def _at(self, place: str | None) -> str | None:
        if place is None:
            return None
        return self._places.get(place) or self._places.get(fold_name(place))

    def _find_by_name(self, wanted: str) -> str | None:
        if wanted not in self._unique:
            self._unique[wanted] = _only_match(wanted, self._candidates)
        return self._unique[wanted]


def resolve_target(target: str, source: str, candidates: Sequence[LinkTarget]) -> str | None:
    """The path of the note that ``target``, a wiki link's name in the note ``source``, means; None: none, or several.

    An empty target (``[[#heading]]``) means the source.
    """
    return TargetResolver(candidates).resolve(target, source)


def resolve_link(link: Link, source: str, candidates: Sequence[LinkTarget]) -> str | None:
    """The path of the note that ``link`` in the note ``source`` means."""
    return TargetResolver(candidates).resolve_link(link, source)


def _rank_candidate(candidate: LinkTarget) -> tuple[bool, str]:
    return not candidate.path.lower().endswith(SUFFIXES[0]), candidate.path


def _strip_suffix(path: str) -> str:
    end = path[-_LONGEST_SUFFIX:].lower()
    for suffix in SUFFIXES:
        if end.endswith(suffix) and len(path) > len(suffix):
            return path[: -len(suffix)]
    return path


def _root_paths(wanted: str) -> str | None:
    return _contained_path(wanted.lstrip("/"))


def _relative_paths(wanted: str, source: str) -> str | None:
    if wanted.startswith("/"):
        return None
    return _contained_path(posixpath.join(posixpath.dirname(source), wanted))


def _contained_path(path: str) -> str | None:
    """The path without ``.`` and ``..``; None if it leaves the vault."""
    if path and path[0] != "." and path[-1] not in "./" and "/." not in path and "//" not in path:
        return path  # as most are
    plain = posixpath.normpath(path)
    return None if plain == ".." or plain.startswith("../") else plain


def _only_match(wanted: str, candidates: Sequence[LinkTarget]) -> str | None:
    end = f"/{wanted}"
    steps: tuple[Callable[[LinkTarget], bool], ...] = (
        lambda candidate: f"/{_strip_suffix(fold_name(candidate.path))}".endswith(end),
        lambda candidate: candidate.title is not None and fold_name(candidate.title) == wanted,
        lambda candidate: any(fold_name(alias) == wanted for alias in candidate.aliases),
    )
    for fits in steps:
        found = {candidate.path for candidate in candidates if fits(candidate)}
        if found:
            return found.pop() if len(found) == 1 else None
    return None
