"""Files read in worker processes, and workers that misbehave: also ``vaults.parsing.worker``,
``vaults.parsing.worker_process``, ``vaults.parsing.confinement``, ``vaults.parsing.frames``."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.vaults.formats.made_files import make_pdf
from vaults.errors import Overloaded
from vaults.formats.parsed_document import ParseFailed
from vaults.parsing import parser_pool
from vaults.parsing.parser_pool import ParserPool, WorkerLifetime
from vaults.settings import IngestSettings

ROOT = Path(__file__).resolve().parents[3]
MEMORY = 512 * 1024 * 1024
SETTINGS = IngestSettings(workers=1, parse_memory=MEMORY)


@pytest.fixture
async def pool() -> AsyncIterator[ParserPool]:
    pool = ParserPool(SETTINGS)
    yield pool
    await pool.close()


@pytest.fixture
async def misbehaving() -> AsyncIterator[ParserPool]:
    pool = make_misbehaving()
    yield pool
    await pool.close()


def make_misbehaving(settings: IngestSettings = SETTINGS, lifetime: WorkerLifetime | None = None) -> ParserPool:
    return ParserPool(settings, lifetime, "tests.vaults.parsing.misbehaving_reader")


async def ask(pool: ParserPool, act: str) -> str:
    return (await pool.of("a").parse(act.encode(), "file")).parts[0].text


async def until(holds: Callable[[], bool]) -> None:
    """Wait until it holds, at most as long as a test may take."""
    while not holds():  # noqa: ASYNC110  nothing tells of it
        await asyncio.sleep(0.005)


async def test_a_file_is_read_by_a_worker_that_stays_for_the_next(pool: ParserPool, tmp_path: Path) -> None:
    assert pool.worker_count == 0
    parsed = await pool.of("a").parse(b"# Plan\n\nBuy bread.", "plan.md")
    assert [(part.heading, part.text) for part in parsed.parts] == [("Plan", "Buy bread.")]
    (tmp_path / "a.pdf").write_bytes(make_pdf(["From the disk."]))
    from_disk = await pool.of("a").parse_file(tmp_path / "a.pdf", "a.pdf")
    assert from_disk.parts[0].text == "From the disk."
    assert from_disk.source_hash != parsed.source_hash
    assert pool.worker_count == 1


async def test_source_code_is_outlined_by_a_worker(pool: ParserPool) -> None:
    pytest.importorskip("vaults.code.outline")
    outline = await pool.of("a").outline("def größe(x):\n    return x\n".encode(), "a.py")
    assert (outline.language, [each.name for each in outline.symbols]) == ("python", ["größe"])
    with pytest.raises(ParseFailed) as refused:
        await pool.of("a").outline(b"\0\1", "a.py")
    assert refused.value.problem == "unsupported"


async def test_what_is_no_file_to_read_says_why(pool: ParserPool, tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("x")
    (tmp_path / "link.txt").symlink_to("real.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "large.txt").write_bytes(b"")
    os.truncate(tmp_path / "large.txt", SETTINGS.max_file + 1)
    for name, problem in (
        ("link.txt", "damaged"),
        ("none.txt", "damaged"),
        ("pipe.txt", "unsupported"),
        (".", "unsupported"),
        ("large.txt", "too_large"),
    ):
        with pytest.raises(ParseFailed) as refused:
            await pool.of("a").parse_file(tmp_path / name, name)
        assert refused.value.problem == problem
        assert str(tmp_path) not in refused.value.message
    with pytest.raises(ParseFailed) as refused:
        await pool.of("a").parse(bytes(SETTINGS.max_file + 1), "large.txt")
    assert refused.value.problem == "too_large"
    assert pool.worker_count == 1


@pytest.mark.parametrize(
    ("act", "problem"),
    [
        ("eat", "memory"),
        ("crash", "crashed"),
        ("leave", "crashed"),
        ("flood", "crashed"),
        ("lie", "crashed"),
        ("spin", "timeout"),
    ],
)
async def test_a_worker_that_breaks_costs_its_file_alone(misbehaving: ParserPool, act: str, problem: str) -> None:
    first = await ask(misbehaving, "tell_process")
    with pytest.raises(ParseFailed) as failed:
        await ask(misbehaving, act)
    assert failed.value.problem == problem
    second = await ask(misbehaving, "tell_process")
    assert second != first
    assert misbehaving.worker_count == 1


@pytest.mark.parametrize(("act", "problem"), [("refuse", "encrypted"), ("recurse", "too_deep")])
async def test_a_worker_that_says_no_is_asked_again(misbehaving: ParserPool, act: str, problem: str) -> None:
    first = await ask(misbehaving, "tell_process")
    with pytest.raises(ParseFailed) as refused:
        await ask(misbehaving, act)
    assert refused.value.problem == problem
    assert await ask(misbehaving, "tell_process") == first


async def test_a_parser_that_hangs_is_ended() -> None:
    pool = make_misbehaving(SETTINGS.model_copy(update={"parse_seconds": 0.5}))
    with pytest.raises(ParseFailed) as failed:
        await ask(pool, "hang")
    assert failed.value.problem == "timeout"
    assert pool.worker_count == 0
    await pool.close()


async def test_what_libraries_print_does_not_reach_the_answers(misbehaving: ParserPool) -> None:
    assert await ask(misbehaving, "prattle") == "said nothing"
    assert await ask(misbehaving, "again") == "again"


async def test_a_worker_has_little_to_work_with(misbehaving: ParserPool) -> None:
    may = json.loads(await ask(misbehaving, "describe"))
    assert set(may["environment"]) <= {"PATH", "LANG", "PYTHONPATH", "MALLOC_ARENA_MAX", "LC_CTYPE"}
    assert (may["core"], may["memory"], may["files"]) == ([0, 0], [MEMORY, MEMORY], [64, 64])
    assert (may["input"], may["folder"], may["wrote"], may["session"]) == ("", "/", False, True)
    assert may["niceness"] >= 10


async def test_a_caller_that_gives_up_frees_its_place(misbehaving: ParserPool) -> None:
    waiting = asyncio.create_task(ask(misbehaving, "hang"))
    await until(lambda: misbehaving.worker_count == 1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await ask(misbehaving, "next") == "next"


async def test_too_many_files_at_once_are_refused(monkeypatch: pytest.MonkeyPatch, misbehaving: ParserPool) -> None:
    monkeypatch.setattr(parser_pool, "MAX_WAITING", 2)
    asked = [asyncio.create_task(ask(misbehaving, f"file {number}")) for number in range(4)]
    done = await asyncio.gather(*asked, return_exceptions=True)
    assert done[:3] == ["file 0", "file 1", "file 2"]
    assert isinstance(done[3], Overloaded)
    monkeypatch.setattr(parser_pool, "MAX_WAITING_BYTES", 7)
    asked = [asyncio.create_task(ask(misbehaving, "file 5")) for number in range(3)]
    done = await asyncio.gather(*asked, return_exceptions=True)
    assert [isinstance(each, Overloaded) for each in done] == [False, False, True]


async def test_several_files_are_read_at_once_but_no_more_than_there_are_workers() -> None:
    pool = make_misbehaving(SETTINGS.model_copy(update={"workers": 2}))
    processes = await asyncio.gather(*(ask(pool, "tell_process") for _ in range(12)))
    assert len(set(processes)) == pool.worker_count == 2
    await pool.close()
    assert pool.worker_count == 0


async def test_workers_end_when_idle_and_after_so_many_files() -> None:
    pool = make_misbehaving(lifetime=WorkerLifetime(idle_s=0.01, files=2))
    processes = [await ask(pool, "tell_process") for _ in range(3)]
    assert len({*processes}) >= 2
    await until(lambda: pool.worker_count == 0)
    assert await ask(pool, "again") == "again"
    await pool.close()


async def test_a_worker_that_died_while_idle_is_replaced(misbehaving: ParserPool) -> None:
    os.kill(int(await ask(misbehaving, "tell_process")), signal.SIGKILL)
    answers = []
    while "again" not in answers:  # until its death is noticed the next file may still be sent to it
        try:
            answers.append(await ask(misbehaving, "again"))
        except ParseFailed as failed:
            answers.append(failed.problem)
    assert answers in (["again"], ["crashed", "again"])


async def test_no_worker_reads_files_of_two_owners(misbehaving: ParserPool) -> None:
    first = await ask(misbehaving, "tell_process")
    other = (await misbehaving.of("b").parse(b"tell_process", "file")).parts[0].text
    assert other != first
    assert (await misbehaving.of("b").parse(b"tell_process", "file")).parts[0].text == other
    assert misbehaving.worker_count == 1, "the worker of the first owner made room"


SERVER = """
import asyncio, os, sys
from server.services import Services
from vaults.parsing.parser_pool import ParserPool

