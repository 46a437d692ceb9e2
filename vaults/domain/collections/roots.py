"""Which folders may be read as a collection: none that a vault keeps for itself, and none that is read already."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vaults.domain.collections.collection_model import Collection, CollectionFields
from vaults.errors import InvalidArgument, NotFound
from vaults.files.paths import NOTE_SUFFIXES

_HINT = "an operator lists folders under collections.roots, or adds the collection where the server runs"


@dataclass(frozen=True, slots=True)
class RootRules:
    """``allowed``: the folders below which a root must lie; None: any will do. ``kept``: folders that vaults keep for
    themselves, this one's own notes aside; ``notes``: of this vault."""

    allowed: tuple[Path, ...] | None
    kept: tuple[Path, ...]
    notes: Path


def resolve_root(text: str, rules: RootRules) -> Path:
    """The folder a caller names, without links. Where only some are allowed, no answer tells which others there are.
    Raises ``InvalidArgument`` and ``NotFound``."""
    named = Path(text)
    if not named.is_absolute():
        raise InvalidArgument("root", "must be an absolute path, such as /srv/docs")
    root = Path(os.path.realpath(named))
    if rules.allowed is not None:
        _check_allowed(root, rules.allowed)
    if not root.is_dir():
        raise InvalidArgument("root", "is no folder that the server can read")
    return root


def _check_allowed(root: Path, allowed: Sequence[Path]) -> None:
    if not allowed:
        raise NotFound("no folder of this server may be added over the network", hint=_HINT)
    if not any(_is_in(root, Path(os.path.realpath(each))) for each in allowed):
        raise NotFound("root is in none of the folders that may be added over the network", hint=_HINT)


def check_free(fields: CollectionFields, others: Iterable[Collection], rules: RootRules) -> None:
    """Raises ``InvalidArgument`` for a root that a vault keeps for itself, or that overlaps with another collection. A
    collection of code may lie with the notes, of which it reads none."""
    root = fields.root
    if any(_is_in(root, kept) or _reaches(root, kept) for kept in rules.kept):
        raise InvalidArgument("root", "is, holds or lies in a folder that this server keeps for itself")
    if fields.kind != "code" and _overlap(root, rules.notes):
        raise InvalidArgument("root", "overlaps with the notes folder of this vault, whose files are read already")
    for other in others:
        if _overlap(root, other.fields.root):
            raise InvalidArgument(
                "root",
                f"overlaps with that of collection {other.fields.name}",
                hint="update that one, or exclude the folder there and remove it",
            )


def without_notes(fields: CollectionFields, rules: RootRules) -> CollectionFields:
    """A collection of code that overlaps with the notes leaves these out: they are found as notes."""
    if fields.kind != "code" or not _overlap(fields.root, rules.notes):
        return fields
    below = "" if _is_in(fields.root, rules.notes) else f"/{rules.notes.relative_to(fields.root).as_posix()}/**/"
    notes = [f"{below}*{suffix}" for suffix in NOTE_SUFFIXES]
    return replace(fields, exclude=(*fields.exclude, *(each for each in notes if each not in fields.exclude)))


def _is_in(path: Path, folder: Path) -> bool:
    return path == folder or path.is_relative_to(folder)


def _overlap(one: Path, other: Path) -> bool:
    return _is_in(one, other) or _is_in(other, one)


def _reaches(root: Path, kept: Path) -> bool:
    """Whether a walk below ``root`` comes to ``kept``: it enters no hidden folder."""
    return kept.is_relative_to(root) and not any(name.startswith(".") for name in kept.relative_to(root).parts)
