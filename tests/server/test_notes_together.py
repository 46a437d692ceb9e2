"""Many who change one note at once: all that was acknowledged is there, and a program outside loses nothing.

Covers vaults.domain.notes.edit.conflicts, vaults.domain.notes.edit.single_note.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, asker, local
from tests.noted import folder, put
from tests.people import give_role
from vaults.domain.notes.commit.journal import NoteChange
from vaults.domain.notes.commit.transaction import CommittedChange, commit
from vaults.domain.notes.edit import single_note
from vaults.vault import Vault


@pytest.fixture
def root(services: Services, tmp_path: Path) -> Path:
    return folder(tmp_path)


async def _caller(services: Services, name: str) -> Asking:
    await give_role(services, name)
    return asker(services, Caller(local(name), "main", Role.WRITER, "http"))


async def test_twenty_appends_of_two_callers_are_all_there(services: Services, root: Path) -> None:
    put(root, {"plan.md": "# Plan\n\n## Log\n\n## End\n"})
    ana, bo = await _caller(services, "ana"), await _caller(services, "bo")
    said = [(ask, f"{name} {number}") for number in range(10) for ask, name in ((ana, "ana"), (bo, "bo"))]
    done = await asyncio.gather(
        *(ask("note_edit", path="plan", content=words, section="Log", format="bullet") for ask, words in said)
    )
    assert all(each.ok for each in done)
    text = (root / "plan.md").read_text()
    assert text.startswith("# Plan\n\n## Log\n")
    assert text.endswith("\n\n## End\n")
    items = [line for line in text.splitlines() if line.startswith("- ")]
    assert sorted(items) == sorted(f"- {words}" for _, words in said)
    assert len({each.content["etag"] for each in done}) == 20


async def test_of_many_with_one_etag_one_succeeds(services: Services, root: Path) -> None:
    put(root, {"plan.md": "# Plan\n"})
    ana, bo = await _caller(services, "ana"), await _caller(services, "bo")
    etag = (await ana("note_read", path="plan")).content["etag"]
    done = await asyncio.gather(*(ask("note_edit", path="plan", content="x", etag=etag) for ask in [ana, bo] * 5))
    assert sorted(each.code or "ok" for each in done) == ["conflict"] * 9 + ["ok"]
    assert (root / "plan.md").read_text() == "# Plan\nx\n"


async def test_first_words_to_a_day_may_come_together(services: Services, root: Path) -> None:
    ana, bo = await _caller(services, "ana"), await _caller(services, "bo")
    done = await asyncio.gather(
        *(ask("note_edit", path="@daily:2026-03-01", content=f"word{n}") for n in range(5) for ask in (ana, bo))
    )
    assert all(each.ok for each in done)
    text = (root / "memory/2026-03-01.md").read_text()
    assert all(text.count(f"word{n}") == 2 for n in range(5))


async def test_a_save_from_outside_in_between_is_a_conflict(
    ask: Asking, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root, {"plan.md": "# Plan\n"})
    saves = ["theirs 1\n", "theirs 2\n"]

    async def after_a_save(vault: Vault, actor: object, change: NoteChange, *more: Any) -> CommittedChange:
        if saves and change.files[0].path == "plan.md":
            put(root, {"plan.md": saves.pop(0)})
        return await commit(vault, actor, change, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(single_note, "commit", after_a_save)
    refused = await ask("note_edit", path="plan", content="mine")
    assert refused.code == "conflict"
    details = refused.content["error"]["details"]
    assert details["text"] == (root / "plan.md").read_text() == "theirs 1\n"
    kept = await ask("note_edit", path="plan", content="mine", keep_conflict=True)
    assert kept.code == "conflict"
    assert (root / kept.content["error"]["details"]["kept"]).read_text() == "theirs 1\n\nmine\n"
    assert (root / "plan.md").read_text() == "theirs 2\n"
    done = await ask("note_edit", path="plan", content="mine", etag=kept.content["error"]["details"]["etag"])
    assert done.ok
    assert (root / "plan.md").read_text() == "theirs 2\n\nmine\n"


async def test_a_file_from_outside_at_a_new_name_stays(
    ask: Asking, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def after_a_save(vault: Vault, actor: object, change: NoteChange, *more: Any) -> CommittedChange:
        put(root, {"plan.md": "theirs\n"})
        return await commit(vault, actor, change, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(single_note, "commit", after_a_save)
    refused = await ask("note_write", path="plan", content="mine")
    assert refused.code == "already_exists"
    assert len(refused.content["error"]["details"]["etag"]) == 16
    assert (root / "plan.md").read_text() == "theirs\n"
