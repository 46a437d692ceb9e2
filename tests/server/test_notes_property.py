"""Random edits of random notes through the tools: every byte outside the reported lines stays, and every acknowledged
edit is in the file, in the index and in the history."""

from __future__ import annotations

import asyncio
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.services import Services
from tests.conftest import Asking, Opening, asker
from tests.noted import folder, indexed, put
from tests.work import examples
from vaults.db.sql import Reader
from vaults.domain.notes.commit import journal
from vaults.domain.notes.index.extraction import compute_digest, etag_of

NAMES = ("a.md", "deep/b.md", "Größe 🗻.md")
LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")

words = st.sampled_from(["ferry", "quay", "naïve", "日本", "[[a]]", "#tag", "**bold**", "`x`", "1.", "🗻", "e\u0301"])
phrases = st.lists(words, min_size=1, max_size=4).map(" ".join)
lines = st.one_of(
    phrases,
    phrases.map(lambda text: f"- {text}"),
    phrases.map(lambda text: f"\t- {text}"),
    phrases.map(lambda text: f"- [ ] {text}"),
    phrases.map(lambda text: f"> {text}"),
    st.sampled_from(["", "", "## Log", "### Log", "# Top", "## Other", "---", "```\n## code\n```", "| a | b |", "  "]),
)


@st.composite
def notes(draw: st.DrawFn) -> bytes:
    body = draw(st.lists(lines, max_size=14))
    front = draw(st.sampled_from(["", "", "---\ntitle: T # why\nkept: 'q'\n---\n", "---\n---\n"]))
    ending = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    text = front + "\n".join(body) + draw(st.sampled_from(["\n", ""]))
    bom = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"]))
    return bom + text.replace("\n", ending).encode()


edits = st.one_of(
    st.fixed_dictionaries(
        {
            "tool": st.just("note_edit"),
            "section": st.sampled_from([None, "Log", "## Log", "Top > Log", "Other"]),
            "position": st.sampled_from(["append", "prepend"]),
            "format": st.sampled_from(["plain", "bullet", "task", "numbered", "timestamp-bullet"]),
            "create_section": st.booleans(),
            "content": st.sampled_from(["{}", "{} ferry\n- two", "* {}\n  * nested", "# {}\n\ntext"]),
        }
    ),
    st.fixed_dictionaries(
        {
            "tool": st.just("note_edit"),
            "action": st.just("replace"),
            "search": st.sampled_from(["ferry", "quay", "日本", "- ", "\n"]),
            # With blanks around it, or what stands beside the place would become one word with it.
            "replacement": st.sampled_from([" {} ", "", " {}\n{} "]),
            "occurrence": st.sampled_from(["first", "last", "all"]),
        }
    ),
    st.fixed_dictionaries(
        {
            "tool": st.just("note_edit"),
            "action": st.just("remove"),
            "search": st.sampled_from(["ferry", "## Other", "🗻"]),
            "occurrence": st.sampled_from(["first", "all"]),
        }
    ),
    st.fixed_dictionaries({"tool": st.just("note_edit"), "action": st.just("remove"), "section": st.just("Log")}),
    st.fixed_dictionaries({"tool": st.just("frontmatter_update"), "set": st.just({"said": "{}"})}),
    st.fixed_dictionaries({"tool": st.just("frontmatter_update"), "unset": st.just(["kept"])}),
    st.fixed_dictionaries({"tool": st.just("tasks"), "action": st.just("add"), "text": st.just("{}")}),
    st.fixed_dictionaries({"tool": st.just("tasks"), "action": st.just("toggle"), "text": st.just("ferry")}),
)
plans = st.lists(st.tuples(st.sampled_from(NAMES), edits), min_size=1, max_size=8)


