"""``note_edit`` through the door: one call changes one place of a real file, and says what it did.

Covers vaults.domain.notes.edit.edit_results, vaults.domain.notes.edit.section_edits.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from server.services import Services
from tests.conftest import Asking, Opening, asker
from tests.noted import folder, indexed, put
from vaults.domain.notes.commit import journal

NOTE = "---\ntitle: Plan # why\n---\n# Plan\n\n## Log\n- one\n\n## Rest\ntext\n"


@pytest.fixture
def root(services: Services, tmp_path: Path) -> Path:
    return folder(tmp_path)


async def test_one_call_appends_to_a_section(ask: Asking, root: Path) -> None:
    put(root, {"plan.md": NOTE})
    done = await ask("note_edit", path="plan", content="two", section="Log", format="bullet")
    assert done.ok, done.text
    assert (root / "plan.md").read_text() == NOTE.replace("- one\n", "- one\n- two\n")
    content = done.content
    assert (content["path"], content["changed"], content["region"]) == ("plan.md", True, "- two")
    assert (content["first_line"], content["last_line"]) == (8, 8)
    assert "text\n" not in str(content)
    again = await ask("note_edit", path="plan", content="three", section="Log", etag=content["etag"])
    assert again.content["changed"]
    assert again.content["etag"] != content["etag"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("crlf.md", b"# A\r\n\r\n## Log\r\n- one\r\n\r\n## End\r\n"),
        ("bom.md", b"\xef\xbb\xbf# A\n\n## Log\n- one\n"),
        ("unended.md", b"## Log\n- one\n\n## End\nlast"),
        ("mixed.md", b"# A\r\n## Log\n- one\n## End\r\nx\ry"),
        ("Größe/日本 🗻.md", "## Log\n- ünë\n".encode()),
    ],
)
async def test_every_other_byte_stays(ask: Asking, root: Path, name: str, text: bytes) -> None:
    put(root, {name: text})
    done = await ask("note_edit", path=name, content="zwei", section="Log", format="bullet")
    assert done.ok, done.text
    data = (root / name).read_bytes()
    at = data.index(b"- zwei")
    ending = data[at + len(b"- zwei") :][:2]
    size = len(b"- zwei") + (2 if ending == b"\r\n" else 1)
    assert data[:at] + data[at + size :] == text


async def test_text_is_replaced_and_removed(ask: Asking, root: Path) -> None:
    put(root, {"plan.md": NOTE})
    done = await ask("note_edit", path="plan.md", action="replace", search="text", replacement="words")
    assert done.content["region"] == "words"
    assert (root / "plan.md").read_text() == NOTE.replace("text\n", "words\n")
    done = await ask(
        "note_edit", path="plan.md", action="replace", pattern=r"w(o)rds", replacement=r"\1k", section="Rest"
    )
    assert done.content["region"] == "ok"
    done = await ask("note_edit", path="plan.md", action="remove", section="Log")
    assert done.content["changed"]
    assert "Log" not in (root / "plan.md").read_text()
    assert (root / "plan.md").read_text().startswith("---\ntitle: Plan # why\n---\n")


async def test_what_is_not_found_comes_with_what_is_close(ask: Asking, root: Path) -> None:
    put(root, {"plan.md": NOTE})
    missed = await ask("note_edit", path="plan", content="x", section="Logs")
    assert missed.code == "not_found"
    assert missed.content["error"]["details"]["closest"] == ["Log"]
    missed = await ask("note_edit", path="plan", action="replace", search="Text", replacement="x")
    assert missed.code == "not_found"
    assert missed.content["error"]["details"]["closest"][0]["line"] == 10
    missed = await ask("note_edit", path="nowhere", content="x")
    assert missed.code == "not_found"
    assert not (root / "nowhere.md").exists()
    assert (root / "plan.md").read_text() == NOTE


async def test_an_edit_that_changes_nothing_leaves_no_trace(ask: Asking, root: Path, services: Services) -> None:
    put(root, {"plan.md": NOTE})
    before = (root / "plan.md").stat()
    same = await ask("note_edit", path="plan", action="replace", search="text", replacement="text")
    assert same.content["changed"] is False
    assert same.content["warnings"]
    assert "change" not in same.content
    after = (root / "plan.md").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert await _changes(services) == 0


async def _changes(services: Services) -> int:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        return int(await vault.db.read(lambda tx: tx.value("SELECT COUNT(*) FROM note_changes")))


async def test_the_history_says_who_did_what_in_which_session(ask: Asking, root: Path, services: Services) -> None:
    put(root, {"plan.md": NOTE})
    session = (await ask("session_resume")).content["session"]["id"]
    done = await ask("note_edit", path="plan", content="two", section="Log", session=session)
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        record = await vault.db.read(lambda tx: journal.find_change(tx, done.content["change"]))
    assert record is not None
    assert (record.tool, record.session, record.author) == ("note_edit", session, "owner")
    assert record.summary == "added to plan.md"


async def test_a_dry_run_shows_the_diff_and_writes_nothing(ask: Asking, root: Path, services: Services) -> None:
    put(root, {"plan.md": NOTE})
    shown = await ask("note_edit", path="plan", content="two", section="Log", dry_run=True)
    assert shown.content["changed"] is False
    assert "\n+two" in shown.content["diff"]
    assert (root / "plan.md").read_text() == NOTE
    missing = await ask("note_edit", path="@daily", content="two", dry_run=True)
    assert "+two" in missing.content["diff"]
    assert [path.name for path in root.rglob("*.md")] == ["plan.md"]
    assert await _changes(services) == 0


async def test_a_stale_etag_returns_the_present_text(ask: Asking, root: Path) -> None:
    put(root, {"plan.md": NOTE})
    first = await ask("note_edit", path="plan", content="mine", section="Log")
    put(root, {"plan.md": NOTE.replace("text", "theirs")})
    refused = await ask("note_edit", path="plan", content="again", section="Log", etag=first.content["etag"])
    assert refused.code == "conflict"
    details = refused.content["error"]["details"]
    assert details["text"] == NOTE.replace("text", "theirs")
    assert "kept" not in details
    kept = await ask(
        "note_edit", path="plan", content="again", section="Log", etag=first.content["etag"], keep_conflict=True
    )
    assert kept.code == "conflict"
    beside = root / kept.content["error"]["details"]["kept"]
    assert beside.name.startswith("plan.conflict-")
    # The version the caller had read is in the history, so what is kept is the whole note as it would have been.
    assert "mine\nagain" in beside.read_text().replace("\n\n", "\n")
    assert "text\n" in beside.read_text()
    assert (root / "plan.md").read_text() == NOTE.replace("text", "theirs")
    done = await ask("note_edit", path="plan", content="again", section="Log", etag=details["etag"])
    assert done.ok


async def test_of_an_unknown_version_the_words_are_kept(ask: Asking, root: Path) -> None:
    put(root, {"plan.md": NOTE})
    refused = await ask("note_edit", path="plan", content="my words", etag="0" * 16, keep_conflict=True)
    beside = root / refused.content["error"]["details"]["kept"]
    assert beside.read_text() == "my words"
    again = await ask("note_edit", path="plan", content="my words", etag="0" * 16, keep_conflict=True)
    assert again.content["error"]["details"]["kept"] != beside.name


async def test_a_log_gets_entries_under_their_time(ask: Asking, root: Path) -> None:
    made = await ask("note_edit", path="@daily", content="met Ana")
    assert made.ok, made.text
    file = root / made.content["path"]
    heading, empty, words = file.read_text().splitlines()
    assert datetime.fromisoformat(heading.removeprefix("## ")).tzinfo is not None
    assert (empty, words) == ("", "met Ana")
    await ask("note_edit", path="@daily", content="and Bo")
    lines = file.read_text().splitlines()
    assert len([line for line in lines if line.startswith("## ")]) == 2
    assert lines[-1] == "and Bo"
    memory = await ask("note_edit", path="@memory", content="likes tea")
    assert memory.content["path"] == "MEMORY.md"
    assert (root / "MEMORY.md").read_text().startswith("## 2")


async def test_a_log_takes_a_section_or_a_format_as_any_note(ask: Asking, root: Path) -> None:
    done = await ask("note_edit", path="@daily:2026-03-01", content="woke up", section="Log", format="timestamp-bullet")
    assert done.ok, done.text
    text = (root / "memory/2026-03-01.md").read_text()
    assert text.startswith("## Log\n")
    assert text.endswith(" woke up\n")
    done = await ask("note_edit", path="@daily:2026-03-01", content="plainly", format="plain")
    assert (root / "memory/2026-03-01.md").read_text() == f"{text}\nplainly\n"
    missed = await ask("note_edit", path="@daily:2026-03-01", content="x", section="Tasks")
    assert missed.code == "not_found"
    weekly = await ask("note_edit", path="@weekly:2026-W10", content="plain")
    assert (root / weekly.content["path"]).read_text() == "plain\n"
    assert (await ask("note_edit", path="@daily:2020-01-01", action="remove", search="x")).code == "not_found"
    assert (await ask("note_edit", path="@daily:yes", content="x")).code == "invalid_argument"


async def test_a_dated_note_begins_as_its_template(opening: Opening, tmp_path: Path) -> None:
    async with opening() as services:
        ask, root = asker(services), folder(tmp_path)
        settings = '{"folder": "journal", "format": "YYYY-MM-DD", "template": "Templates/Day"}'
        put(root, {".obsidian/daily-notes.json": settings, "Templates/Day.md": "# {{title}}\n\n## Log\n\n## Tasks\n"})
        done = await ask("note_edit", path="@daily:2026-03-01", content="hi", section="Log", format="bullet")
        assert done.ok, done.text
        assert (root / "journal/2026-03-01.md").read_text() == "# 2026-03-01\n\n## Log\n\n- hi\n\n## Tasks\n"
        (root / "Templates/Day.md").unlink()
        done = await ask("note_edit", path="@daily:2026-03-02", content="hi", section="Log")
        assert any("Templates/Day" in warning for warning in done.content["warnings"])


async def test_a_template_of_the_usual_name_serves_too(opening: Opening, tmp_path: Path) -> None:
    root = folder(tmp_path)
    put(root, {"Templates/Daily note.md": "# {{title}}\n\n## Log\n", "Templates/Weekly.md": "x", "daily.md": "no"})
    put(root, {"_templates/weekly template.md": "y"})
    async with opening() as services:
        ask = asker(services)
        await indexed(services, 4)
        done = await ask("note_edit", path="@daily:2026-03-01", content="hi", section="Log", format="bullet")
        assert (root / done.content["path"]).read_text() == "# 2026-03-01\n\n## Log\n\n- hi\n"
        done = await ask("note_edit", path="@weekly:2026-W10", content="hi")  # which of the two is not ours to say
        assert (root / done.content["path"]).read_text() == "hi\n"


async def test_what_no_note_can_hold_is_refused(ask: Asking, root: Path) -> None:
    put(root, {"plan.md": NOTE, "picture.md": b"\xff\xfe\x00"})
    for arguments in ({"content": "a\x00b"}, {"content": "\ud800"}, {"content": ""}, {"content": "x", "search": "y"}):
        refused = await ask("note_edit", path="plan", **arguments)
        assert refused.code == "invalid_argument", arguments
    assert (await ask("note_edit", path="picture", content="x")).code == "invalid_argument"
    for path in ("../out", "/etc/passwd", ".hidden", "a//b", "a\\b", "~x/y"):
        assert (await ask("note_edit", path=path, content="x")).code == "invalid_argument", path
    outside = root.parent / "outside.md"
    outside.write_text("secret")
    (root / "link.md").symlink_to(outside)
    assert (await ask("note_edit", path="link", content="x")).code == "invalid_argument"
    assert outside.read_text() == "secret"
    (root / "plan.md").chmod(0o444)
    assert (await ask("note_edit", path="plan", content="x")).code == "read_only"
    assert (root / "plan.md").read_text() == NOTE


async def test_a_note_does_not_outgrow_the_limit(opening: Opening, tmp_path: Path) -> None:
    async with opening(flags={"notes.max_note": 2048}) as services:
        ask, root = asker(services), folder(tmp_path)
        put(root, {"plan.md": NOTE})
        refused = await ask("note_edit", path="plan", content="x" * 2000)
        assert refused.code == "too_large"
        assert refused.content["error"]["details"]["limit"] == 2048
        assert (root / "plan.md").read_text() == NOTE


async def test_guardrails_follow_the_call_else_the_settings(opening: Opening, tmp_path: Path) -> None:
    async with opening(flags={"notes.guardrails": "strict"}) as services:
        ask, root = asker(services), folder(tmp_path)
        put(root, {"plan.md": NOTE})
        assert (await ask("note_edit", path="plan", content="• odd", section="Log")).code == "invalid_argument"
        warned = await ask("note_edit", path="plan", content="• odd", section="Log", guardrails="warn")
        assert warned.content["warnings"]
        assert warned.content["region"] == "- odd"
