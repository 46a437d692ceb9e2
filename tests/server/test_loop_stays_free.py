"""Whatever stands in a note, nothing goes through it on the event loop's thread."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

import pytest

from server.services import Services
from tests.conftest import Asking
from tests.noted import settled
from vaults.domain.notes.index import reconciliation

LONG = 16_000
"""Characters of a text that nothing on the loop's thread may go through."""

READERS = (
    "vaults/markdown/", "vaults/index/", "vaults/graph/", "vaults/history/", "vaults/search/",
    "vaults/domain/graph/links/",
    "vaults/domain/notes/edit/changed_lines.py", "vaults/domain/notes/read/line_ranges.py",
    "vaults/domain/notes/index/extraction.py",
    "vaults/domain/notes/read/note_parts.py", "vaults/domain/notes/edit/note_templates.py",
)  # fmt: skip
"""Where texts are gone through."""

QUICK = {"encode", "decode", "digest", "etag_of", "text_hash"}
"""What is as fast as copying them."""

YAML = "---\n" + "".join(f"k{n}:\n  a: [{n}, 'b']\n" for n in range(900)) + "---\n"

NOTES = {
    "headings": "# Top\n" + "".join(f"## H {n}\n" for n in range(2_200)),
    "one line": "word [[a]] #b " * 1_600,
    "backticks": " ".join("`" * (1 + n % 37) + "a" for n in range(1_200)),
    "comment openers": "a <!-- " * 3_200,
    "tags": "".join(f"#t{n}\n" for n in range(3_800)),
    "links": "".join(f"[[N {n}|x]] [y](z{n}.md)\n" for n in range(1_300)),
    "tasks": "".join(f"- [ ] t {n}\n" for n in range(2_000)),
    "yaml": YAML + "words\n" * 400,
}


@cache
def _is_reader(code: CodeType) -> bool:
    among = any(each in code.co_filename for each in READERS)
    return among and code.co_name not in QUICK and not code.co_flags & inspect.CO_COROUTINE


@contextmanager
def watched() -> Iterator[list[str]]:
    """Calls on this thread of functions in ``READERS`` that are given a long text, as the file's and their names."""
    found: list[str] = []

    def look(frame: FrameType, _event: str, _: object) -> None:
        code = frame.f_code
        if not _is_reader(code):
            return
        given = [frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount]]
        if any(len(each) > LONG for each in given if isinstance(each, str | bytes)):
            found.append(f"{Path(code.co_filename).name}:{code.co_name}")

    before = sys.gettrace()
    sys.settrace(look)  # told of calls alone, as it asks for no lines: a profiler is told of C functions, too
    try:
        yield found
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("text", NOTES.values(), ids=NOTES.keys())
async def test_no_tool_goes_through_a_note_on_the_loops_thread(services: Services, ask: Asking, text: str) -> None:
    with watched() as found:
        assert (await ask("note_write", path="long", content=text, suggest_links=True)).ok
        edits = [
            {"action": "add", "content": "- more [[x]]"},
            {"action": "add", "content": text[-20_000:], "suggest_links": True},
            {"action": "replace", "search": "what is nowhere in it", "replacement": "x"},
            {"action": "replace", "pattern": "(a|b)+zz", "replacement": "x"},
            {"action": "add", "section": "Not there", "content": "x"},
        ]
        for edit in edits:
            await ask("note_edit", path="long", **edit)
        parts = [
            {},
            {"part": "section", "heading": "Nowhere"},
            {"part": "sections", "pattern": "(H|1)+$"},
            {"part": "full", "max_tokens": 100_000},
            {"part": "lines", "from_line": 3},
        ]
        for part in parts:
            await ask("note_read", path="long", **part)
        await ask("fetch", id="long.md")
        await ask("frontmatter_update", path="long", set={"new": ["a", {"b": 1}]}, keep_conflict=True)
        await ask("tasks", action="toggle", path="long", task="nothing like it")
        await ask("links", action="suggest", path="long")
        await ask("links", action="validate", path="long")
        await ask("note_move", path="long", to="moved")
        await ask("history", action="diff", path="moved")
        await settled(services)  # vectors, too: by its meaning any note may be found
        for search in ("search", "recall", "context", "explain"):
            assert (await ask(search, query="word")).ok
        await ask("note_delete", path="moved", confirm=True)
    assert set(found) == set()


async def test_nor_does_what_follows_the_files(services: Services, ask: Asking) -> None:
    await ask("note_write", path="here", content="x")
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        with watched() as found:
            for name, text in NOTES.items():
                (vault.notes.root / f"{name}.md").write_text(text)
            await vault.notes.wait_for_index(30)
            await reconciliation.reconcile_all(vault)
    assert set(found) == set()


def test_the_notes_are_long_enough() -> None:
    assert all(len(text) > LONG for text in NOTES.values())