@dataclass
class Round:
    services: Services
    ask: Asking
    root: Path

    async def edit(self, number: int, path: str, edit: dict[str, Any]) -> None:
        word = f"zq{number}x"
        arguments = {key: _filled(value, word) for key, value in edit.items() if key != "tool"}
        before = (self.root / path).read_bytes()
        done = await self.ask(edit["tool"], path=path, **arguments)
        after = (self.root / path).read_bytes()
        if not done.ok or not done.content["changed"]:
            assert done.code in (None, "not_found", "invalid_argument", "conflict"), done.text
            assert after == before
            return
        assert done.content["etag"] == etag_of(compute_digest(after))
        _check_outside(before.decode(), after.decode(), done.content)
        if word in str(arguments):
            assert word in after.decode()
            await self._check_found(word, edit)
        await self._check_recorded(done.content["change"], before, after)

    async def _check_found(self, word: str, edit: dict[str, Any]) -> None:
        if edit["tool"] == "frontmatter_update":
            listed = await self.ask("find_notes", where={"said": word})
            assert listed.content["total"] == 1
            return
        found = await self.ask("search", query=word, mode="keyword")
        assert found.ok, found.text
        assert found.content["total"] >= 1, (word, edit)

    async def _check_recorded(self, change: str, before: bytes, after: bytes) -> None:
        async with self.services.pool.lease(self.services.registry_cache.entry("main")) as vault:
            record = await vault.db.read(lambda tx: journal.find_change(tx, change))
            assert record is not None
            assert record.state == "done"
            (file,) = record.files
            assert (file.before, file.after) == (compute_digest(before), compute_digest(after))
            assert await vault.db.read(lambda tx: journal.read_version(tx, file.before)) == before


def _filled(value: Any, word: str) -> Any:
    if isinstance(value, str):
        return value.replace("{}", word)
    return {key: _filled(each, word) for key, each in value.items()} if isinstance(value, dict) else value


def _check_outside(before: str, after: str, content: dict[str, Any]) -> None:
    """What stands before the first and after the last reported line stood there before, byte for byte. The one thing
    an edit may add is the ending of a last line that had none."""
    pieces = LINE.findall(after.removeprefix("\ufeff"))
    old = before.removeprefix("\ufeff")
    assert after.startswith("\ufeff") == before.startswith("\ufeff")
    head = "".join(pieces[: content["first_line"] - 1])
    tail = "".join(pieces[content["last_line"] :])
    ended = old if old.startswith(head) else old + head[len(old) :]
    assert ended.startswith(head), (before, after, content)
    assert ended[len(old) :] in ("", "\n", "\r\n", "\r")
    assert old.endswith(tail), (before, after, content)
    assert len(head) + len(tail) <= len(ended), (before, after, content)


def _rows(tx: Reader) -> dict[str, list[Any]]:
    """All that the index says of notes, but for numbers and times that depend on when they were read."""
    return {
        "notes": tx.all(
            "SELECT path, path_key, folder, title, aliases, tags, frontmatter, problem, hash, size, complete FROM notes"
            " ORDER BY path"
        ),
        "names": tx.all("SELECT n.path, k.key FROM note_names k JOIN notes n ON n.seq = k.note ORDER BY 1, 2"),
        "links": tx.all(
            "SELECT n.path, l.ordinal, l.kind, l.line, l.target, l.target_key FROM note_links l"
            " JOIN notes n ON n.seq = l.note ORDER BY 1, 2"
        ),
        "tasks": tx.all(
            "SELECT n.path, t.line, t.status, t.text, t.heading, t.due, t.tags FROM note_tasks t"
            " JOIN notes n ON n.seq = t.note ORDER BY n.path, t.ordinal"
        ),
        "passages": tx.all(
            "SELECT n.path, p.title, p.body, p.labels, p.text_hash, p.source_hash, p.before, p.after FROM passages p"
            " JOIN notes n ON n.seq = p.item AND p.kind = 'note' ORDER BY n.path, p.ordinal"
        ),
    }


async def _dumped(services: Services) -> dict[str, list[Any]]:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        return await vault.db.read(_rows)


@settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))
@given(texts=st.tuples(*[notes() for _ in NAMES]), plan=plans)
def test_edits_change_what_they_say_and_are_kept(opening: Opening, texts: tuple[bytes, ...], plan: list[Any]) -> None:
    async def scenario(data: Path) -> None:
        files: dict[str, str | bytes] = dict(zip(NAMES, texts, strict=True))
        put(folder(data / "one"), files)
        async with opening(data=data / "one") as services:
            await indexed(services, len(NAMES))
            round_ = Round(services, asker(services), folder(data / "one"))
            for number, (path, edit) in enumerate(plan):
                await round_.edit(number, path, edit)
            kept = await _dumped(services)
        put(folder(data / "two"), {path: (folder(data / "one") / path).read_bytes() for path in NAMES})
        async with opening(data=data / "two") as services:
            await indexed(services, len(NAMES))
            assert kept == await _dumped(services)

    with tempfile.TemporaryDirectory() as made:
        asyncio.run(scenario(Path(made)))
