"""Basic Memory: folders of Markdown, as the PyPI package basic-memory 0.24.1 writes them.

Its notes are the truth, its database is an index of them. They are carried whole: observations (``- [category] text
#tag``) and relations (``- relation [[Note]]``) are lines of the note and stay readable there, and a relation is a
wikilink, which makes a link here as well. So nothing is torn out of a note into memories of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vaults.errors import InvalidArgument
from vaults.sources.markdown import open_notes
from vaults.sources.source import SearchPlaces, Source, SourceReading

SYSTEM = "basic-memory"
_CONFIG = "config.json"
_CONFIG_BYTES = 1 << 20


def _find(places: SearchPlaces) -> Iterable[Path]:
    """The folders of its projects, from its settings; else where its first project lies."""
    projects = _read_projects(places.home / ".basic-memory" / _CONFIG)
    usual = places.home / "basic-memory"
    return [path for path in projects or [usual] if path.is_dir()]


def _read_projects(config: Path) -> list[Path]:
    """Folders of the local projects in its settings: since 0.19 a project is an object, before that it was a path."""
    try:
        with config.open("rb") as file:
            settings: Any = json.loads(file.read(_CONFIG_BYTES))
    except (OSError, ValueError, RecursionError):
        return []
    projects = settings.get("projects") if isinstance(settings, dict) else None
    entries = projects.values() if isinstance(projects, dict) else ()
    paths = [entry.get("path") if isinstance(entry, dict) else entry for entry in entries]
    return [Path(path).expanduser() for path in paths if isinstance(path, str) and path]


@contextmanager
def _open(path: Path) -> Iterator[SourceReading]:
    if projects := _read_projects(path / _CONFIG):
        names = ", ".join(str(each) for each in projects)
        raise InvalidArgument("PATH", f"{path} holds the settings of Basic Memory; give a project's folder: {names}")
    with open_notes(path, SYSTEM) as reading:
        yield reading


SOURCE = Source(SYSTEM, "Basic Memory", "the folder of a project, or a zip of it", _find, _open)
