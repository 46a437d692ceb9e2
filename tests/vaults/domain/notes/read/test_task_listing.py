"""Tasks of a whole vault: which are listed, in which order, page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.conftest import open_at
from tests.noted import folder, indexed, put
from vaults.domain.notes.read import task_listing
from vaults.domain.notes.read.task_listing import TaskFilter
from vaults.errors import InvalidArgument, NotFound
from vaults.vault import Vault

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOTES = {
    "b.md": "# Home\n- [ ] paint 📅 2026-03-01 #home/walls\n- [x] sweep\n- [-] dropped\n- [/] half #Home\n",
    "a/work.md": "- [ ] call Ada 📅 2026-01-15\n- [ ] no date\n\n```\n- [ ] code\n```\n",
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def vault(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Vault]:
    data: Path = tmp_path_factory.mktemp("tasks")
    put(folder(data), NOTES)
    async with open_at(data) as services:
        await indexed(services, len(NOTES))
        async with services.pool.lease(services.registry_cache.entry("main")) as opened:
            yield opened


async def texts(vault: Vault, wanted: TaskFilter) -> list[str]:
    return [task.text.split()[0] for task in (await task_listing.list_tasks(vault, wanted, 50, 4000)).tasks]


async def test_tasks_come_with_where_they_stand(vault: Vault) -> None:
    found = await task_listing.list_tasks(vault, TaskFilter(), 50, 4000)
    assert [(task.path, task.line) for task in found.tasks] == [
        ("a/work.md", 1),
        ("a/work.md", 2),
        ("b.md", 2),
        ("b.md", 5),
    ]
    paint = found.tasks[2]
    assert (paint.heading, paint.status, paint.due, paint.tags) == ("Home", " ", "2026-03-01", ["home/walls"])


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (TaskFilter(status="all", path="b"), ["paint", "sweep", "dropped", "half"]),
        (TaskFilter(status="done"), ["sweep"]),
        (TaskFilter(status="cancelled"), ["dropped"]),
        (TaskFilter(status="in_progress"), ["half"]),
        (TaskFilter(status="/"), ["half"]),
        (TaskFilter(folder="a"), ["call", "no"]),
        (TaskFilter(tag="#home"), ["paint", "half"]),
        (TaskFilter(tag="home/walls"), ["paint"]),
        (TaskFilter(tag="hom"), []),
        (TaskFilter(contains="ADA"), ["call"]),
        (TaskFilter(due_before="2026-03-01"), ["call"]),
        (TaskFilter(due_after="2026-03-01"), ["paint"]),
        (TaskFilter(sort_by="due"), ["call", "paint", "no", "half"]),
    ],
)
async def test_each_filter_narrows(vault: Vault, wanted: TaskFilter, expected: list[str]) -> None:
    assert await texts(vault, wanted) == expected


@pytest.mark.parametrize("sort_by", ["path", "due"])
async def test_pages_show_every_task_once(vault: Vault, sort_by: task_listing.TaskSort) -> None:
    wanted, seen, cursor = TaskFilter(status="all", sort_by=sort_by), [], None
    whole = await texts(vault, wanted)
    while True:
        page = await task_listing.list_tasks(vault, wanted, 2, 4000, cursor)
        seen += [task.text.split()[0] for task in page.tasks]
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == whole
    assert len(seen) == page.total == 6


async def test_what_is_not_there_or_no_status_is_refused(vault: Vault) -> None:
    with pytest.raises(NotFound):
        await task_listing.list_tasks(vault, TaskFilter(path="absent"), 50, 4000)
    with pytest.raises(InvalidArgument):
        await task_listing.list_tasks(vault, TaskFilter(status="whenever"), 50, 4000)
    first = await task_listing.list_tasks(vault, TaskFilter(), 1, 4000)
    with pytest.raises(InvalidArgument):
        await task_listing.list_tasks(vault, TaskFilter(status="done"), 1, 4000, first.cursor)
