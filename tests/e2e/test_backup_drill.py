"""The drill: a server under load is backed up while it is written to, its data folder is lost, and a fresh one gets
everything that was answered before the backup, from archives of this schema and of the one before."""

from __future__ import annotations

import asyncio
import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from auth.roles import Role
from ops.backup import contents, questions
from ops.backup.archive_reader import open_archive
from ops.backup.archive_writer import write_archive
from ops.backup.file_copy import hash_file
from ops.backup.manifest import BackupManifest
from ops.backup.member_paths import VAULT_DATABASE
from ops.backup.pace import Pace
from ops.backup.staging import StagedBackup
from tests.server.cli.command import ENVIRONMENT, Strongroom
from tests.server.http.serving import BOTH, MODERN, enveloped, ground, settings_of
from tests.work import PROGRAM_PATIENCE_S
from vaults.db.engine import sqlite
from vaults.db.migration import load_migrations
from vaults.db.sql import Reader

VAULTS = ("talk", "wiki", "shelf")
SEEDED = 40
"""Of memories, notes and documents each, before the load."""

WORDS = ("harbour", "quay", "crane", "pilot", "tide", "barge", "anchor", "beacon", "ferry", "sluice")
WRITERS, WARM = 2, 12
"""Writers of each vault, and writes of each vault that are answered before its backup begins."""

REMOVED_STEP = ("_note_files.sql", ("DROP TABLE note_files",))
"""The last migration, and what takes it back."""


@dataclass
class Acknowledged:
    """What was answered in one vault, in order, by kind: memories by id, notes by path."""

    memories: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    def __len__(self) -> int:
        return len(self.memories) + len(self.notes) + len(self.documents)

    async def wait_for(self, more: int) -> None:
        """Until so many more writes were answered."""
        enough = len(self) + more
        async with asyncio.timeout(PROGRAM_PATIENCE_S):
            while len(self) < enough:
                self.answered.clear()
                await self.answered.wait()

    def copy(self) -> Acknowledged:
        return Acknowledged(dict(self.memories), dict(self.notes), dict(self.documents))


