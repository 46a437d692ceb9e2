"""Out of a vault and in again: nothing lost, nothing twice, and no line of a file that stops the rest.

Covers vaults.domain.import_export.exports, vaults.domain.import_export.memory_export,
vaults.domain.import_export.memory_lines, vaults.domain.import_export.vault_import,
vaults.domain.import_export.markdown_files, vaults.domain.import_export.rejections, vaults.sources.jsonl,
vaults.sources.known, vaults.sources.lines, vaults.sources.source.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.services import Services
from tests.conftest import Asking, Opening, asker
from tests.importing import import_jsonl
from tests.work import examples
from vaults.domain.actors import Actor
from vaults.domain.import_export.exports import STAGE_FOLDER, export, open_stage
from vaults.domain.import_export.source_import import ImportTally
from vaults.errors import Conflict, EmbeddingUnavailable, InvalidArgument
from vaults.index import embeddings
from vaults.vault import Vault

OWNER = Actor("owner", "owner")


@pytest.fixture
async def vault(services: Services) -> AsyncIterator[Vault]:
    async with services.pool.lease(services.registry_cache.entry("main")) as held:
        yield held


def written(path: Path, lines: Iterable[dict[str, Any] | bytes]) -> Path:
    path.write_bytes(b"".join(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n" for one in lines))
    return path


def rejected(path: Path) -> dict[int, str]:
    report = path.with_name(path.name + ".rejected.jsonl")
    if not report.exists():
        return {}
    return {line["line"]: line["reason"] for line in map(json.loads, report.read_text().splitlines())}


async def everything(vault: Vault, folder: Path) -> bytes:
    await export(vault, folder, ["jsonl"])
    return (folder / "memories.jsonl").read_bytes()


TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=("Cs",)), min_size=1, max_size=60).filter(
    str.strip
)
LABEL = TEXT.map(lambda text: text.strip()[:40]).filter(str.strip)
TIMES = st.datetimes().map(lambda moment: moment.isoformat(timespec="milliseconds") + "Z")
LEAF = (
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
)
LINES = st.fixed_dictionaries(
    {"content": TEXT, "external_id": st.uuids().map(str)},
    optional={
        "title": TEXT,
        "type": st.sampled_from(["raw", "decision", "fact"]),
        "tags": st.lists(LABEL, max_size=3),
        "keywords": st.lists(LABEL, max_size=3),
        "metadata": st.dictionaries(TEXT, LEAF | st.lists(LEAF, max_size=3), max_size=3),
        "thread": LABEL,
        "applies_to": st.sampled_from(["global", "file:a b.py", "area:ü"]),
        "workspace": LABEL,
        "entity": LABEL,
        "author": LABEL,
        "parent": LABEL,
        "position": st.integers(0, 2**53),
        "confidence": st.floats(0, 1),
        "occurred_at": TIMES,
        "created_at": st.datetimes(max_value=datetime(2900, 1, 1)).map(  # noqa: DTZ001  hypothesis wants it so
            lambda moment: moment.isoformat(timespec="milliseconds") + "Z"
        ),
        "ttl_days": st.floats(0.01, 36_500),
        "visibility": st.sampled_from(["shared", "private"]),
        "tier": st.sampled_from(["hot", "cold"]),
        "archived_at": TIMES,
    },
)


@settings(
    max_examples=examples(12),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(lines=st.lists(LINES, min_size=1, max_size=8))
def test_import_of_an_export_is_the_same(
    lines: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory, opening: Opening
) -> None:
    async def there_and_back() -> None:
        folder = tmp_path_factory.mktemp("data")
        async with opening(vaults=("a", "b"), data=folder / "data") as services:
            async with (
                services.pool.lease(services.registry_cache.entry("a")) as first,
                services.pool.lease(services.registry_cache.entry("b")) as second,
            ):
                tally = await import_jsonl(first, OWNER, written(folder / "in.jsonl", lines))
                assert (tally.stored, tally.rejected) == (len(lines), 0), rejected(folder / "in.jsonl")
                out = await everything(first, folder / "a")
                again = await import_jsonl(second, OWNER, folder / "a" / "memories.jsonl")
                assert (again.stored, again.rejected) == (len(lines), 0)
                assert await everything(second, folder / "b") == out
                for given_line, line in zip(lines, map(json.loads, out.splitlines()), strict=True):
                    same = {"content", "external_id", "title", "tags", "metadata", "confidence"} & given_line.keys()
                    assert {name: line.get(name) or None for name in same} == {n: given_line[n] or None for n in same}

    asyncio.run(there_and_back())


async def test_what_is_no_memory_is_listed_and_stops_nothing(vault: Vault, tmp_path: Path) -> None:
    good = {"content": "the one good line", "external_id": "good"}
    hostile: list[bytes] = [
        b"not json\n",
        b'{"content": "x", "confidence": NaN}\n',
        b'{"content": "x", "confidence": 1e999}\n',
        b'{"content": "lone \\ud800 surrogate"}\n',
        b'{"content": "nul \\u0000 inside"}\n',
        b'{"content": "x", "metadata": {"a": Infinity}}\n',
        b'{"content": "' + b"x" * 9_000_000 + b'"}\n',
        b'{"content": "' + b"x" * 51_201 + b'"}\n',
        b"[1, 2]\n",
        b'"text"\n',
        b"\xff\xfe\n",
        b'{"content": 5}\n',
        b'{"content": "x", "tags": "a"}\n',
        b'{"content": "x", "surprise": 1}\n',
        b'{"title": "no content"}\n',
        b'{"content": "x", "created_at": "yesterday"}\n',
        b'{"content": "x", "occurred_at": "2026-13-40"}\n',
        b'{"content": "x", "ttl_days": -1}\n',
        b'{"content": "x", "created_at": "9999-12-01", "ttl_days": 400}\n',
        b"[" * 100_000 + b"\n",
        b'{"content": "x", "metadata": ' + b'{"a":' * 5_000 + b"1" + b"}" * 5_000 + b"}\n",
        b'{"content": "x", "position": ' + b"9" * 5_000 + b"}\n",
    ]
    path = written(tmp_path / "in.jsonl", [b"\n", *hostile, good])
    tally = await import_jsonl(vault, OWNER, path)
    reasons = rejected(path)
    assert list(reasons) == list(range(2, 2 + len(hostile)))
    assert (tally.stored, tally.known, tally.rejected) == (1, 0, len(hostile))
    assert reasons[2] == "the line is not JSON"
    assert reasons[8].startswith("the line is longer")
    assert reasons[15] == "surprise is not a field of a memory"
    assert reasons[16] == "content is required"


async def test_the_last_line_needs_no_newline_and_a_byte_order_mark_is_no_text(vault: Vault, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"content": "one"}\r\n\r\n{"content": "two"}')
    assert (await import_jsonl(vault, OWNER, path)).stored == 2


async def test_a_report_of_a_former_run_does_not_outlive_a_clean_one(vault: Vault, tmp_path: Path) -> None:
    path = written(tmp_path / "in.jsonl", [b"broken\n"])
    assert (await import_jsonl(vault, OWNER, path)).rejected == 1
    written(path, [{"content": "mended"}])
    assert (await import_jsonl(vault, OWNER, path)).rejected == 0
    assert not rejected(path)


async def test_a_folder_that_takes_no_report_does_not_stop_the_import(vault: Vault, tmp_path: Path) -> None:
    path = written(tmp_path / "in.jsonl", [b"broken\n", {"content": "good"}])
    (tmp_path / "in.jsonl.rejected.jsonl").mkdir()  # nobody, not even root, writes a file here
    tally = await import_jsonl(vault, OWNER, path)
    assert (tally.stored, tally.rejected) == (1, 1)
    assert [(each.place, each.reason) for each in tally.unwritten] == [(1, "the line is not JSON")]


async def test_a_pipe_can_be_imported(vault: Vault, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writing = threading.Thread(target=pipe.write_bytes, args=[b'{"content": "through a pipe"}\n'])
    writing.start()
    tally = await import_jsonl(vault, OWNER, pipe)
    writing.join()
    assert (tally.stored, tally.done) == (1, 30)


async def test_a_file_may_be_imported_again_whatever_happened_since(vault: Vault, tmp_path: Path, ask: Asking) -> None:
    lines = [
        {"content": "with an id", "external_id": "e1"},
        {"content": "the same id again", "external_id": "e1"},
        {"content": "without an id"},
        {"content": "Without  an id "},
        {"content": "Thanks!", "parent": "talk"},
        {"content": "Thanks!", "parent": "talk"},
    ]
    path = written(tmp_path / "in.jsonl", lines)
    tally = await import_jsonl(vault, OWNER, path)
    assert (tally.stored, tally.known) == (4, 2)
    listed = (await ask("memory_list", order="oldest")).content["memories"]
    edited = next(memory for memory in listed if memory["content"] == "without an id")
    assert (await ask("memory_update", id=edited["id"], content="edited since")).ok
    forgotten = next(memory for memory in listed if memory["content"] == "with an id")
    assert (await ask("memory_forget", ids=[forgotten["id"]])).ok
    again = await import_jsonl(vault, OWNER, path)
    assert (again.stored, again.known) == (0, 6)
    await export(vault, tmp_path / "out", ["jsonl"])
    own = await import_jsonl(vault, OWNER, tmp_path / "out" / "memories.jsonl")
    assert (own.stored, own.known) == (0, 4)


async def test_archived_and_superseded_memories_come_back_as_such(
    vault: Vault, tmp_path: Path, ask: Asking, opening: Opening
) -> None:
    first = (await ask("remember", content="Deploys run on Friday")).content["id"]
    second = (await ask("memory_supersede", id=first, content="Deploys run on Monday", reason="moved")).content["id"]
    gone = (await ask("remember", content="A mistake")).content["id"]
    assert (await ask("memory_forget", ids=[gone], reason="wrong")).ok
    out = await everything(vault, tmp_path / "out")
    assert {json.loads(line)["external_id"] for line in out.splitlines()} == {first, second, gone}
    async with opening(data=tmp_path / "other") as services:
        async with services.pool.lease(services.registry_cache.entry("main")) as other:
            await import_jsonl(other, OWNER, tmp_path / "out" / "memories.jsonl")
            assert await everything(other, tmp_path / "out2") == out
        there = asker(services)
        hits = (await there("recall", query="deploys mistake")).content["hits"]
        assert [hit["content"] for hit in hits] == ["Deploys run on Monday"]
        old = (await there("memory_get", ids=[hits[0]["id"]])).content["memories"][0]["supersedes"]
        assert (await there("memory_get", ids=[old])).content["memories"][0]["archived_reason"] == "moved"


async def test_links_between_memories_come_back(vault: Vault, tmp_path: Path, ask: Asking, opening: Opening) -> None:
    first, second = [(await ask("remember", content=word)).content["id"] for word in ("cause", "effect")]
    assert (await ask("memory_link", from_id=first, relation="causes", to_id=second)).ok
    assert (await ask("memory_link", from_id=second, relation="part of", to_id=first)).ok
    out = await everything(vault, tmp_path / "out")
    links = [json.loads(line).get("links") for line in out.splitlines()]
    assert links == [None, [[first, "causes", second], [second, "part of", first]]]
    async with opening(data=tmp_path / "other") as services:
        async with services.pool.lease(services.registry_cache.entry("main")) as other:
            await import_jsonl(other, OWNER, tmp_path / "out" / "memories.jsonl")
            assert await everything(other, tmp_path / "out2") == out
            dangling = {"content": "x", "links": [["a", "to", "nobody"], [first, "to", first]]}
            assert (await import_jsonl(other, OWNER, written(tmp_path / "in.jsonl", [dangling]))).stored == 1


async def test_imported_memories_have_their_vectors_at_once(vault: Vault, tmp_path: Path, ask: Asking) -> None:
    lines = [{"content": f"memory {n} of the blue safe", "external_id": str(n)} for n in range(600)]
    seen: list[tuple[int, int]] = []

    def progress(tally: ImportTally) -> None:
        seen.append((tally.done, tally.stored))

    tally = await import_jsonl(vault, OWNER, written(tmp_path / "in.jsonl", lines), progress)
    assert tally.stored == 600
    assert await vault.db.read(embeddings.count_missing) == 0
    assert [stored for _, stored in seen] == [256, 512, 600]
    assert seen[-1][0] == tally.total
    hit = (await ask("recall", query="memory 77 of the blue safe", mode="semantic")).content["hits"][0]
    assert hit["external_id"] == "77"


async def test_without_a_model_everything_is_stored_and_the_vectors_owed(tmp_path: Path, opening: Opening) -> None:
    def broken() -> Any:
        raise EmbeddingUnavailable("no model today")

    async with opening(load_model=broken) as services:
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            tally = await import_jsonl(vault, OWNER, written(tmp_path / "in.jsonl", [{"content": "kept anyway"}]))
            assert tally.stored == await vault.db.read(embeddings.count_missing) == 1
        assert (await asker(services)("recall", query="kept")).content["hits"]


async def test_a_markdown_file_says_what_the_memory_says(vault: Vault, tmp_path: Path, ask: Asking) -> None:
    titles = ["../../etc/passwd", "CON", "a/b\\c:d*?", "Grüße 東京 🙂", "x" * 400, 'quote " and \u2028 and \x85', "---"]
    for number, title in enumerate(titles):
        content = f"---\ncontent {number}: not frontmatter\n---\n"
        assert (await ask("remember", title=title, content=content, metadata={"k": [1, None, "é"]})).ok
    assert await export(vault, tmp_path / "out", ["markdown"]) == len(titles)
    files = sorted((tmp_path / "out" / "memories").iterdir())
    assert len(files) == len(titles)
    assert not (tmp_path / "out" / "memories.jsonl").exists()
    found = {}
    for file in files:
        assert len(file.name.encode()) < 200
        assert file.name == file.name.strip(". ")
        head, _, body = file.read_text(encoding="utf-8").removeprefix("---\n").partition("\n---\n\n")
        front = yaml.safe_load(head)
        assert front["metadata"] == {"k": [1, None, "é"]}
        found[front["title"]] = body
    assert found == {title: f"---\ncontent {n}: not frontmatter\n---\n\n" for n, title in enumerate(titles)}


async def test_a_failed_export_leaves_the_former_one(vault: Vault, tmp_path: Path, ask: Asking) -> None:
    await ask("remember", content="first")
    before = await everything(vault, tmp_path)
    await ask("remember", content="second")

    def fail(done: int, total: int) -> None:
        raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError):
        await export(vault, tmp_path, ["jsonl", "markdown"], fail)
    assert (tmp_path / "memories.jsonl").read_bytes() == before
    assert not (tmp_path / STAGE_FOLDER).exists()


async def test_two_exports_into_one_folder_do_not_mix(vault: Vault, tmp_path: Path, ask: Asking) -> None:
    await ask("remember", content="first")
    with open_stage(tmp_path, ["jsonl"]):
        with pytest.raises(Conflict):
            await export(vault, tmp_path, ["jsonl"])
    assert await export(vault, tmp_path, ["jsonl"]) == 1


async def test_files_that_cannot_be_used_are_named(vault: Vault, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="PATH"):
        await import_jsonl(vault, OWNER, tmp_path / "absent")
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidArgument, match="--to"):
        await export(vault, tmp_path / "file", ["jsonl"])
