"""Basic Memory's notes are carried whole; its settings only say where they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.vaults.sources.sqlite_fixtures import read_source
from vaults.errors import InvalidArgument
from vaults.sources.basic_memory import SOURCE
from vaults.sources.source import SearchPlaces

# As `bm tool write-note` of 0.24.1 left it.
NOTE = """---
title: Coffee Brewing
type: note
permalink: work/notes/coffee-brewing
tags:
- coffee
- brewing
---

# Coffee Brewing

## Observations
- [method] Pour over provides more clarity #brewing #taste (V60)

## Relations
- relates_to [[Coffee Beans]]
- requires [[Proper Grinding]] (freshly ground)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "Coffee Brewing.md").write_text(NOTE)
    return folder


def write_settings(home: Path, projects: dict[str, object]) -> Path:
    """As in ``~/.basic-memory``, where its index lies too."""
    folder = home / ".basic-memory"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"env": "dev", "projects": projects, "default_project": "work"}))
    (folder / "memory.db").write_bytes(b"SQLite format 3\0")
    return folder


def test_a_note_is_carried_with_its_observations_and_relations(project: Path) -> None:
    found = read_source(SOURCE, project)
    (line,) = found.of("note")
    assert line["external_id"] == "basic-memory:note:notes/Coffee Brewing.md"
    assert (line["path"], line["content"]) == ("notes/Coffee Brewing.md", NOTE)
    assert found.left == {}


@pytest.mark.parametrize("newer", [True, False])
def test_projects_are_found_in_the_settings_of_either_generation(tmp_path: Path, project: Path, *, newer: bool) -> None:
    paths = {"work": str(project), "gone": str(tmp_path / "gone")}
    write_settings(tmp_path, {name: {"path": path, "mode": "local"} if newer else path for name, path in paths.items()})
    assert list(SOURCE.find(SearchPlaces(tmp_path, tmp_path))) == [project]


def test_without_settings_the_usual_folder_is_found(tmp_path: Path) -> None:
    assert list(SOURCE.find(SearchPlaces(tmp_path, tmp_path))) == []
    (tmp_path / "basic-memory").mkdir()
    assert list(SOURCE.find(SearchPlaces(tmp_path, tmp_path))) == [tmp_path / "basic-memory"]


def test_the_folder_of_the_settings_is_refused_with_the_projects(tmp_path: Path, project: Path) -> None:
    folder = write_settings(tmp_path, {"work": {"path": str(project)}})
    with pytest.raises(InvalidArgument, match=f"give a project's folder: {project}"), SOURCE.open(folder):
        pass
