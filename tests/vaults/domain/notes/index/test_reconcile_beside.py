"""Looks at the files while tools change notes at the same time, and with processes that read for them.

Covers vaults.domain.notes.index.file_reader, vaults.domain.notes.index.reader_pool, vaults.child_processes.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from typing import Any

import pytest

from tests.conftest import Opening
from tests.vaults.domain.notes.notes_desk import Desk, desk_in
from tests.work import PATIENCE_S
from vaults import child_processes
from vaults.child_processes import ChildProcess
from vaults.domain.notes.index import file_reader, note_rows, reader_pool, reconciliation
from vaults.domain.notes.index.extraction import compute_digest
from vaults.domain.notes.index.file_reader import to_reread
from vaults.files.tree import WalkResult

OLD = 10**18


@pytest.fixture
async def desk(opening: Opening) -> AsyncIterator[Desk]:
    async with desk_in(opening) as found:
        yield found


async def settled(desk: Desk, notes: dict[str, str]) -> dict[str, int]:
    """Notes that were there for long, and the numbers of their rows."""
    await desk.put(notes)
    for path in notes:
        os.utime(desk.root / path, ns=(OLD, OLD))
    await desk.look()
    return await rows(desk)


async def rows(desk: Desk) -> dict[str, int]:
    return {each.path: each.seq for each in await desk.vault.db.read(note_rows.find_known)}


async def agrees(desk: Desk) -> None:
    files = {each: compute_digest((desk.root / each).read_bytes()) for each in desk.digests() if each.endswith(".md")}
    assert {each.path: each.hash for each in await desk.vault.db.read(note_rows.find_known)} == files


Deed = Callable[[], Awaitable[Any]]


def between_listing_and_applying(desk: Desk, monkeypatch: pytest.MonkeyPatch, deed: Deed) -> None:
    """Once, when a look has listed the files and not yet written anything down, something else happens."""
    apply = reconciliation._apply

    async def applied(*arguments: Any) -> Any:
        monkeypatch.setattr(reconciliation, "_apply", apply)
        await deed()
        return await apply(*arguments)

    monkeypatch.setattr(reconciliation, "_apply", applied)


def between_rows_and_listing(desk: Desk, monkeypatch: pytest.MonkeyPatch, deed: Deed) -> None:
    """Once, when a look knows the rows and has not yet listed the files."""
    walk, loop = desk.vault.notes.tree.walk, asyncio.get_running_loop()

    def walked() -> WalkResult:
        monkeypatch.setattr(desk.vault.notes.tree, "walk", walk)
        asyncio.run_coroutine_threadsafe(_awaited(deed), loop).result(PATIENCE_S)
        return walk()

    monkeypatch.setattr(desk.vault.notes.tree, "walk", walked)


async def _awaited(deed: Deed) -> None:
    await deed()


PLACES = [between_listing_and_applying, between_rows_and_listing]
NOTES = {"a.md": "# A\n\nwords of a\n", "b.md": "# B\n\n[[a]]\n", "sub/c.md": "# C\n"}


@pytest.mark.parametrize("moment", PLACES)
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("note_write", {"path": "fresh.md", "content": "# Fresh\n"}),
        ("note_edit", {"path": "a.md", "content": "more"}),
        ("note_move", {"path": "a.md", "to": "moved.md"}),
        ("note_move", {"path": "a.md", "to": "sub/"}),
        ("note_delete", {"path": "sub/c.md", "confirm": True}),
    ],
)
async def test_what_a_tool_does_during_a_look_is_neither_gone_nor_doubled(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, moment: Any, tool: str, arguments: dict[str, Any]
) -> None:
    before = await settled(desk, NOTES)
    moment(desk, monkeypatch, lambda: desk.done(tool, **arguments))
    await desk.look()
    await agrees(desk)
    after = await rows(desk)
    if tool == "note_move":
        to = {"moved.md": "moved.md", "sub/": "sub/a.md"}[arguments["to"]]
        assert after[to] == before["a.md"]
    await desk.look()
    await agrees(desk)


@pytest.mark.parametrize("to", ["sub/a.md", "renamed.md"])
@pytest.mark.parametrize("save", [None, "# A\n\nwords of a person, later\n"])
async def test_a_tool_edits_a_note_that_a_person_has_just_moved(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, to: str, save: str | None
) -> None:
    """The tool makes a row for the new path before the look gets to move the old one there."""
    await settled(desk, NOTES)
    (desk.root / "a.md").rename(desk.root / to)

    async def deed() -> None:
        await desk.done("note_edit", path=to, content="words of a tool")
        if save is not None:
            (desk.root / to).write_text(save)

    between_listing_and_applying(desk, monkeypatch, deed)
    await desk.look()
    if save is not None:
        await desk.look()
    await agrees(desk)


@pytest.mark.parametrize("same", [True, False], ids=["same text", "moved"])
async def test_a_tool_makes_a_note_anew_where_a_person_has_just_moved_one_away(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, same: bool
) -> None:
    await settled(desk, NOTES)
    if same:
        (desk.root / "renamed.md").write_text(NOTES["a.md"])
        (desk.root / "a.md").unlink()
    else:
        (desk.root / "a.md").rename(desk.root / "renamed.md")
    between_listing_and_applying(
        desk, monkeypatch, lambda: desk.done("note_write", path="a.md", content="# Another\n\nmade anew\n")
    )
    await desk.look()
    await agrees(desk)


async def test_a_file_that_goes_before_it_is_read_is_no_note(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    await settled(desk, NOTES)
    (desk.root / "fresh.md").write_text("# Fresh\n")

    async def deed() -> None:
        (desk.root / "fresh.md").unlink()

    between_listing_and_applying(desk, monkeypatch, deed)
    await desk.look()
    await agrees(desk)


async def test_many_notes_copied_and_removed_elsewhere_keep_their_numbers(desk: Desk) -> None:
    """As a checkout of another layout does: no stamp is what it was."""
    before = await settled(desk, {f"old/{number}.md": f"# N{number}\n\nwords {number}\n" for number in range(300)})
    (desk.root / "new").mkdir()
    for number in range(300):
        (desk.root / f"new/{number}.md").write_bytes((desk.root / f"old/{number}.md").read_bytes())
        (desk.root / f"old/{number}.md").unlink()
    await desk.look()
    assert await rows(desk) == {path.replace("old/", "new/"): seq for path, seq in before.items()}


async def _dump(desk: Desk) -> list[Any]:
    sql = (
        "SELECT n.path, n.title, n.hash, n.tags, n.frontmatter, p.title, p.body, p.labels, p.source_hash, p.tokens"
        " FROM notes n JOIN passages p ON p.item = n.seq AND p.kind = 'note' ORDER BY n.path, p.ordinal"
    )
    links = "SELECT n.path, l.target, l.line FROM notes n JOIN note_links l ON l.note = n.seq ORDER BY 1, 3, 2"
    return [*await desk.vault.db.read(lambda tx: tx.all(sql)), *await desk.vault.db.read(lambda tx: tx.all(links))]


MANY = {
    f"{n % 7}/{n}.md": f"---\ntags: [t{n}]\n---\n# N{n}\n\nwords {n} [[{n + 1}]]\n\n- [ ] task\n" for n in range(260)
}
ODD: dict[str, str | bytes] = {"odd.md": b"\xff\xfe\x00", "long.md": "x" * 6_000_000}


def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_pool, "MANY_FILES", 1)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)


async def test_reader_processes_make_the_same_rows_as_threads(opening: Opening, tmp_path: Any) -> None:
    dumps = []
    for number in range(2):
        with pytest.MonkeyPatch.context() as patch:
            if number:
                _few(patch)
            async with opening(
                {"notes.watch": "off", "embedding.engine": "off"}, data=tmp_path / str(number)
            ) as services:
                async with services.pool.lease(services.registry_cache.entry("main")) as vault:
                    assert await vault.notes.wait_for_index(PATIENCE_S)
                    desk = Desk(services, vault, vault.notes.root, None)  # type: ignore[arg-type]
                    await desk.put({**MANY, **ODD})
                    skipped = await vault.db.read(lambda tx: tx.all("SELECT * FROM notes_skipped ORDER BY path"))
                    dumps.append([*await _dump(desk), *skipped])
    assert len(dumps[0]) > 2 * len(MANY)
    assert dumps[0] == dumps[1]


def _spied(monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], asyncio.Event]:
    """Every process that is started to read, and word that one is."""
    begun: list[Any] = []
    one = asyncio.Event()
    started = reader_pool.start_process

    async def spied(*arguments: Any) -> Any:
        process = await started(*arguments)
        begun.append(process)
        one.set()
        return process

    monkeypatch.setattr(reader_pool, "start_process", spied)
    return begun, one


async def test_reader_processes_run_the_code_of_this_tree_and_answer(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    _few(monkeypatch)
    asked, answers = reader_pool._request_batch, []

    async def recorded(*arguments: Any) -> Any:
        answers.append(await asked(*arguments))
        return answers[-1]

    monkeypatch.setattr(reader_pool, "_request_batch", recorded)
    monkeypatch.setattr(reconciliation, "BATCH_FILES", 30)
    await desk.put(MANY)
    assert answers
    assert None not in answers
    assert (child_processes._PACKAGE_ROOT / "vaults" / "domain" / "notes").is_dir()


@pytest.mark.parametrize("when", ["at once", "midway"])
async def test_what_a_killed_reader_was_given_is_read_all_the_same(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    _few(monkeypatch)
    (begun, _), asked, count = _spied(monkeypatch), reader_pool._request_batch, 0

    async def killed(vault: Any, process: ChildProcess, batch: Any) -> Any:
        nonlocal count
        count += 1
        if count == (1 if when == "at once" else 2):
            os.kill(process.pid, signal.SIGKILL)
            await process.wait()
        return await asked(vault, process, batch)

    monkeypatch.setattr(reader_pool, "_request_batch", killed)
    monkeypatch.setattr(reconciliation, "BATCH_FILES", 30)
    await desk.put(MANY)
    assert begun
    await agrees(desk)
    async with asyncio.timeout(PATIENCE_S):
        assert [await process.wait() for process in begun], "none is left behind"


async def test_a_process_is_gone_also_where_whoever_ends_it_is_cancelled() -> None:
    async with AsyncExitStack() as stack:
        process = await child_processes.start_process("import time; time.sleep(3600)", stack)
        assert process is not None
        ending = asyncio.create_task(process.end())
        for _ in range(2):
            await asyncio.sleep(0)
            ending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending
        assert process.returncode is not None


async def test_without_processes_to_be_had_threads_read(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    _few(monkeypatch)

    async def none(*_: Any, **__: Any) -> Any:
        raise OSError(11, "no more processes")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", none)
    await desk.put(MANY)
    await agrees(desk)


async def test_what_fails_in_reading_fails_the_look_and_does_not_hang_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    _few(monkeypatch)

    def broken(*_: Any) -> Any:
        raise RuntimeError("a fault of ours")

    async def gone(*_: Any) -> None:
        return None

    monkeypatch.setattr(reader_pool, "start_process", gone)
    monkeypatch.setattr(file_reader, "read_files", broken)
    (desk.root / "a.md").write_text("# A\n")
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(RuntimeError):
            await reconciliation.reconcile_all(desk.vault)
    monkeypatch.undo()
    await desk.look()
    await agrees(desk)


async def test_a_look_that_is_given_up_leaves_no_process(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    _few(monkeypatch)
    begun, one = _spied(monkeypatch)
    for path, text in MANY.items():
        (desk.root / path).parent.mkdir(exist_ok=True)
        (desk.root / path).write_text(text)
    wanted = [[to_reread(path)] for path in MANY]
    async with aclosing(reader_pool.read_batches(desk.vault, wanted)) as stream:
        async for _ in stream:
            break
    assert begun
    assert all(process.returncode is not None for process in begun)
    one.clear()
    look = asyncio.create_task(reconciliation.reconcile_all(desk.vault))
    await one.wait()
    look.cancel()
    with pytest.raises(asyncio.CancelledError):
        await look
    assert all(process.returncode is not None for process in begun)
    await desk.look()
    await agrees(desk)
