"""Files that nobody would call notes, among notes: all others are indexed, reasons are shown, no byte changes."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.conftest import Opening
from tests.vaults.domain.notes.notes_desk import Desk, desk_in
from tests.work import PATIENCE_S

MB = 1024 * 1024
BOMB = (
    "---\na: &a [x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"{b}: &{b} [{', '.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    + "---\n# Bomb\n\nbombword\n"
)
ODD: dict[str, bytes] = {
    "latin.md": b"# Caf\xe9\n",
    "nul.md": b"# Nul\n\n\0word\n",
    "utf16.md": "# Wide\n".encode("utf-16"),
    "long.md": b"# Long\n\n" + b"x " * (5 * MB),
}
READ: dict[str, bytes] = {
    "empty.md": b"",
    "bom.md": b"\xef\xbb\xbf# Bom\n\nbomword\n",
    "crlf.md": b"# Crlf\r\n\r\n## Notes\r\n\r\n- crlfword\r\n",
    "cr.md": b"# Cr\r\r- crword\r",
    "bomb.md": BOMB.encode(),
    "deep.md": b"---\na: " + b"[" * 5000 + b"\n---\ndeepword\n",
    "line.md": b"# Line\n\n" + b"lineword " * (MB // 9),
    "links.md": b"# Links\n\n" + b"".join(b"[[note%d]] " % n for n in range(10_000)) + b"linksword\n",
    "brackets.md": b"[" * 50_000 + b" bracketsword\n",
    "plain.md": b"# Plain\n\nplainword\n",
}


@pytest.fixture
async def desk(opening: Opening) -> AsyncIterator[Desk]:
    async with desk_in(opening) as found:
        yield found


async def test_odd_files_are_left_out_with_a_reason_and_all_others_are_found(desk: Desk) -> None:
    await desk.put({**ODD, **READ})
    before = desk.digests()
    rows = await desk.vault.db.read(lambda tx: tx.all("SELECT path, problem FROM notes"))
    skipped = dict(await desk.vault.db.read(lambda tx: tx.all("SELECT path, reason FROM notes_skipped")))
    assert {path for path, _ in rows} == set(READ)
    assert set(skipped) == set(ODD)
    assert all(skipped.values())
    assert {path for path, problem in rows if problem} == {"bomb.md", "deep.md"}
    for name in ("bom", "crlf", "cr", "bomb", "deep", "line", "links", "brackets", "plain"):
        hits = (await desk.done("search", query=f"{name}word", mode="keyword"))["hits"]
        assert f"{name}.md" in [hit["id"] for hit in hits], name
    for path in ODD:
        assert (await desk.ask("note_edit", path=path, content="words")).code in {"invalid_argument", "too_large"}
    assert desk.digests() == before


@pytest.mark.parametrize("path", sorted(set(READ) - {"line.md", "links.md"}))
async def test_an_edit_of_an_odd_note_keeps_every_other_byte(desk: Desk, path: str) -> None:
    await desk.put({path: READ[path]})
    done = await desk.done("note_edit", path=path, content="new words", guardrails="off")
    now = (desk.root / path).read_bytes()
    assert b"new words" in now
    rest = READ[path].rstrip(b"\r\n")
    assert now.startswith(rest), "what was there has changed"
    await desk.done("history", action="undo", ref=done["change"])
    assert (desk.root / path).read_bytes() == READ[path]


@pytest.mark.parametrize(("one", "other"), [("Note.md", "note.md"), ("caf\u00e9.md", "cafe\u0301.md")])
async def test_two_names_that_some_systems_take_for_one_are_both_read_and_none_is_made(
    desk: Desk, one: str, other: str
) -> None:
    await desk.put({one: "# One\n\noneword\n"})
    made = await desk.ask("note_write", path=other, content="# Other\n")
    assert made.code == "conflict"
    assert [path.name for path in desk.root.iterdir() if not path.name.startswith(".")] == [one]
    await desk.put({other: "# Other\n\notherword\n"})
    for path, word in ((one, "oneword"), (other, "otherword")):
        hits = (await desk.done("search", query=word, mode="keyword"))["hits"]
        assert [hit["id"] for hit in hits] == [path]
        assert (await desk.done("note_edit", path=path, content="more"))["path"] == path
        assert word in desk.text(path)
    refused = await desk.ask("note_move", path=one, to=f"moved/../{other}")
    assert refused.code == "invalid_argument"
    assert (await desk.ask("note_move", path=one, to=other)).code in {"conflict", "already_exists"}


def _swap(path: Path, outside: Path, stop: threading.Event) -> None:
    """Let something else stand there every moment."""

    def folder() -> None:
        path.mkdir()
        (path / "inner.md").write_text("inner")

    others: list[Callable[[], object]] = [
        lambda: path.write_text("# Log\n\n## Notes\n\n- mine\n"),
        lambda: path.symlink_to(outside / "secret.md"),
        lambda: os.mkfifo(path),
        folder,
        lambda: path.symlink_to(outside),
    ]
    number = 0
    while not stop.is_set():
        others[number % len(others)]()
        time.sleep(0.0005 * (number % 3))
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        with suppress(FileNotFoundError, IsADirectoryError):
            path.unlink()
        number += 1
        while path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)


async def test_a_note_that_becomes_something_else_under_a_call_leads_nowhere(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secretword")
    await desk.put({"other.md": "# Other\n\n[[log]]\n"})
    stop = threading.Event()
    swapping = asyncio.create_task(asyncio.to_thread(_swap, desk.root / "log.md", outside, stop))
    codes: set[str | None] = set()
    until, count = time.monotonic() + PATIENCE_S, 0
    try:
        while (count < 20 or len(codes) <= 2) and time.monotonic() < until:
            count += 1
            for tool, more in (
                ("note_read", {}),
                ("note_edit", {"content": "words"}),
                ("note_write", {"content": "whole", "mode": "overwrite"}),
                ("note_move", {"to": f"away{count}.md"}),
                ("note_delete", {"confirm": True}),
                ("frontmatter_update", {"set": {"a": count}}),
            ):
                outcome = await asyncio.wait_for(desk.ask(tool, path="log.md", **more), PATIENCE_S)
                assert "secretword" not in outcome.text
                assert str(tmp_path) not in outcome.text
                codes.add(outcome.code)
    finally:
        stop.set()
        await asyncio.gather(swapping, return_exceptions=True)
    assert (outside / "secret.md").read_text() == "secretword"
    assert [path.name for path in outside.iterdir()] == ["secret.md"]
    assert codes <= {None, "conflict", "not_found", "already_exists", "invalid_argument", "read_only"}, codes
    assert len(codes) > 2


@pytest.mark.parametrize("away", ["renamed", "removed"])
async def test_a_folder_taken_away_is_said_to_be_and_not_made_again(opening: Opening, away: str) -> None:
    async with desk_in(opening, {"notes.watch": "events"}) as desk:
        await desk.done("note_write", path="log.md", content="# Log\n\nlogword\n")
        elsewhere = desk.root.with_name("elsewhere")
        if away == "renamed":
            desk.root.rename(elsewhere)
        else:
            shutil.rmtree(desk.root)
        for tool, more in (
            ("note_read", {}),
            ("note_edit", {"content": "words"}),
            ("note_move", {"to": "new.md"}),
            ("note_delete", {"confirm": True}),
            ("note_write", {"content": "whole", "mode": "overwrite"}),
        ):
            outcome = await desk.ask(tool, path="log.md", **more)
            assert outcome.code == "vault_unavailable", (tool, outcome.text)
            assert str(desk.root) not in outcome.text
        assert not desk.root.exists()
        if away == "renamed":
            elsewhere.rename(desk.root)
            assert (await desk.ask("note_edit", path="log.md", content="words")).ok
            assert "words" in desk.text("log.md")