class Server:
    """``strongroom serve`` as a process, and calls to it."""

    def __init__(self, data: Path, token: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "server", "serve", "--port", "0", "--metrics-port", "0"],
            env={**ENVIRONMENT, "STRONGROOM_DATA": str(data)}, cwd=data.parent,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        said = ""
        while (found := re.search(r"serves (http\S+)/v/<vault>/mcp", said)) is None:
            line = self.process.stdout.readline()
            assert line, said
            said += line
        self.url = found.group(1)
        headers = {"authorization": f"Bearer {token}", "accept": BOTH, "mcp-protocol-version": MODERN}
        self.http = httpx2.AsyncClient(headers=headers, timeout=PROGRAM_PATIENCE_S)

    async def call(self, vault: str, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = await self.answer(vault, tool, **arguments)
        assert not answer.get("isError"), answer
        result: dict[str, Any] = answer["structuredContent"]
        return result

    async def answer(self, vault: str, tool: str, **arguments: Any) -> dict[str, Any]:
        """As it comes, errors too."""
        message = enveloped("tools/call", {"name": tool, "arguments": arguments})
        headers = {"mcp-method": "tools/call", "mcp-name": tool}
        answer = (await self.http.post(f"{self.url}/v/{vault}/mcp?tools=full", json=message, headers=headers)).json()
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        return result


@asynccontextmanager
async def serving(data: Path, token: str) -> AsyncIterator[Server]:
    server = await asyncio.to_thread(Server, data, token)
    try:
        yield server
    finally:
        await server.http.aclose()
        server.process.terminate()
        try:
            await asyncio.to_thread(server.process.communicate, timeout=PROGRAM_PATIENCE_S)
        finally:
            server.process.kill()


async def seed(server: Server) -> dict[str, Acknowledged]:
    """What the questions are about: every text holds two words of its own mixture."""
    done = {vault: Acknowledged() for vault in VAULTS}
    for number in range(SEEDED):
        one, other = WORDS[number % len(WORDS)], WORDS[(number * 3 + 1) % len(WORDS)]
        text = f"{one} {' '.join([other] * (1 + number % 4))} seed {number}"
        memory = await server.call("talk", "remember", content=text, title=f"{one} and {other} {number}")
        done["talk"].memories[memory["id"]] = text
        path = f"seed/{number}.md"
        await server.call("wiki", "note_write", path=path, content=f"# {one} {number}\n\n{text}\n")
        done["wiki"].notes[path] = f"# {one} {number}\n\n{text}\n"
        added = await server.call("shelf", "ingest", content=f"# {one} {number}\n\n{text}\n", name=f"seed-{number}.md")
        done["shelf"].documents[str(added["documents"][0]["id"])] = text
    return done


async def write_on(server: Server, vault: str, writer: int, done: Acknowledged, stop: asyncio.Event) -> None:
    """Write without end, and keep what was answered."""
    number = 0
    while not stop.is_set():
        name, number = f"{vault}-{writer}-{number}", number + 1
        text = f"load {name} unrelated"
        if vault == "talk":
            done.memories[(await server.call(vault, "remember", content=text))["id"]] = text
        elif vault == "wiki":
            await server.call(vault, "note_write", path=f"load/{name}.md", content=f"{text}\n")
            done.notes[f"load/{name}.md"] = f"{text}\n"
            rewritten = f"load/log-{writer}.md"
            await server.call(vault, "note_write", path=rewritten, content=f"{text} whole\n" * 50, mode="overwrite")
        else:
            added = await server.call(vault, "ingest", content=f"# {name}\n\n{text}\n", name=f"{name}.md")
            done.documents[str(added["documents"][0]["id"])] = text
        done.answered.set()


async def ask_all(server: Server) -> list[list[str]]:
    """The ten first answers of thirty questions."""
    answers = []
    for number, word in enumerate(WORDS):
        pair = f"{word} {WORDS[(number * 3 + 1) % len(WORDS)]}"
        recalled = await server.call("talk", "recall", query=pair, limit=10, mode="keyword")
        answers.append([hit["id"] for hit in recalled["hits"]])
        for vault in ("wiki", "shelf"):
            found = await server.call(vault, "search", query=pair, limit=10, mode="keyword")
            answers.append([hit["id"] for hit in found["hits"]])
    assert len(answers) == 30
    assert all(answers), "every question has an answer"
    return answers


async def back_up(data: Path, vault: str, to: Path) -> Path:
    """By the command, beside the server."""
    to.mkdir(parents=True)
    made = await asyncio.to_thread(Strongroom(data).process, "backup", "--vault", vault, "--to", str(to))
    assert made.code == 0, made
    return Path(made.out.strip())


def with_schema_before(archive: Path, to: Path) -> Path:
    """The same backup as the release before would have made it: with the database one migration behind."""
    end, undo = REMOVED_STEP
    last = load_migrations("vault")[-1]
    assert last.name.endswith(end), "say above how the new last migration is taken back"
    to.mkdir(parents=True)
    manifest = open_archive(archive).extract(to)
    database = to / VAULT_DATABASE
    with closing(sqlite.connect(database, isolation_level=None)) as raw:
        for statement in (*undo, f"DELETE FROM schema_steps WHERE number = {last.number}", "VACUUM"):
            raw.execute(statement)
        tx = Reader(raw)
        said = {
            "schema_steps": last.number - 1,
            "counts": contents.count_rows(tx, "vault"),
            "ids_digest": contents.digest_ids(tx, "vault"),
            "questions": questions.choose(tx),
        }
    hashed = hash_file(database, VAULT_DATABASE, Pace())
    members = tuple(hashed if each.path == VAULT_DATABASE else each for each in manifest.members)
    older: BackupManifest = manifest.model_copy(update={**said, "members": members})
    (to.parent / "before").mkdir()
    return write_archive(StagedBackup(to, older), to.parent / "before").path


async def restore_all(data: Path, archives: Mapping[str, Path]) -> str:
    """A fresh data folder gets every archive by the command; returns a token for all vaults."""
    strongroom = Strongroom(data)
    data.mkdir()
    for vault, archive in archives.items():
        drilled = await asyncio.to_thread(strongroom.process, "backup", "verify", str(archive))
        assert drilled.code == 0, (vault, drilled)
        restored = await asyncio.to_thread(strongroom.process, "restore", str(archive), "--json")
        assert restored.code == 0, (vault, restored)
        assert restored.json["vault"] == vault
    made = await asyncio.to_thread(
        strongroom.process, "token", "create", "--subject", "owner", "--vault", "*", "--role", "admin", "--json"
    )
    token: str = made.json["token"]
    return token


async def check(server: Server, data: Path, before: Mapping[str, Acknowledged], after: Mapping[str, Acknowledged],
                archives: Mapping[str, Path]) -> None:  # fmt: skip
    """Everything that was answered before the backup is there; nothing is there that was never asked for."""
    memories = list(before["talk"].memories.items())
    for start in range(0, len(memories), 20):
        some = dict(memories[start : start + 20])
        read = (await server.call("talk", "memory_get", ids=list(some), max_tokens=50_000))["memories"]
        assert {each["id"]: each["content"] for each in read} == some
    root = data / "vaults" / "wiki" / "notes"
    manifest = open_archive(archives["wiki"]).read_manifest()
    hashes = {each.path: each.sha256 for each in manifest.members if each.path.startswith("notes/")}
    there = {f"notes/{path.relative_to(root).as_posix()}": path.read_bytes() for path in root.rglob("*.md")}
    found = {path: hashlib.sha256(data).hexdigest() for path, data in there.items()}
    # A change that was under way at that moment, and answered to nobody yet, is brought to its end by the restore.
    differing = [path for path in found.keys() | hashes.keys() if found.get(path) != hashes.get(path)]
    assert len(differing) <= 1, differing
    assert not {f"notes/{path}" for path in before["wiki"].notes} & set(differing)
    for path, text in before["wiki"].notes.items():
        assert there[f"notes/{path}"].decode() == text
    written = {f"notes/{path}": text for path, text in after["wiki"].notes.items()}
    for path, data_ in there.items():
        if "log-" in path:
            assert len(set(data_.decode().splitlines())) == 1, "half of one version, half of another"
        else:
            assert path not in written or written[path] == data_.decode()
    for document, text in before["shelf"].documents.items():
        assert text in (await server.call("shelf", "fetch", id=document))["text"]
    for vault in VAULTS:
        verified = await asyncio.to_thread(Strongroom(data).process, "verify", "--vault", vault, "--json")
        assert verified.json["agrees"], verified


async def restore_beside(server: Server, data: Path, archive: Path) -> None:
    """Restore over a vault that the server serves: callers in flight, who read and write, are turned away or answered,
    then from the restored vault; who writes then, writes there."""
    late = (await server.call("talk", "remember", content="said after the backup"))["id"]
    restoring = asyncio.create_task(asyncio.to_thread(Strongroom(data).process, "restore", str(archive)))
    answered: dict[str, list[dict[str, Any]]] = {"memory_list": [], "recall": [], "remember": []}

    async def go_on(tool: str, **arguments: Any) -> None:
        while not restoring.done():
            answer = await server.answer("talk", tool, **arguments)
            error = answer["structuredContent"]["error"]["code"] if answer.get("isError") else None
            assert error in (None, "vault_unavailable"), answer
            answered[tool] += [answer["structuredContent"]] if error is None else []

    await asyncio.gather(
        go_on("memory_list", limit=1),
        go_on("recall", query="harbour", mode="keyword"),
        go_on("remember", content="said meanwhile, again and again"),
    )
    assert (await restoring).code == 0, await restoring
    assert all(answered.values()), answered
    assert not (await server.call("talk", "memory_get", ids=[late]))["memories"]
    kept = (await server.call("talk", "remember", content="said to the restored vault"))["id"]
    written = list(dict.fromkeys([kept, *(each["id"] for each in answered["remember"])]))
    there = [each["id"] for each in (await server.call("talk", "memory_get", ids=written[:20]))["memories"]]
    assert kept in there
    await server.call("talk", "memory_forget", ids=there, purge=True, reason="only a question", confirmed=True)


async def test_a_lost_server_comes_back_from_backups_made_under_load(tmp_path: Path) -> None:
    data, backups = tmp_path / "data", tmp_path / "backups"
    async with ground(settings_of(data), VAULTS) as prepared:
        token = await prepared.token("owner", Role.ADMIN, "*")
    before, archives = {}, {}
    async with serving(data, token) as server:
        done = await seed(server)
        stop = {vault: asyncio.Event() for vault in VAULTS}
        load = [
            asyncio.create_task(write_on(server, vault, writer, done[vault], stop[vault]))
            for vault in VAULTS
            for writer in range(WRITERS)
        ]
        for vault in VAULTS:
            await done[vault].wait_for(WARM)
            before[vault] = done[vault].copy()
            archives[vault] = await back_up(data, vault, backups / vault)
            # What comes later moves the weights of words, and with them answers that are nearly equal.
            stop[vault].set()
        await asyncio.gather(*load)
        answers = await ask_all(server)
    shutil.rmtree(data)
    older = {
        vault: with_schema_before(archive, tmp_path / "older" / vault / "members")
        for vault, archive in archives.items()
    }
    for release, of_release in (("this", archives), ("before", older)):
        fresh = tmp_path / release / "data"
        fresh.parent.mkdir()
        token = await restore_all(fresh, of_release)
        async with serving(fresh, token) as server:
            await check(server, fresh, before, done, of_release)
            assert await ask_all(server) == answers, release
            await restore_beside(server, fresh, of_release["talk"])
            assert await ask_all(server) == answers, release
