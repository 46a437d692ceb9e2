"""The process that changes notes and is killed: each kind of work, said line by line, on a pipe.

It is forked from a server that has imported everything already, waits until a tracer has been attached, and only then
begins: so the first system call that is counted is one of the change itself.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from auth.principal import owner
from auth.roles import Role
from server import vault_admin
from server.call import Caller
from server.dispatch import CallOutcome, dispatch
from server.services import Services, open_services
from server.settings import load
from server.tools import discover
from tests.crash.traced import be_traced
from tests.fakes import HashEmbedder

HUB = "projects/hub.md"
MOVED = "archive/old/centre.md"
LINKING = 5

SEED: Mapping[str, str] = {
    HUB: "---\naliases: [Middle]\n---\n# Hub\n\nSee [[hub#Plan]] and [self](hub.md).\n\n## Plan\n\n- hubword one\n",
    **{
        f"linking/from{n}.md": f"# From {n}\n\n[[hub]] and [[projects/hub#Plan|the plan]]"
        f" and [md](../projects/hub.md) fromword{n}\n"
        for n in range(LINKING)
    },
    "log.md": "# Log\n\n## Notes\n\n- logword first\n\n## After\n\nuntouched afterword\n",
    "doomed.md": "# Doomed\n\ndoomedword and [[hub]]\n",
    "policies/all.yaml": """version: "1.0"
name: all
description: Does a bit of everything
variables:
  say: {type: string, required: true}
steps:
  - {id: make, tool: note_write, args: {path: made/deep/by policy.md, content: "{{ say }}"}}
  - {id: log, tool: note_edit, args: {path: log.md, section: Notes, content: "{{ say }}", format: bullet}}
  - {id: move, tool: note_move, args: {path: projects/hub.md, to: archive/old/}}
  - {id: mark, tool: frontmatter_update, args: {path: "{{ steps.move.path }}", set: {status: done}}}
  - {id: clear, tool: note_delete, args: {path: doomed.md}}
""",
    **{f"astray/{n}.md": f"strayword{n} to [[Nowhere|there]] and [[log]]\n" for n in range(3)},
    "bystander.md": "# Bystander\r\n\r\nbystanderword [[log]]\r\n",
    **{f"plain/{n}.md": f"plainword{n} of the bystander #mark/{n} and #mark\n" for n in range(3)},
}


@asynccontextmanager
async def opened(
    data: Path, flags: Mapping[str, Any] | None = None, patience_s: float = 20.0
) -> AsyncIterator[Services]:
    """Services over ``data`` with a small model and vault main, as soon as its notes are indexed."""
    flags = {"storage.reserve_mb": 0, **(flags or {})}
    loaded = load(data, flags=flags, environment={})
    async with open_services(loaded.settings, data, discover(), load_model=HashEmbedder) as services:
        if not services.registry_cache.known("main"):
            await vault_admin.create(services, "main")
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            await vault.notes.wait_for_index(patience_s)
        yield services


async def ask(services: Services, tool: str, **arguments: Any) -> CallOutcome:
    return await dispatch(services, Caller(owner("cli"), "main", Role.ADMIN, "cli"), tool, arguments)


CHANGES: Mapping[str, list[tuple[str, dict[str, Any]]]] = {
    "create": [
        ("note_write", {"path": f"made/new/note{n}.md", "content": f"# New {n}\n\nnewword{n}\n"}) for n in (0, 1)
    ],
    "edit": [
        ("note_edit", {"path": "log.md", "section": "Notes", "content": f"editword{n}", "format": "bullet"})
        for n in (0, 1)
    ],
    "delete": [("note_delete", {"path": "doomed.md", "confirm": True})],
    "move": [("note_move", {"path": HUB, "to": MOVED})],
    "fix": [("links", {"action": "validate", "fix": True, "target": "Nowhere", "to": "log.md", "dry_run": False})],
    "merge": [("entities", {"action": "merge", "entity": "log.md", "into": "doomed.md"})],
    "retag": [("schema", {"action": "rename_tag", "tag": "mark", "to": "sign/of", "dry_run": False})],
    "apply": [("links", {"action": "apply", "folder": "plain", "strictness": "aggressive", "dry_run": False})],
    "autolink": [
        (
            "note_edit",
            {"path": "log.md", "section": "Notes", "content": f"editword{n} of the Bystander", "auto_link": True},
        )
        for n in (0, 1)
    ],
    "policy": [
        ("policies", {"action": "execute", "name": "all", "variables": {"say": "policyword0"}, "confirm": True})
    ],
}


def work(data: str, kind: str, flags: dict[str, Any], pipe: Connection) -> None:
    """Open the vault, say ``ready``, wait for the word, make the changes of ``kind``, close. Everything is said."""
    be_traced()
    asyncio.run(_work(Path(data), kind, flags, pipe))
    pipe.send(("closed", None))


async def _work(data: Path, kind: str, flags: dict[str, Any], pipe: Connection) -> None:
    if kind == "open":  # the word comes first: what is done at opening is to be seen
        await _told(pipe)
        async with opened(data, flags):
            return
    async with opened(
        data, flags, patience_s=1.0
    ) as services:  # where another process follows the files, this never does
        await _told(pipe)
        for number, (tool, arguments) in enumerate(CHANGES[kind]):
            outcome = await ask(services, tool, **arguments)
            pipe.send((number, outcome.code or outcome.content["change"]))


async def _told(pipe: Connection) -> None:
    pipe.send(("ready", os.getpid()))
    await asyncio.to_thread(pipe.recv)
