"""Records of every kind: out of a vault and into another, twice, changed in between, and taken back.

Covers vaults.domain.import_export.lines, vaults.domain.import_export.line_import,
vaults.domain.import_export.record_tables, vaults.domain.import_export.record_export,
vaults.domain.import_export.file_lines, vaults.domain.import_export.import_runs,
vaults.domain.import_export.row_writer, vaults.domain.import_export.run_undo, vaults.domain.import_export.source_import.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest

from server.services import Services
from tests.conftest import Asking, Opening
from tests.importing import import_jsonl
from vaults.domain.actors import Actor
from vaults.domain.import_export import import_runs, run_undo
from vaults.domain.import_export.exports import export
from vaults.domain.import_export.line_import import import_lines
from vaults.domain.import_export.lines import LINE_KINDS
from vaults.domain.import_export.run_undo import UndoTally
from vaults.vault import Vault

OWNER = Actor("owner", "owner")
DAY = "2026-11-20T09:00:00.000Z"

ONE_OF_EACH: list[dict[str, Any]] = [
    {"external_id": "m1", "content": "Deploys run on Friday", "created_at": DAY, "access_count": 3, "accessed_at": DAY},
    {"external_id": "m2", "content": "Deploys run on Monday", "created_at": DAY, "supersedes": "m1"},
    {"kind": "session", "external_id": "s1", "started_at": DAY, "who": "ann", "goal": "ship it", "actions": ["built"],
     "threads": ["ship"], "status": "paused", "metadata": {"branch": "main"}},
    {"kind": "event", "external_id": "e1", "session": "s1", "at": DAY, "type": "memory_stored", "resource": "m1"},
    {"kind": "claim", "external_id": "c1", "resource": "src/db.ts", "session": "s1", "claimed_at": DAY},
    {"kind": "handoff", "external_id": "h1", "session": "s1", "goal": "go on", "next_action": "test",
     "constraints": ["no downtime"], "created_at": DAY},
    {"kind": "checkpoint", "external_id": "k1", "reason": "before lunch", "state": {"step": 3}, "thread": "ship",
     "created_at": DAY},
    {"kind": "feedback", "external_id": "f1", "type": "friction", "message": "slow", "tool": "recall", "at": DAY},
    {"kind": "correction", "external_id": "r1", "about": "memory", "subject": "m2", "wrong": "Monday",
     "instead": "Tuesday", "at": DAY},
    {"kind": "link", "external_id": "l1", "from": "m2", "relation": "explains", "to": "m1"},
    {"kind": "link_suppression", "external_id": "x1", "entity": "it", "folder": "daily", "at": DAY},
    {"kind": "link_feedback", "external_id": "v1", "entity": "Ada", "path": "daily/a.md", "verdict": "accepted",
     "at": DAY},
    {"kind": "link_application", "external_id": "p1", "entity": "Ada", "path": "daily/a.md", "term": "Ada", "at": DAY},
    {"kind": "dismissal", "external_id": "d1", "about": "merge", "names": ["Ada", "Ada L."], "at": DAY},
    {"kind": "document", "external_id": "t1", "format": "transcript", "title": "Paint", "parts": [
        {"text": "Which colour shall the harbour have?", "author": "ann", "role": "user", "at": DAY},
        {"text": "Blue lasts longest in salt water.", "role": "assistant"}]},
    {"kind": "note", "external_id": "n1", "path": "daily/a.md", "content": "# A\n\nAda was here.\n"},
    {"kind": "policy", "external_id": "y1", "name": "weekly", "yaml": "version: 1\nname: weekly\n"},
]  # fmt: skip


@pytest.fixture
async def services(opening: Opening) -> AsyncIterator[Services]:
    async with opening({"telemetry.keep": "36500d"}) as opened:  # events of a fixed day are kept, whenever this runs
        yield opened


@pytest.fixture
async def vault(services: Services) -> AsyncIterator[Vault]:
    async with services.pool.lease(services.registry_cache.entry("main")) as held:
        yield held


def written(path: Path, lines: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


async def exported(vault: Vault, folder: Path) -> dict[str, bytes]:
    await export(vault, folder, ["jsonl"])
    return {path.name: path.read_bytes() for path in folder.iterdir()}


async def undone(vault: Vault) -> UndoTally:
    newest = (await vault.db.read(lambda tx: import_runs.list_runs(tx, OWNER, 1)))[0]
    return await run_undo.undo(vault, OWNER, newest)


def test_there_is_a_line_of_every_kind() -> None:
    assert {line.get("kind", "memory") for line in ONE_OF_EACH} == set(LINE_KINDS)


async def test_every_kind_is_stored_once_and_known_again(vault: Vault, tmp_path: Path) -> None:
    path = written(tmp_path / "in.jsonl", ONE_OF_EACH)
    tally = await import_jsonl(vault, OWNER, path)
    assert (tally.stored, tally.rejected) == (len(ONE_OF_EACH), 0), path.with_name(
        "in.jsonl.rejected.jsonl"
    ).read_text()
    again = await import_jsonl(vault, OWNER, path)
    assert (again.stored, again.count("updated"), again.known) == (0, 0, len(ONE_OF_EACH))
    assert len(await vault.db.read(lambda tx: import_runs.list_runs(tx, OWNER, 9))) == 1  # the second brought nothing


async def test_an_export_of_everything_comes_back_byte_for_byte(vault: Vault, tmp_path: Path, opening: Opening) -> None:
    await import_jsonl(vault, OWNER, written(tmp_path / "in.jsonl", ONE_OF_EACH))
    out = await exported(vault, tmp_path / "a")
    kinds = {json.loads(line)["kind"] for line in out["records.jsonl"].splitlines()}
    told_elsewhere = {"memory", "document", "link", "note", "policy"}
    assert kinds == set(LINE_KINDS) - told_elsewhere
    async with opening(data=tmp_path / "other") as services:
        async with services.pool.lease(services.registry_cache.entry("main")) as other:
            tally = await import_jsonl(other, OWNER, tmp_path / "a")
            assert tally.rejected == 0
            assert await exported(other, tmp_path / "b") == out
            again = await import_jsonl(other, OWNER, tmp_path / "a")
            assert (again.stored, again.count("updated")) == (0, 0)


async def test_what_was_made_here_comes_back_too_and_is_known_here(
    vault: Vault, tmp_path: Path, opening: Opening, ask: Asking
) -> None:
    memory = (await ask("remember", content="The vault is blue", thread="paint")).content["id"]
    assert (await ask("claims", action="claim", resources=["task:paint"])).ok
    assert (await ask("checkpoint", reason="half done", state={"walls": 2}, thread="paint")).ok
    assert (await ask("handoff_create", goal="paint", current_state="two walls", next_action="third")).ok
    assert (await ask("feedback", type="friction", message="paint is slow")).ok
    wrong = {"action": "record", "kind": "memory", "subject": memory, "wrong": "blue", "right": "green"}
    assert (await ask("corrections", **wrong)).ok
    assert (await ask("session_save", summary="painted", status="paused")).ok
    await vault.activity_log.write_out()
    out = await exported(vault, tmp_path / "a")
    own = await import_jsonl(vault, OWNER, tmp_path / "a")
    assert (own.stored, own.count("updated"), own.rejected) == (0, 0, 0)
    async with opening(data=tmp_path / "other") as services:
        async with services.pool.lease(services.registry_cache.entry("main")) as other:
            assert (await import_jsonl(other, OWNER, tmp_path / "a")).rejected == 0
            assert await exported(other, tmp_path / "b") == out


async def test_what_changed_at_its_source_is_updated_and_what_changed_here_is_kept(
    vault: Vault, tmp_path: Path, ask: Asking
) -> None:
    await import_jsonl(vault, OWNER, written(tmp_path / "in.jsonl", ONE_OF_EACH))
    changed = [
        {
            "external_id": "m2",
            "content": "Deploys run on Tuesday",
            "created_at": DAY,
            "tags": ["ci"],
            "supersedes": "m1",
        },
        {"kind": "session", "external_id": "s1", "started_at": DAY, "who": "ann", "summary": "shipped"},
        {"kind": "note", "external_id": "n1", "path": "daily/a.md", "content": "# A\n\nAda left.\n"},
    ]
    tally = await import_jsonl(vault, OWNER, written(tmp_path / "more.jsonl", changed))
    assert (tally.count("updated"), tally.rejected) == (3, 0)
    hit = (await ask("recall", query="deploys")).content["hits"][0]
    assert (hit["content"], hit["tags"]) == ("Deploys run on Tuesday", ["ci"])
    assert (await ask("note_read", path="daily/a.md")).content["text"] == "# A\n\nAda left.\n"
    assert (await ask("memory_update", id=hit["id"], content="Deploys run when ready")).ok
    assert (await ask("note_edit", path="daily/a.md", action="add", content="Mine.", section="A")).ok
    later = [{**changed[0], "content": "Deploys run on Sunday"}, {**changed[2], "content": "# A\n\nNobody.\n"}]
    tally = await import_jsonl(vault, OWNER, written(tmp_path / "later.jsonl", later))
    assert (tally.count("kept"), tally.count("updated")) == (2, 0)
    assert (await ask("memory_get", ids=[hit["id"]])).content["memories"][0]["content"] == "Deploys run when ready"
    assert "Mine." in (await ask("note_read", path="daily/a.md")).content["text"]


async def test_a_line_that_says_a_part_takes_nothing_away(vault: Vault, tmp_path: Path) -> None:
    """As the history of Mem0, which knows nobody, after a list, which knows whom a memory is of."""
    whole = {"external_id": "m1", "content": "Likes tea", "created_at": DAY, "title": "Drinks", "entity": "Ann",
             "author": "bot", "tags": ["food"], "metadata": {"source": "chat"}, "thread": "r1"}  # fmt: skip
    part = {"external_id": "m1", "content": "Likes green tea", "metadata": {"role": "user"}, "partial": True}
    await import_jsonl(vault, OWNER, written(tmp_path / "in.jsonl", [whole]))
    assert (await import_jsonl(vault, OWNER, written(tmp_path / "more.jsonl", [part]))).count("updated") == 1
    line = json.loads((await exported(vault, tmp_path / "out"))["memories.jsonl"])
    expected = whole | {"content": "Likes green tea", "metadata": {"source": "chat", "role": "user"}}
    assert {name: line[name] for name in whole} == expected
    await undone(vault)
    line = json.loads((await exported(vault, tmp_path / "undone"))["memories.jsonl"])
    assert {name: line[name] for name in whole} == whole


async def test_a_note_of_ones_own_is_never_replaced(vault: Vault, tmp_path: Path, ask: Asking) -> None:
    assert (await ask("note_write", path="daily/a.md", content="mine\n")).ok
    tally = await import_jsonl(vault, OWNER, written(tmp_path / "in.jsonl", ONE_OF_EACH))
    assert tally.rejected == 1
    assert (await ask("note_read", path="daily/a.md")).content["text"] == "mine\n"


async def test_an_undone_run_leaves_nothing_and_can_come_again(vault: Vault, tmp_path: Path) -> None:
    before = await exported(vault, tmp_path / "before")
    path = written(tmp_path / "in.jsonl", ONE_OF_EACH)
    await import_jsonl(vault, OWNER, path)
    tally = await undone(vault)
    assert (tally.removed.total(), tally.kept.total()) == (len(ONE_OF_EACH), 0)
    assert await exported(vault, tmp_path / "after") == before
    assert vault.notes.tree.stamp("daily/a.md") is None
    assert (await import_jsonl(vault, OWNER, path)).stored == len(ONE_OF_EACH)


async def test_undoing_an_update_brings_back_what_was_there(vault: Vault, tmp_path: Path) -> None:
    await import_jsonl(vault, OWNER, written(tmp_path / "in.jsonl", ONE_OF_EACH))
    before = await exported(vault, tmp_path / "before")
    changed = [
        {
            "external_id": "m2",
            "content": "Deploys run on Tuesday",
            "title": "When",
            "created_at": DAY,
            "supersedes": "m1",
        },
        {"kind": "session", "external_id": "s1", "started_at": DAY, "who": "ann", "summary": "shipped"},
        {"kind": "note", "external_id": "n1", "path": "daily/a.md", "content": "# A\n\nAda left.\n"},
        {"external_id": "m3", "content": "Something new", "created_at": DAY},
    ]
    await import_jsonl(vault, OWNER, written(tmp_path / "more.jsonl", changed))
    tally = await undone(vault)
    assert (tally.removed.total(), tally.restored.total(), tally.kept.total()) == (1, 3, 0)
    after = await exported(vault, tmp_path / "after")
    assert _without_change_times(after) == _without_change_times(before)


def _without_change_times(files: dict[str, bytes]) -> list[dict[str, Any]]:
    lines = [json.loads(line) for name in sorted(files) for line in files[name].splitlines()]
    return [{name: value for name, value in line.items() if name != "updated_at"} for line in lines]


async def test_undo_keeps_what_somebody_changed_since(vault: Vault, tmp_path: Path, ask: Asking) -> None:
    await import_jsonl(vault, OWNER, written(tmp_path / "in.jsonl", ONE_OF_EACH))
    hit = (await ask("recall", query="deploys")).content["hits"][0]
    assert (await ask("memory_update", id=hit["id"], add_tags=["mine"])).ok
    assert (await ask("note_edit", path="daily/a.md", action="add", content="Mine.", section="A")).ok
    tally = await undone(vault)
    assert (tally.kept["memory"], tally.kept["note"]) == (1, 1)
    assert (await ask("memory_get", ids=[hit["id"]])).content["memories"][0]["tags"] == ["mine"]


async def test_runs_and_records_of_others_are_no_business_of_an_import(vault: Vault) -> None:
    other = Actor("oidc:eve", "eve")
    run = await vault.db.write(lambda tx: import_runs.begin(tx, other, "jsonl", "x"))
    line = {"external_id": "m1", "content": "Mine alone", "visibility": "private"}
    from vaults.domain.import_export.line_import import NumberedLine

    assert [each.outcome for each in await import_lines(vault, other, run, [NumberedLine(1, line)])] == ["stored"]
    assert await vault.db.read(lambda tx: import_runs.list_runs(tx, OWNER, 9)) == []
    assert await vault.db.read(lambda tx: import_runs.find_records(tx, OWNER, [("memory", "m1")])) == {}


async def test_what_is_older_than_what_is_here_does_not_become_the_newest(
    vault: Vault, tmp_path: Path, ask: Asking
) -> None:
    assert (await ask("checkpoint", reason="here", state={"step": 9}, thread="ship")).ok
    assert (await ask("handoff_create", goal="here", current_state="s", next_action="n")).ok
    assert (await ask("session_save", summary="here", status="completed")).ok
    old = [
        {"kind": "session", "external_id": f"s{day}", "started_at": f"2024-01-{day:02}", "summary": "old"}
        for day in range(1, 4)
    ]
    old += [
        {"kind": "checkpoint", "external_id": f"k{day}", "reason": f"old {day}", "thread": "ship", "session": "s1",
         "created_at": f"2024-01-{day:02}", "state": {"step": day}}
        for day in range(9, 0, -1)
    ]  # fmt: skip
    old += [
        {"kind": "handoff", "external_id": "h1", "goal": "old", "created_at": "2024-01-01", "expires_at": "2099-01-01"}
    ]
    assert (await import_jsonl(vault, OWNER, written(tmp_path / "in.jsonl", old))).stored == len(old)
    assert (await ask("threads", action="show", thread="ship")).content["checkpoints"][0]["reason"] == "here"
    assert (await ask("handoff_load")).content["handoff"]["goal"] == "here"
    shown = (await ask("threads", action="show", thread="ship", limit=50)).content
    assert [each["reason"] for each in shown["checkpoints"]] == ["here", *(f"old {day}" for day in range(9, 0, -1))]
    assert (await ask("session_history")).content["sessions"][0].get("summary") != "old"
    saved = await ask("checkpoint", reason="on", state={"step": 10}, thread="ship")
    assert saved.content["changed"] == {"changed": ["/step"]}


async def test_what_claims_to_be_of_the_future_does_not_stay_the_newest(
    vault: Vault, tmp_path: Path, ask: Asking
) -> None:
    lines = [
        {"kind": "checkpoint", "external_id": "k", "reason": "of 2999", "thread": "ship", "created_at": "2999-01-01"},
        {"kind": "handoff", "external_id": "h", "goal": "of 2999", "created_at": "2999-01-01"},
    ]
    assert (await import_jsonl(vault, OWNER, written(tmp_path / "in.jsonl", lines))).stored == 2
    assert (await ask("checkpoint", reason="now", state={}, thread="ship")).ok
    assert (await ask("handoff_create", goal="now", current_state="s", next_action="n")).ok
    assert (await ask("threads", action="show", thread="ship")).content["checkpoints"][0]["reason"] == "now"
    assert (await ask("handoff_load")).content["handoff"]["goal"] == "now"


async def test_more_versions_than_are_kept_leave_the_newest(vault: Vault, tmp_path: Path, ask: Asking) -> None:
    assert (await ask("checkpoint", reason="here", state={"step": 1}, thread="ship")).ok
    lines = [
        {"kind": "checkpoint", "external_id": f"k{n}", "reason": f"old {n}", "thread": "ship", "state": {"n": n},
         "created_at": f"2024-01-01T00:{n:02}:00Z"}
        for n in range(60)
    ]  # fmt: skip
    assert (await import_jsonl(vault, OWNER, written(tmp_path / "in.jsonl", lines))).stored == 60
    assert (await ask("checkpoint", reason="on", state={"step": 2}, thread="ship")).ok
    shown = (await ask("threads", action="show", thread="ship", limit=50, max_tokens=50_000)).content
    assert [each["reason"] for each in shown["checkpoints"]] == ["on", "here", *(f"old {n}" for n in range(59, 11, -1))]


async def test_what_supersedes_in_circles_leaves_one(vault: Vault, tmp_path: Path, ask: Asking) -> None:
    circle = [
        {"external_id": "a", "content": "Deploys run on Friday", "supersedes": "c"},
        {"external_id": "b", "content": "Deploys run on Monday", "supersedes": "a"},
        {"external_id": "c", "content": "Deploys run on Tuesday", "supersedes": "b"},
        {"external_id": "self", "content": "Rivers run on Sunday", "supersedes": "self"},
        {"kind": "link", "external_id": "l1", "from": "a", "relation": "after", "to": "b"},
        {"kind": "link", "external_id": "l2", "from": "b", "relation": "after", "to": "a"},
        {"kind": "link", "external_id": "l3", "from": "a", "relation": "after", "to": "a"},
    ]
    tally = await import_jsonl(vault, OWNER, written(tmp_path / "in.jsonl", circle))
    assert (tally.count("stored"), tally.rejected) == (len(circle), 0)
    again = [{**line, "tags": ["again"]} for line in circle[:4]]  # now all of them are there to be superseded
    assert (await import_jsonl(vault, OWNER, written(tmp_path / "again.jsonl", again))).count("updated") == 4
    hits = (await ask("recall", query="run on")).content["hits"]
    assert {hit["content"] for hit in hits} == {"Deploys run on Tuesday", "Rivers run on Sunday"}
    assert await exported(vault, tmp_path / "out")  # which follows them


async def test_an_id_given_twice_in_a_source_counts_the_first_time(vault: Vault, tmp_path: Path, ask: Asking) -> None:
    lines: list[dict[str, Any]] = [{"external_id": "twice", "content": "first"}]
    lines += [{"external_id": f"m{n}", "content": f"between {n}"} for n in range(300)]  # another batch
    lines += [
        {"external_id": "twice", "content": "second"},
        {"kind": "session", "external_id": "twice", "started_at": DAY},
    ]
    path = written(tmp_path / "in.jsonl", lines)
    for stored in (302, 0):
        tally = await import_jsonl(vault, OWNER, path)
        assert (tally.stored, tally.count("updated"), tally.known) == (stored, 0, len(lines) - stored)
    found = (await ask("memory_list", limit=200, order="oldest")).content["memories"]
    assert found[0]["content"] == "first"


@pytest.mark.parametrize("time", ["0001-01-01", "9999-12-31T23:59:59.999Z", "2024-02-29T12:00:00+14:00", "1969-12-31"])
async def test_any_time_there_is_can_be_brought(vault: Vault, tmp_path: Path, time: str) -> None:
    lines = [
        {"external_id": "m", "content": "old", "created_at": time, "updated_at": time, "occurred_at": time},
        {"kind": "session", "external_id": "s", "started_at": time},
        {"kind": "event", "external_id": "e", "session": "s", "at": time, "type": "x"},
        {"kind": "claim", "external_id": "c", "resource": "r", "session": "s", "claimed_at": time},
        {"kind": "checkpoint", "external_id": "k", "reason": "r", "created_at": time},
        {"kind": "handoff", "external_id": "h", "goal": "g", "created_at": time},
    ]
    tally = await import_jsonl(vault, OWNER, written(tmp_path / "in.jsonl", lines))
    assert (tally.stored, tally.rejected) == (len(lines), 0), (tmp_path / "in.jsonl.rejected.jsonl").read_text()
    await exported(vault, tmp_path / "out")


@pytest.mark.parametrize("time", ["0000-01-01", "10000-01-01", "2023-02-29", "0001-01-01T00:00:00+14:00", "", "soon"])
async def test_a_time_there_is_not_is_rejected(vault: Vault, tmp_path: Path, time: str) -> None:
    lines = [
        {"external_id": "m", "content": "old", "created_at": time},
        {"kind": "session", "external_id": "s", "started_at": time},
    ]
    assert (await import_jsonl(vault, OWNER, written(tmp_path / "in.jsonl", lines))).rejected == 2


@pytest.mark.parametrize("kind", sorted(LINE_KINDS))
async def test_text_that_is_none_is_rejected_in_every_kind(vault: Vault, tmp_path: Path, kind: str) -> None:
    one = next(line for line in ONE_OF_EACH if line.get("kind", "memory") == kind)
    name = next(name for name in ("content", "goal", "reason", "message", "wrong", "entity", "from", "name", "resource",
                                  "type", "names", "title") if name in one)  # fmt: skip
    bad = [{**one, name: [f"a{text}"] if name == "names" else f"a{text}"} for text in ("\x00", "\ud800")]
    tally = await import_jsonl(vault, OWNER, written(tmp_path / "in.jsonl", bad))
    assert (tally.stored, tally.rejected + tally.known) == (0, 2)  # the second has the id of the first


async def test_a_line_of_gigabytes_is_passed_over_in_pieces(vault: Vault, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    with path.open("wb") as file:
        file.truncate(300_000_000)  # zeros, which take no place on the disk
        file.seek(0, 2)
        file.write(b'\n{"content": "after it"}\n')
    tracemalloc.start()
    tally = await import_jsonl(vault, OWNER, path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (tally.stored, tally.rejected) == (1, 1)
    assert most < 20_000_000


async def test_a_source_is_left_as_it_was(vault: Vault, tmp_path: Path) -> None:
    folder = tmp_path / "export"
    folder.mkdir()
    written(folder / "memories.jsonl", ONE_OF_EACH[:2])
    written(folder / "records.jsonl", [*ONE_OF_EACH[2:], {"kind": "nothing"}])

    def look() -> list[tuple[str, int, bytes]]:
        return [(each.name, each.stat().st_mtime_ns, each.read_bytes()) for each in sorted(folder.iterdir())]

    before = look()
    assert (await import_jsonl(vault, OWNER, folder)).rejected == 1
    assert look() == before
    report = json.loads((tmp_path / "export.rejected.jsonl").read_text())
    assert report["place"] == f"records.jsonl line {len(ONE_OF_EACH) - 1}"
