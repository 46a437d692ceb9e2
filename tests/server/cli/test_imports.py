"""``strongroom import`` as a person meets it: what it finds, shows beforehand, lists and takes back, here and far away.

Covers server.cli.imports, server.cli.import_views, server.cli.exports, server.cli.remote_options.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from tests.server.cli.command import ROOT, Strongroom

DAY = "2026-11-20T09:00:00.000Z"
LINES = [
    {"external_id": "m1", "content": "Deploys run on Friday", "type": "decision"},
    {"external_id": "m2", "content": "The build takes " + "very " * 60 + "long"},
    {"kind": "session", "external_id": "s1", "started_at": DAY, "goal": "ship it"},
    {"kind": "note", "external_id": "n1", "path": "daily/a.md", "content": "# A\n"},
]


def written(path: Path, *more: str) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES) + "".join(f"{line}\n" for line in more))
    return path


def test_without_a_source_it_says_what_can_be_read(strongroom: Strongroom) -> None:
    ran = strongroom("import")
    assert ran.code == 0
    assert re.search(r"^jsonl +strongroom +a file of lines of JSON, or the folder of an export$", ran.out, re.MULTILINE)
    found = strongroom("import", "--json").json
    assert {
        "source": "jsonl",
        "system": "strongroom",
        "path": "a file of lines of JSON, or the folder of an export",
    } in (found["sources"])


def test_a_dry_run_counts_and_shows_and_needs_no_vault(strongroom: Strongroom, tmp_path: Path) -> None:
    source = written(tmp_path / "in.jsonl", "bad", '{"content": ""}')
    before = source.read_bytes(), sorted(tmp_path.iterdir())
    ran = strongroom("import", "jsonl", str(source), "--dry-run", "--json")
    assert (ran.code, ran.json["counts"], ran.json["rejected"]) == (0, {"memory": 2, "session": 1, "note": 1}, 2)
    assert ran.json["samples"]["session"][0]["goal"] == "ship it"
    shown = strongroom("import", "jsonl", str(source), "--dry-run")
    assert shown.out.startswith("4 to import, 2 that cannot be taken; nothing was stored\n        2 memory\n")
    assert "          Deploys run on Friday\n" in shown.out
    assert max(map(len, shown.out.splitlines())) < 120
    assert "line 5: the line is not JSON" in shown.err
    assert (source.read_bytes(), sorted(tmp_path.iterdir())) == before


def test_fields_and_values_are_mapped_and_projects_given(strongroom: Strongroom, tmp_path: Path) -> None:
    strongroom("vault", "create", "main")
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "a plan", "type": "todo", "notes": [1]}\n{"text": "a fact", "type": "fact"}\n')
    maps = ("--map", "text=content", "--map", "notes=", "--map", "type:todo=plan", "--workspace", "boat")
    assert strongroom("import", "jsonl", str(source), "--vault", "main", *maps).out.startswith("2 stored")
    stored = strongroom("call", "memory_list", '{"workspace": "boat"}', "--vault", "main").json["memories"]
    assert {(each["content"], each["type"]) for each in stored} == {("a plan", "plan"), ("a fact", "fact")}
    wrong = strongroom("import", "jsonl", str(source), "--vault", "main", "--map", "type:todo")
    assert (wrong.code, "FIELD:VALUE=NEW" in wrong.err) == (2, True)


def test_runs_are_listed_and_taken_back(strongroom: Strongroom, tmp_path: Path) -> None:
    strongroom("vault", "create", "main")
    source = written(tmp_path / "in.jsonl", "bad")
    ran = strongroom("import", "jsonl", str(source), "--vault", "main", "--json")
    assert ran.json == {
        "counts": {"memory": {"stored": 2}, "session": {"stored": 1}, "note": {"stored": 1}},
        "rejected": 1,
        "left": {},
    }
    (run,) = strongroom("import", "list", "--vault", "main", "--json").json
    assert (run["source"], run["path"], run["counts"]["memory"]) == ("jsonl", str(source), {"stored": 2})
    head, line = strongroom("import", "list", "--vault", "main").out.splitlines()
    assert (head.split()[0], line.split()[0], line.split()[-2:]) == ("run", run["id"], ["4", "done"])
    undone = strongroom("import", "undo", run["id"][:13], "--vault", "main")
    assert undone.out == "4 removed, 0 as before, 0 changed here since and kept\n"
    assert strongroom.memories() == 0
    assert "undone" in strongroom("import", "list", "--vault", "main").out
    again = strongroom("import", "undo", run["id"], "--vault", "main", "--json")
    assert again.json == {"removed": {}, "restored": {}, "kept": {}}
    assert strongroom("import", "undo", run["id"], "--vault", "main").out == "nothing of it is left to take back\n"
    assert strongroom("import", "undo", "nothing", "--vault", "main").err == "strongroom: no import nothing\n"


def test_what_is_missing_or_unknown_is_named(strongroom: Strongroom, tmp_path: Path) -> None:
    strongroom("vault", "create", "main")
    source = str(written(tmp_path / "in.jsonl"))
    for args, word in (
        (("jsonl", "--vault", "main"), "PATH"),
        (("jsonl", source), "--vault"),
        (("list",), "--vault"),
        (("undo", "--vault", "main"), "RUN"),
        (
            ("lotus-notes", source, "--vault", "main"),
            "SOURCE lotus-notes is not known; there are basic-memory,",
        ),
        (("list", "--vault", "main", "--url", "https://h"), "--token-file"),
    ):
        ran = strongroom("import", *args)
        assert (ran.code, word in ran.err, "Traceback" in ran.err) == (2, True, False), (args, ran.err)


def test_records_are_shown_by_what_tells_most_of_them(strongroom: Strongroom, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    event = {"kind": "event", "external_id": "e1", "at": DAY, "type": "tool_call", "tool": "mm_store", "resource": "f3"}
    source.write_text(f"{json.dumps(LINES[3])}\n{json.dumps(event)}\n")
    shown = strongroom("import", "jsonl", str(source), "--dry-run").out.splitlines()
    assert [line.strip() for line in shown[1:]] == ["1 event", "mm_store", "1 note", "daily/a.md"]


def test_a_source_with_nothing_in_it_says_so_on_one_line(strongroom: Strongroom, tmp_path: Path) -> None:
    strongroom("vault", "create", "main")
    (tmp_path / "in.jsonl").write_text("")
    ran = strongroom("import", "jsonl", str(tmp_path / "in.jsonl"), "--vault", "main")
    assert ran.out == "0 stored, 0 known already, 0 rejected\n"


def test_columns_of_a_table_are_mapped_while_it_is_read(strongroom: Strongroom, tmp_path: Path) -> None:
    strongroom("vault", "create", "main")
    table = tmp_path / "in.csv"
    table.write_text("text;labels;kind;junk\nDeploys run on Monday;a, b;todo;x\n")
    mapped = ("--map", "text=content", "--map", "labels=tags", "--map", "kind=type", "--map", "junk=")
    ran = strongroom("import", "csv", str(table), "--vault", "main", *mapped, "--map", "type:todo=plan")
    assert ran.code == 0, ran.err
    memory = strongroom("call", "memory_list", "{}", "--vault", "main").json["memories"][0]
    assert (memory["content"], memory["tags"], memory["type"]) == ("Deploys run on Monday", ["a", "b"], "plan")


def test_the_commands_of_the_page_do_what_it_says(strongroom: Strongroom, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "import.md").read_text(encoding="utf-8").partition("## Into another server")[0]
    commands = [line for block in re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
                for line in block.splitlines()]  # fmt: skip
    assert len(commands) > 5
    strongroom("vault", "create", "main")
    (tmp_path / "backup").mkdir()
    written(tmp_path / "backup" / "memories.jsonl")
    (tmp_path / "old.jsonl").write_text('{"text": "a plan", "type": "todo", "notes": [1]}\n')
    for command in commands:
        args = shlex.split(command)[1:]
        if "undo" in args:
            args[2] = strongroom("import", "list", "--vault", "main", "--json").json[0]["id"]
        ran = strongroom(*args)
        assert ran.code == 0, (command, ran.err)
    assert strongroom.memories() == 1  # of the last command: the others were undone
