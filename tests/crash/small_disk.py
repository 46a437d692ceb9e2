"""Changes of notes on a disk with too little space left, or none that may be written: run where such a one is.

``python -m tests.crash.small_disk full DATA KB …`` tries every change with so much space left, and prints one JSON line
for each. ``… locked DATA`` does so on a disk that can only be read, ``… made DATA`` makes the vault before.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from server.dispatch import CallOutcome
from server.services import Services
from tests.crash.notes_oracle import agrees, files_of, notes_of
from tests.crash.notes_work import ask, opened
from tests.noted import folder, put
from vaults.domain.notes.commit import recovery
from vaults.domain.notes.index import reconciliation

LINKING = 5
QUIET = {"notes.watch": "off"}
LINE = "a line of a long note that says nothing much\n"
BIG = "# Big\n\n## Notes\n\nbigword\n" + LINE * 900


def fill(ballast: Path, leave: int) -> None:
    """Take all space of the disk but ``leave`` bytes."""
    with ballast.open("wb") as file, suppress(OSError):
        for size in (1 << 20, 1 << 16, 1 << 12):
            with suppress(OSError):
                while True:
                    os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), size)
        os.ftruncate(file.fileno(), max(0, file.seek(0, os.SEEK_END) - leave))


def done(outcome: CallOutcome) -> bool:
    """Whether the change was made, and only its audit could not be written: the answer says so."""
    return bool(outcome.content.get("error", {}).get("details", {}).get("done"))


def cause(outcome: CallOutcome) -> str | None:
    """The code of a refusal; of one for the audit's sake that of what the audit met: which of the two meets a full disk
    first depends on the last bytes of it."""
    error = outcome.content.get("error", {})
    if outcome.code == "audit_unavailable" and not done(outcome):
        return str(error["details"]["reason"])
    return outcome.code


def changes(mark: str) -> list[tuple[str, dict[str, Any]]]:
    """One of each kind."""
    return [
        ("note_write", {"path": f"made{mark}.md", "content": BIG}),
        ("note_edit", {"path": "big.md", "section": "Notes", "content": f"fullword{mark}"}),
        ("note_move", {"path": "hub.md", "to": f"hub{mark}.md"}),
        ("note_delete", {"path": "spare.md", "confirm": True}),
        ("schema", {"action": "rename_tag", "tag": "mark", "to": f"sign{mark}", "dry_run": False}),
    ]


async def attempt(services: Services, data: Path, free: int, number: int) -> dict[str, Any]:
    """One change with so much space left; what came of it."""
    tool, arguments = changes(str(free))[number]
    await ask(services, "note_write", path="hub.md", content="# Hub\n\n[me](hub.md)\n")
    await ask(services, "note_write", path="spare.md", content="# Spare\n")
    for n in range(LINKING if tool == "schema" else 0):
        await ask(services, "note_edit", path=f"from{n}.md", content="#mark")
    before = files_of(notes_of(data))
    fill(data.parent / "ballast", free * 1024)
    outcome = await ask(services, tool, **arguments)
    after = files_of(notes_of(data))
    found = await ask(services, "search", query="bystanderword", mode="keyword")
    read = await ask(services, "note_read", path="big.md", part="lines", max_lines=3)
    (data.parent / "ballast").unlink()
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        recovered = await recovery.recover(vault)
        await reconciliation.reconcile_all(vault)
        later = files_of(notes_of(data))
        await agrees(vault, later)
    code = None if done(outcome) else cause(outcome)
    kept = later == (before if code else after)
    again = (await ask(services, tool, **arguments)).code if code else None
    if tool == "note_move":
        await ask(services, "note_delete", path=f"hub{free}.md", confirm=True)
    return {
        "free": free, "tool": tool, "code": code, "same": after == before, "kept": kept,
        "recovered": recovered, "searched": bool(found.ok and found.content["hits"]), "read": read.ok, "again": again,
    }  # fmt: skip


async def made(data: Path) -> None:
    notes = {"big.md": BIG, "bystander.md": "# By\n\nbystanderword\n", "hub.md": "# Hub\n", "spare.md": "# Spare\n"}
    put(folder(data), notes | {f"from{n}.md": f"[[hub]] {n}\n" + LINE * 20 for n in range(LINKING)})
    async with opened(data, QUIET):
        pass


async def full(data: Path, amounts: list[int]) -> None:
    async with opened(data, QUIET) as services:
        for free in amounts:
            for number in range(len(changes(""))):
                print(json.dumps(await attempt(services, data, free, number)), flush=True)


async def locked(data: Path) -> None:
    before = files_of(notes_of(data))
    async with opened(data, patience_s=0.1) as services:  # who cannot write follows nothing
        for tool, arguments in changes("locked"):
            outcome = await ask(services, tool, **arguments)
            found = await ask(services, "search", query="bystanderword", mode="keyword")
            read = await ask(services, "note_read", path="big.md", part="lines", max_lines=3)
            same = files_of(notes_of(data)) == before
            said = {"tool": tool, "code": outcome.code, "same": same, "read": read.ok}
            print(json.dumps(said | {"searched": bool(found.ok and found.content["hits"])}), flush=True)


if __name__ == "__main__":
    kind, place = sys.argv[1], Path(sys.argv[2])
    asyncio.run(full(place, [int(each) for each in sys.argv[3:]]) if kind == "full" else globals()[kind](place))
