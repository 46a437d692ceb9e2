"""The reference server's observations and relations become memories of their entities."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.vaults.sources.sqlite_fixtures import read_source
from vaults.errors import InvalidArgument
from vaults.sources.mcp_server_memory import SOURCE
from vaults.sources.source import SearchPlaces

# As the server of 2026.8.31 left it, without a newline at the end.
GRAPH = (
    '{"type":"entity","name":"Ann Lee","entityType":"person","observations":["speaks Spanish","works mornings"]}\n'
    '{"type":"entity","name":"Acme","entityType":"company","observations":[]}\n'
    '{"type":"relation","from":"Ann Lee","to":"Acme","relationType":"works_at"}'
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "memory.jsonl"
    path.write_text(GRAPH)
    return path


def test_observations_become_memories_of_their_entity(file: Path) -> None:
    found = read_source(SOURCE, file)
    assert [(line["content"], line["type"], line["entity"], line.get("metadata")) for line in found.lines] == [
        ("speaks Spanish", "observation", "Ann Lee", {"entity_type": "person"}),
        ("works mornings", "observation", "Ann Lee", {"entity_type": "person"}),
        ("Acme (company)", "fact", "Acme", {"entity_type": "company"}),
        ("Ann Lee works_at Acme", "fact", "Ann Lee", None),
    ]
    assert found.lines[-1]["subjects"] == [["works_at", "entity", "Acme"]]
    assert (found.unreadable, found.left) == ([], {})


def test_ids_stay_when_the_file_is_written_anew(file: Path) -> None:
    before = {line["external_id"] for line in read_source(SOURCE, file).lines}
    more = '{"type":"entity","name":"Bob","entityType":"person","observations":["speaks Spanish"]}'
    file.write_text("\n".join([more, *reversed(GRAPH.splitlines())]))
    after = {line["external_id"] for line in read_source(SOURCE, file).lines}
    assert before < after
    assert len(after) == 5


def test_odd_entities_are_read_as_far_as_they_say_something(file: Path) -> None:
    entities = [
        {"type": "entity", "name": "x" * 300, "observations": ["a", "a", "", {"text": "b"}, 3]},
        {"type": "entity", "name": "No list", "observations": None},
        {"type": "entity", "observations": ["of nothing"]},
        {"type": "relation", "from": "A", "to": "", "relationType": "knows"},
        {"type": "unheard of"},
        ["no object"],
    ]
    file.write_text("\n".join(json.dumps(each) for each in entities))
    found = read_source(SOURCE, file)
    assert [line["content"] for line in found.lines] == ["a", "b", "3", "No list"]
    assert found.lines[0]["metadata"]["entity_name"] == "x" * 300
    assert len(found.lines[0]["entity"]) == 200
    assert found.left == {"repeated observations": 1}
    assert [(each.place, each.reason) for each in found.unreadable] == [
        ("line 3", "is an entity without a name"),
        ("line 4", "is one without to"),
        ("line 5", "is neither an entity nor a relation"),
        ("line 6", "the line is not a JSON object"),
    ]


def test_a_long_observation_is_cut_into_parts(file: Path) -> None:
    file.write_text(json.dumps({"type": "entity", "name": "A", "observations": ["word " * 20_000]}))
    lines = read_source(SOURCE, file).lines
    assert [line["position"] for line in lines] == [0, 1]
    assert {line["parent"] for line in lines} == {lines[0]["external_id"]}


def test_its_folder_does_as_well_and_another_does_not(file: Path, tmp_path: Path) -> None:
    assert len(read_source(SOURCE, file.parent).lines) == 4
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidArgument, match=r"no memory\.jsonl"), SOURCE.open(tmp_path / "empty"):
        pass


def test_it_is_found_where_clients_keep_it(file: Path, tmp_path: Path) -> None:
    home, current = tmp_path / "home", tmp_path / "project"
    dist = home / ".npm/_npx/15b07286cbcc3329/node_modules/@modelcontextprotocol/server-memory/dist"
    dist.mkdir(parents=True)
    current.mkdir()
    (dist / "memory.jsonl").write_text(GRAPH)
    (current / "memory.json").write_text('{"of": "another program"}')
    settings = {"mcpServers": {"memory": {"command": "npx", "env": {"MEMORY_FILE_PATH": str(file)}}, "other": {}}}
    (current / ".mcp.json").write_text(json.dumps(settings))
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").write_text("[]")
    assert list(SOURCE.find(SearchPlaces(home, current))) == [file, dist / "memory.jsonl"]
