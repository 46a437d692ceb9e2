"""Passes over a home folder: what is new, what is left out, and that nothing is lost or comes twice."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.vaults.transcripts.reading import write_lines
from tests.vaults.transcripts.test_aider import FIRST
from tests.vaults.transcripts.test_aider import make as make_aider
from tests.vaults.transcripts.test_claude_code import WORK, record
from tests.vaults.transcripts.test_claude_code import make as make_claude
from tests.vaults.transcripts.test_cline import SHOWN, store, write_json
from tests.vaults.transcripts.test_codex import META, item, message
from tests.vaults.transcripts.test_codex import make as make_codex
from tests.vaults.transcripts.test_cursor import BUBBLES, make_file, put_conversation, user
from tests.vaults.transcripts.test_opencode import make_database
from vaults.domain.actors import workspace_key
from vaults.transcripts import harvest
from vaults.transcripts.document_lines import LineMaker
from vaults.transcripts.exclusions import HarvestRules
from vaults.transcripts.harvest import HarvestBatch, HarvestPass, HarvestTally
from vaults.transcripts.harvest_state import HarvestState
from vaults.transcripts.known import READERS


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


class Storage:
    """Takes lines as a vault would: whole ones replace, others add what is not known yet."""

    def __init__(self) -> None:
        self.documents: dict[str, dict[int, str]] = {}
        self.repeated = 0

    def take(self, lines: list[dict[str, Any]]) -> None:
        for line in lines:
            known = self.documents.setdefault(line["external_id"], {})
            if not line.get("append"):
                known.clear()
            for part in line["parts"]:
                assert part["position"] <= len(known), "a part is missing"
                self.repeated += part["position"] in known
                known[part["position"]] = part["text"]


def run(
    home: Path, storage: Storage, rules: HarvestRules | None = None, files: Any = None, stop: int | None = None
) -> HarvestTally:
    """One pass; ``stop``: killed after so many batches were stored, before the last was confirmed."""
    with HarvestState(home.parent / "harvest.db") as state:
        one = HarvestPass(state, LineMaker(home, lambda text: text, workspace_key), rules)
        for number, batch in enumerate(one.batches(files)):
            storage.take(batch.lines)
            if number == stop:
                break
            one.confirm(batch)
        return one.tally


def make_everything(home: Path) -> None:
    make_claude(home, WORK)
    make_codex(home, [META, item(message("user", "Hello"))])
    make_aider(home, FIRST)
    write_json(store(home) / "tasks" / "7" / "ui_messages.json", SHOWN)
    make_database(home)[1].close()
    db = make_file(user(home) / "globalStorage" / "state.vscdb")
    put_conversation(db, "c1", BUBBLES)
    db.close()


def see(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() + str(path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_second_pass_over_what_did_not_change_reads_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_everything(home)
    storage = Storage()
    tally = run(home, storage)
    assert (tally.files, tally.unchanged, tally.failed, len(storage.documents)) == (6, 0, [], 6)
    with _opened(home) as state:
        monkeypatch.setattr(os, "open", None)
        monkeypatch.setattr(Path, "open", None)
        again = HarvestPass(state, LineMaker(home, lambda text: text, workspace_key))
        assert list(again.batches()) == []
        assert again.tally.unchanged == 6


def test_nothing_is_written_beside_what_is_read(home: Path) -> None:
    make_everything(home)
    before = see(home)
    run(home, Storage())
    assert see(home) == before


def test_what_was_added_is_new(home: Path) -> None:
    path = make_claude(home, WORK)
    storage = Storage()
    run(home, storage)
    with path.open("a") as file:
        file.write(json.dumps(record("user", "Thanks", 20)) + "\n")
    tally = run(home, storage)
    assert (tally.conversations, tally.turns, storage.repeated) == (1, 1, 0)
    assert next(iter(storage.documents.values()))[6] == "Thanks"


def test_wherever_it_is_killed_nothing_is_lost(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_everything(home)
    path = make_claude(home, WORK * 30)
    expected = Storage()
    run(home, expected)
    (home.parent / "harvest.db").unlink()
    monkeypatch.setattr(harvest, "BATCH_CHARACTERS", 1)
    monkeypatch.setattr(harvest, "READ_BYTES", 2000)
    storage = Storage()
    for stop in range(8):
        run(home, storage, stop=stop)
    run(home, storage)
    assert storage.documents == expected.documents
    assert path.stat().st_size > 20_000
    assert run(home, storage).turns == 0


def test_a_batch_that_was_not_confirmed_comes_again_and_adds_nothing(home: Path) -> None:
    make_claude(home, WORK)
    storage = Storage()
    run(home, storage, stop=0)
    before = {name: dict(parts) for name, parts in storage.documents.items()}
    run(home, storage)
    assert storage.documents == before


def test_excluded_projects_are_left_out_until_they_are_not(home: Path) -> None:
    project = home / "harbour"
    project.mkdir()
    (project / ".strongroomignore").write_text("*\n")
    path = make_claude(home, [each | {"cwd": str(project)} if "message" in each else each for each in WORK])
    storage = Storage()
    assert run(home, storage).excluded == 1
    assert run(home, storage).unchanged == 1
    with path.open("a") as file:
        file.write(json.dumps(record("user", "More", 20) | {"cwd": str(project)}) + "\n")
    assert run(home, storage).excluded == 1
    assert storage.documents == {}
    (project / ".strongroomignore").unlink()
    run(home, storage)
    (parts,) = storage.documents.values()
    assert len(parts) == 7


def test_files_are_left_out_by_name_size_and_age(home: Path) -> None:
    path = make_claude(home, WORK)
    assert run(home, Storage(), HarvestRules(patterns=(".claude/",))).excluded == 1
    assert run(home, Storage(), HarvestRules(max_bytes=100)).too_large == 1
    os.utime(path, (1, 1))
    assert run(home, Storage(), HarvestRules(max_age_days=30)).too_old == 1
    assert run(home, Storage()).turns == 6


def test_one_file_that_cannot_be_read_does_not_stop_the_others(home: Path) -> None:
    make_claude(home, WORK)
    broken = store(home) / "tasks" / "7" / "ui_messages.json"
    broken.parent.mkdir(parents=True)
    broken.write_text('[{"ts"')
    (home / ".codex" / "sessions").mkdir(parents=True)
    storage = Storage()
    tally = run(home, storage)
    assert [path for path, _ in tally.failed] == [broken]
    assert len(storage.documents) == 1
    assert run(home, storage).failed == []  # tried again when it has changed
    write_json(broken, SHOWN)
    assert run(home, storage).failed == []
    assert len(storage.documents) == 2


def test_one_file_can_be_handed_over(home: Path) -> None:
    make_everything(home)
    other = write_lines(home / "talk.jsonl", [{"role": "user", "content": "Hi"}])
    storage = Storage()
    run(home, storage, files=[(READERS["jsonl"], other), (READERS["jsonl"], home / "gone.jsonl")])
    assert [list(parts.values()) for parts in storage.documents.values()] == [["Hi"]]


def test_lines_come_in_batches_of_bounded_size(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harvest, "BATCH_CHARACTERS", 100)
    for number in range(5):
        make_claude(home, WORK, f"session-{number}")
    with _opened(home) as state:
        one = HarvestPass(state, LineMaker(home, lambda text: text, workspace_key))
        batches: Iterator[HarvestBatch] = one.batches()
        assert [len(batch.lines) for batch in batches] == [1] * 5


def _opened(home: Path) -> HarvestState:
    return HarvestState(home.parent / "harvest.db")
