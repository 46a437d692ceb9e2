"""Collections while a vault is open: files that come, change and go, folders that vanish, and edits of a collection
(vaults.domain.collections.follow_loop, vaults.domain.collections.follower, vaults.domain.collections.reconciliation,
vaults.domain.collections.file_reading, vaults.domain.collections.document_writes, vaults.domain.collections.file_rows,
vaults.domain.collections.collection_rows, vaults.domain.collections.collection_model,
vaults.domain.collections.change_signal, vaults.domain.collections.editing, vaults.domain.collections.removal)."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from server.services import Services
from tests.conftest import Asking, Opening, asker
from tests.people import rewrite, rows
from tests.work import PATIENCE_S
from vaults.db.connection import Database
from vaults.domain.collections import collection_rows, reconciliation, removal
from vaults.domain.collections.change_signal import signal_change
from vaults.domain.collections.collection_model import CollectionFields
from vaults.errors import StorageFull
from vaults.formats.parsed_document import ParseFailed
from vaults.parsing.parser_pool import FileParsers


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("srv") / "docs"
    (root / "guides").mkdir(parents=True)
    (root / "a.md").write_text("# Harbour\n\nThe harbour opens at nine.\n")
    (root / "guides" / "b.md").write_text("# Ferry\n\nThe ferry leaves from pier seven.\n")
    return root


async def until(true: Callable[[], Awaitable[Any]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await true():  # noqa: ASYNC110  nobody tells
            await asyncio.sleep(0.01)


async def add(ask: Asking, folder: Path, name: str = "docs", **more: Any) -> dict[str, Any]:
    added = await ask("collections", action="add", name=name, root=str(folder), **more)
    assert added.ok, added.content
    return dict(added.content["collections"][0])


async def texts(ask: Asking, query: str, **more: Any) -> list[str]:
    found = await ask("search", query=query, mode="keyword", kinds=["document", "code"], **more)
    assert found.ok, found.content
    return [hit["text"] for hit in found.content["hits"]]


async def listed(ask: Asking, name: str = "docs") -> dict[str, Any]:
    found = await ask("collections", name=name)
    assert found.ok, found.content
    return dict(found.content["collections"][0])


async def ids(services: Services) -> dict[str, str]:
    return dict(await rows(services, "SELECT uri, id FROM documents"))


async def test_files_are_found_as_they_come_change_and_go(ask: Asking, folder: Path) -> None:
    added = await add(ask, folder)
    assert (added["state"], added["files"], added["documents"]) == ("ready", 2, 2)
    assert any("pier seven" in each for each in await texts(ask, "ferry", collection="docs"))
    assert not await texts(ask, "ferry", collection="others")
    (folder / "c.md").write_text("# Lighthouse\n\nThe lighthouse is red.\n")
    await until(lambda: texts(ask, "lighthouse"))
    (folder / "a.md").write_text("# Harbour\n\nThe harbour is closed, says the walrus.\n")
    await until(lambda: texts(ask, "walrus"))
    assert not await texts(ask, "nine")
    (folder / "c.md").unlink()

    async def gone() -> bool:
        return not await texts(ask, "lighthouse")

    async def counted() -> bool:
        return int((await listed(ask))["documents"]) == 2

    await until(gone)
    await until(counted)


async def test_hits_say_the_file_and_fetch_opens_it(ask: Asking, folder: Path) -> None:
    await add(ask, folder, context="Where our ships go", workspace="fleet")
    (hit,) = (await ask("search", query="ferry pier", collection="docs", limit=1)).content["hits"]
    assert hit["place"].startswith("docs/guides/b.md")
    opened = (await ask("fetch", id=hit["id"])).content
    assert "pier seven" in opened["text"]
    about = {name: opened["metadata"].get(name) for name in ("collection", "uri", "context")}
    assert about == {"collection": "docs", "uri": "guides/b.md", "context": "Where our ships go"}
    assert opened["metadata"]["workspace"] != "global"
    assert await texts(ask, "ships")  # by the line on what the collection is


async def test_a_moved_file_keeps_its_document_and_a_touched_one_its_row(
    services: Services, ask: Asking, folder: Path
) -> None:
    await add(ask, folder)
    before = await ids(services)
    (folder / "a.md").rename(folder / "guides" / "moved.md")

    async def moved() -> bool:
        return "guides/moved.md" in await ids(services)

    await until(moved)
    after = await ids(services)
    assert after == {"guides/moved.md": before["a.md"], "guides/b.md": before["guides/b.md"]}
    changed = await rows(services, "SELECT modified_at FROM documents ORDER BY uri")
    (folder / "guides" / "b.md").touch()
    assert (await ask("collections", action="refresh", name="docs")).ok
    assert await rows(services, "SELECT modified_at FROM documents ORDER BY uri") == changed


async def test_a_rename_keeps_documents_and_vectors(services: Services, ask: Asking, folder: Path) -> None:
    await add(ask, folder)
    before = await ids(services)
    vectors = await rows(services, "SELECT passage FROM embeddings ORDER BY passage")
    assert (await ask("collections", action="rename", name="docs", new_name="harbour office")).ok
    assert await texts(ask, "ferry", collection="harbour office")
    assert not await texts(ask, "ferry", collection="docs")
    assert await ids(services) == before
    kept = await rows(services, "SELECT passage FROM embeddings ORDER BY passage")
    assert [each for each in kept if each in vectors] == vectors
    assert (await ask("collections", action="rename", name="docs", new_name="x")).code == "not_found"


async def test_removing_one_deletes_what_it_held_step_by_step_and_nothing_else(
    services: Services, ask: Asking, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\nBuoy number {number}.\n")
    await add(ask, folder)
    assert (await ask("ingest", content="The buoy of the town is yellow.", title="Town", collection="docs")).ok
    asked = await ask("collections", action="remove", name="docs")
    assert asked.code == "confirmation_required" or asked.ok
    steps: list[int] = []
    remove_some = removal._remove_some

    def counted(seq: int, tx: Any) -> bool:
        before = tx.value("SELECT COUNT(*) FROM documents")
        more = remove_some(seq, tx)
        steps.append(before - tx.value("SELECT COUNT(*) FROM documents"))
        return more

    monkeypatch.setattr(removal, "_remove_some", counted)
    if not asked.ok:
        assert (await ask("collections", action="remove", name="docs", confirmed=True)).ok
        assert max(steps) <= removal.REMOVED_AT_ONCE
        assert sum(steps) == 22
    assert await rows(services, "SELECT title FROM documents") == [("Town",)]
    for table in ("collections", "collection_states", "collection_files"):
        assert await rows(services, f"SELECT COUNT(*) FROM {table}") == [(0,)]
    assert await texts(ask, "buoy") == ["The buoy of the town is yellow."]
    assert sorted(each.name for each in folder.iterdir() if each.is_file())[0] == "0.md"  # the files stay


async def test_a_removal_that_was_killed_goes_on_when_the_vault_is_next_open(
    opening: Opening, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opening() as services:
        await add(asker(services), folder)
        await rewrite(services, "UPDATE collections SET removed = 1")
        assert not (await asker(services)("collections")).content["collections"]
    async with opening() as services:

        async def over() -> bool:
            return await rows(services, "SELECT COUNT(*) FROM documents") == [(0,)]

        await until(over)


async def test_what_is_said_of_one_can_be_changed(services: Services, ask: Asking, folder: Path) -> None:
    await add(ask, folder)
    before = await ids(services)
    assert (await ask("collections", action="update", name="docs", exclude=["guides/"])).ok
    assert list(await ids(services)) == ["a.md"]
    changed = await ask(
        "collections", action="update", name="docs", exclude=[], include=["**/b.md"], context="Timetables"
    )
    assert changed.content["collections"][0]["left_out"] == {"of another kind": 1}
    assert list(await ids(services)) == ["guides/b.md"]
    assert await texts(ask, "timetables")
    assert before.keys() == {"a.md", "guides/b.md"}


async def test_it_may_lie_elsewhere_from_now_on(services: Services, ask: Asking, folder: Path) -> None:
    await add(ask, folder)
    before = await ids(services)
    there = folder.parent / "moved here"
    shutil.copytree(folder, there)
    (there / "new.md").write_text("# New\n\nAn otter.\n")
    assert (await ask("collections", action="update", name="docs", root=str(there))).ok
    assert await texts(ask, "otter")
    assert {path: each for path, each in (await ids(services)).items() if path != "new.md"} == before
    (folder / "late.md").write_text("# Late\n\nA heron.\n")
    (there / "late.md").write_text("# Late\n\nA stork.\n")
    await until(lambda: texts(ask, "stork"))
    assert not await texts(ask, "heron")


async def test_a_folder_that_is_not_there_deletes_nothing_and_is_followed_again(
    services: Services, ask: Asking, folder: Path
) -> None:
    await add(ask, folder)
    away = folder.parent / "away"
    folder.rename(away)

    async def state() -> str:
        return str((await listed(ask))["state"])

    async def lost() -> bool:
        return await state() == "unavailable"

    await until(lost)
    assert (await listed(ask))["reason"]
    assert len(await ids(services)) == 2
    assert await texts(ask, "ferry")
    assert (await ask("collections", action="refresh", name="docs")).content["collections"][0]["state"] != "ready"
    (away / "c.md").write_text("# Lighthouse\n\nThe lighthouse is red.\n")
    away.rename(folder)
    await until(lambda: texts(ask, "lighthouse"))

    async def back() -> bool:
        return await state() == "ready"

    await until(back)


async def test_most_files_gone_are_looked_for_twice(
    services: Services, ask: Asking, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\nBuoy number {number}.\n")
    await add(ask, folder, watch=False)
    looks: list[int] = []
    look = reconciliation.look_at_all

    async def seen(*arguments: Any, expected: int = 0) -> None:
        looks.append(expected)
        await look(*arguments, expected=expected)

    monkeypatch.setattr(reconciliation, "look_at_all", seen)
    for number in range(30):
        (folder / f"{number}.md").unlink()
    assert (await ask("collections", action="refresh", name="docs")).ok
    assert looks == [0, 30]
    assert len(await ids(services)) == 2


async def test_an_empty_folder_on_another_disk_is_a_mount_that_is_gone(
    services: Services, ask: Asking, folder: Path
) -> None:
    for number in range(30):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\nBuoy number {number}.\n")
    await add(ask, folder, watch=False)
    await rewrite(services, "UPDATE collection_states SET device = device + 1")
    shutil.rmtree(folder)
    folder.mkdir()
    await ask("collections", action="refresh", name="docs")
    told = await listed(ask)
    assert (told["state"], told["reason"]) == ("unavailable", "the disk of the folder is not there")
    assert len(await ids(services)) == 32


async def test_a_folder_that_became_a_link_is_not_followed(services: Services, ask: Asking, folder: Path) -> None:
    await add(ask, folder, watch=False)
    secret = folder.parent / "secret"
    secret.mkdir()
    (secret / "a.md").write_text("# Secret\n\nA badger.\n")
    folder.rename(folder.parent / "away")
    folder.symlink_to(secret)
    await ask("collections", action="refresh", name="docs")
    assert (await listed(ask))["state"] == "unavailable"
    assert not await texts(ask, "badger")


async def test_what_cannot_be_read_is_told_and_leaves_the_rest_alone(
    opening: Opening, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "empty.md").write_text("\n")
    (folder / "broken.md").write_text("# Broken\n\nA weasel.\n")
    (folder / "link.md").symlink_to(folder / "a.md")
    (folder / "round").symlink_to(folder)
    (folder / "large.md").write_bytes(b"# Large\n" + b"x" * 2048)
    async with opening({"ingest.max_file": 1024}) as services:
        parse = FileParsers.parse

        async def failing(self: FileParsers, data: bytes, name: str, **more: Any) -> Any:
            if name == "broken.md":
                raise ParseFailed("crashed", "reading it ended the process that read it")
            return await parse(self, data, name, **more)

        monkeypatch.setattr(FileParsers, "parse", failing)
        added = await add(asker(services), folder, watch=False)
        assert (added["files"], added["documents"], added["problems"]) == (5, 2, 2)
        assert {each["path"]: each["problem"] for each in added["examples"]} == {
            "broken.md": "reading it ended the process that read it",
            "large.md": "larger than 1,024 bytes",
        }
        assert added["left_out"] == {"empty": 1, "symbolic link": 2}


async def test_a_collection_that_another_process_adds_is_read_soon(
    services: Services, ask: Asking, folder: Path
) -> None:
    await add(ask, folder)
    other = folder.parent / "other"
    other.mkdir()
    (other / "o.md").write_text("# Other\n\nA puffin.\n")
    entry = services.registry_cache.entry("main")
    state_folder = services.pool.folder_of(entry)
    db = Database(state_folder / "vault.db", services.settings.storage)
    fields = CollectionFields(name="other", kind="markdown", root=other)
    try:
        await db.write(lambda tx: collection_rows.insert(tx, fields, "owner"))
    finally:
        await db.close()
    signal_change(state_folder)
    await until(lambda: texts(ask, "puffin"))


async def test_one_that_is_not_watched_is_read_when_asked(services: Services, ask: Asking, folder: Path) -> None:
    assert (await add(ask, folder, watch=False))["watching"] == "on demand"
    (folder / "c.md").write_text("# Lighthouse\n\nThe lighthouse is red.\n")
    (folder / "a.md").write_text("# Harbour\n\nThe harbour is closed, says the walrus.\n")
    assert not await texts(ask, "lighthouse")
    assert (await ask("collections", action="refresh")).ok
    assert await texts(ask, "lighthouse")
    assert await texts(ask, "walrus")


async def test_the_status_counts_collections(ask: Asking, folder: Path) -> None:
    await add(ask, folder)
    (told,) = (await ask("status")).content["collections"]
    assert (told["name"], told["kind"], told["state"], told["documents"]) == ("docs", "markdown", "ready", 2)
    assert told["bytes"] == sum(each.stat().st_size for each in folder.rglob("*.md"))


async def test_a_failure_of_ours_is_begun_again(ask: Asking, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    look, failures = reconciliation.look_at_all, [RuntimeError("a bug"), StorageFull("the disk is full")]

    async def failing(*arguments: Any, **more: Any) -> None:
        if failures:
            raise failures.pop()
        await look(*arguments, **more)

    monkeypatch.setattr(reconciliation, "look_at_all", failing)
    await add(ask, folder)
    await until(lambda: texts(ask, "ferry"))
    assert not failures
