"""A vault whose notes folder is a view of its rows, as in a cluster, and random edits of it by tools.

Covers nothing by itself: used by the tests of ``note_files``.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.vaults.domain.notes.notes_desk import Desk
from vaults.db.sql import Reader
from vaults.domain.notes.commit import note_files
from vaults.vault import Vault

Files = dict[str, bytes]


def keep_note_files(patch: pytest.MonkeyPatch) -> None:
    """Have every vault do as in a cluster."""
    patch.setattr(Vault, "keeps_note_files", True)


def files_below(root: Path) -> Files:
    """Every file by path, hidden ones too."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def times_below(root: Path) -> dict[str, int]:
    return {path.relative_to(root).as_posix(): path.stat().st_mtime_ns for path in root.rglob("*") if path.is_file()}


def kept_in(tx: Reader) -> Files:
    """What the rows say the folder holds."""
    kept = dict(note_files.iter_contents(tx))
    assert None not in kept.values(), "a version of a file is lost"
    return {each.path: data or b"" for each, data in kept.items()}


class RandomEdits:
    """Steps by tools, drawn from a seed. One that is refused has changed nothing."""

    def __init__(self, desk: Desk, seed: int) -> None:
        self._desk, self._chance = desk, random.Random(seed)
        self.made = 0
        self.done = 0

    async def step(self) -> None:
        verbs = ("write", "write", "edit", "edit", "edit", "overwrite", "move", "delete", "undo", "retag", "policy")
        await getattr(self, self._chance.choice(verbs))()

    async def write(self) -> None:
        self.made += 1
        links = " ".join(f"[[{Path(self._any()).stem}]]" for _ in range(self._chance.randrange(4)))
        text = f"# Note {self.made}\n\n{self._words()} {links} #tag{self._chance.randrange(3)}\n"
        await self._ask("note_write", path=f"{self._folder()}note{self.made}.md", content=text)

    async def overwrite(self) -> None:
        await self._ask("note_write", path=self._any(), content=self._words(), mode="overwrite")

    async def edit(self) -> None:
        await self._ask("note_edit", path=self._any(), content=self._words())

    async def move(self) -> None:
        self.made += 1
        await self._ask("note_move", path=self._any(), to=f"{self._folder()}moved{self.made}.md")

    async def delete(self) -> None:
        await self._ask("note_delete", path=self._any(), confirmed=True)

    async def undo(self) -> None:
        await self._ask("history", action="undo")

    async def retag(self) -> None:
        old, new = self._chance.sample(range(3), 2)
        await self._ask("schema", action="rename_tag", tag=f"tag{old}", to=f"tag{new}", dry_run=False)

    async def policy(self) -> None:
        self.made += 1
        steps = "steps:\n  - {id: one, tool: note_edit, args: {path: a.md, content: said}}\n"
        text = f'version: "1.0"\nname: p{self.made}\ndescription: says\n{steps}'
        await self._ask("policies", action="author", name=f"p{self.made}", content=text, confirm=True)

    async def _ask(self, tool: str, **arguments: Any) -> None:
        outcome = await self._desk.ask(tool, **arguments)
        assert outcome.ok or outcome.code not in ("internal", "unavailable"), outcome.text
        self.done += outcome.ok

    def _any(self) -> str:
        notes = sorted(path for path in files_below(self._desk.root) if path.endswith(".md"))
        return self._chance.choice(notes) if notes else "none.md"

    def _folder(self) -> str:
        return self._chance.choice(("", "", "plans/", "plans/deep/er/", "Über/"))

    def _words(self) -> str:
        return " ".join(f"word{self._chance.randrange(50)}" for _ in range(self._chance.choice((3, 30, 6000))))
