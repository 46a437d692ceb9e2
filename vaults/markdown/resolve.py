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
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def name_key(target: str) -> str:
    """The last part of a path or name without ``.md``, folded.

    A link's candidates are the notes whose file name, title or alias has the key of its target.
    """
    return _stem(folded(target.strip()).rpartition("/")[2])


def resolve(target: str, source: str, candidates: Sequence[Candidate]) -> str | None:
    """The path of the note that ``target``, a wiki link's name in the note ``source``, means; None: none, or several.

    An empty target (``[[#heading]]``) means the source.
    """
    if not target.strip():
        return source
    wanted = folded(target.strip())
    paths = _by_place(candidates)
    for place in (_from_root(wanted), _from_folder(wanted, source)):
        if place is not None and place in paths:
            return paths[place]
    return _unique(_stem(wanted), candidates)


def resolve_link(link: Link, source: str, candidates: Sequence[Candidate]) -> str | None:
    """The path of the note that ``link`` in the note ``source`` means."""
    if link.kind != "markdown":
        return resolve(link.target, source, candidates)
    if not link.target:
        return source
    wanted = folded(link.page)
    paths = _by_place(candidates)
    for place in (_from_folder(wanted, source), _from_root(wanted)):
        if place is not None and place in paths:
            return paths[place]
    return None


def _by_place(candidates: Sequence[Candidate]) -> dict[str, str]:
    """Paths by their folded form, and by that without ``.md``, which goes before ``.markdown``."""
    ordered = sorted(candidate.path for candidate in candidates)
    whole = {folded(path): path for path in reversed(ordered)}
    bare = {
        folded(path)[: -len(suffix)]: path
        for suffix in reversed(SUFFIXES)
        for path in reversed(ordered)
        if folded(path).endswith(suffix)
    }
    return {**bare, **whole}


def _stem(path: str) -> str:
    for suffix in SUFFIXES:
        if path.endswith(suffix) and len(path) > len(suffix):
            return path[: -len(suffix)]
    return path


def _from_root(wanted: str) -> str | None:
    return _inside(wanted.lstrip("/"))


def _from_folder(wanted: str, source: str) -> str | None:
    if wanted.startswith("/"):
        return None
    return _inside(posixpath.join(posixpath.dirname(folded(source)), wanted))


def _inside(path: str) -> str | None:
    """The path without ``.`` and ``..``; None where it leaves the vault."""
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