async def main():
    pool = ParserPool()
    await pool.of("a").parse(b"<p>words</p>", "a.html")
    await pool.of("a").parse(b"a,b", "a.csv")
    readers = [name for name in sys.modules if name.startswith("vaults.formats.") and "parsed_document" not in name]
    libraries = [name for name in ("lxml", "pypdfium2", "openpyxl", "charset_normalizer") if name in sys.modules]
    hanging = ParserPool(reader="tests.vaults.parsing.misbehaving_reader")
    said = await hanging.of("a").parse(b"tell_process", "file")
    asyncio.create_task(hanging.of("a").parse(b"hang", "file"))
    while not hanging._busy:
        await asyncio.sleep(0)
    print(readers, libraries, said.parts[0].text, flush=True)
    os.kill(os.getpid(), 9)

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a worker ends once it reads its input")
def test_the_server_imports_no_reader_and_its_workers_end_with_it() -> None:
    ended = subprocess.run([sys.executable, "-c", SERVER], cwd=ROOT, capture_output=True, text=True, check=False)
    *imported, worker = ended.stdout.split()
    assert (ended.returncode, imported) == (-signal.SIGKILL, ["[]", "[]"]), ended.stderr
    assert ends(int(worker))


def ends(process: int) -> bool:
    """Whether a process has ended, or does so in the moment this takes the system; it is ended in any case."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        ended, _, _ = select.select([handle], [], [], 10)
        if not ended:
            os.kill(process, signal.SIGKILL)
        return bool(ended)
    finally:
        os.close(handle)
