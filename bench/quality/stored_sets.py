"""Data folders with a set in them, stored through MCP once and kept under ``bench/out/``.

A folder is named by all that decides what is in it: the documents, the code that cuts and stores them, the settings of
index and model, and the model itself. Servers run on copies, so a kept folder stays as it was.
"""

from __future__ import annotations

import ast
import hashlib
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import data_folders, servers, wire
from bench.data_folders import DataFolder
from bench.quality.as_files import push_files
from bench.quality.as_pages import count_pages, push_pages
from bench.quality.as_transcripts import push_transcripts
from bench.quality.sets import JudgedDocument, JudgedSet, JudgedTask
from bench.run import ROOT
from bench.servers import Server
from bench.wire import RawConnection, RequestLoad, VaultEndpoint, result_of

SUBJECT, CLIENTS, BATCH = "bench", 8, 500
PATIENCE_S, GLANCE_S = 300.0, 0.25
MAX_KEPT = 3
"""Folders kept of one store; the oldest goes."""

SOURCES = (
    "vaults/db/migrations/vault/*.sql",
    "vaults/domain/memories/*.py",
    "vaults/domain/import_export/*.py",
    "vaults/index/*.py",
    "vaults/domain/documents/*.py",
    "vaults/transcripts/*.py",
    "vaults/domain/notes/index/*.py",
    "vaults/markdown/*.py",
)
FILE_SOURCES = (
    "vaults/formats/*.py",
    "vaults/markdown/**/*.py",
    "bench/quality/as_files.py",
    "bench/typeset_pdfs.py",
    "bench/made_up_pdfs.py",
)
"""What decides besides where texts are read in from files."""

READERS = {
    "vaults/domain/import_export": {"exports"},
    "vaults/domain/memories": {"visibility"},
    "vaults/index": {
        "compressed_vectors",
        "engine",
        "flat_vectors",
        "projection",
        "rwlock",
        "snapshot",
        "vector_index",
        "vector_layers",
    },
}
"""Modules that decide nothing of what is stored; a new one counts until it is named here."""


@dataclass(frozen=True, slots=True)
class StoredSets:
    """Where folders are kept; ``fresh``: store again whatever is there."""

    folder: Path
    fresh: bool = False


@contextmanager
def copy_stored_set(stored_sets: StoredSets, judged: JudgedSet, flags: Mapping[str, Any]) -> Iterator[DataFolder]:
    """A folder of one's own that holds the set, with a token for all its vaults. Stores it first where needed."""
    kept = stored_sets.folder / folder_key(judged, flags)
    if stored_sets.fresh or not kept.is_dir():
        _store(kept, judged, flags)
    with tempfile.TemporaryDirectory(prefix="strongroom-bench-quality-", ignore_cleanup_errors=True) as made:
        data = Path(made) / "data"
        shutil.copytree(kept, data)
        yield data_folders.prepare_folder(data, {SUBJECT: ("*",)})


def folder_key(judged: JudgedSet, flags: Mapping[str, Any]) -> str:
    """The name of the folder: the store, and a digest of what decides about its contents."""
    from vaults.embed.prepared_model import find_prepared

    settings = data_folders.default_settings(ROOT, **flags).settings
    model = find_prepared(settings.embedding)
    parts = {
        "documents": judged.digest,
        "code": code_digest(ROOT, (*SOURCES, *FILE_SOURCES) if judged.task.as_files else SOURCES),
        "settings": [settings.index.model_dump_json(), settings.embedding.model_dump_json()],
        "model": model.identity.key if model else None,
    }
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
    return f"{judged.task.store}{'-quick' if judged.shortened else ''}.{digest}"


def code_digest(root: Path, sources: Sequence[str] = SOURCES) -> str:
    """A digest of the code that stores, comments and docstrings apart."""
    whole = hashlib.sha256()
    for path in sorted({path for pattern in sources for path in root.glob(pattern)}):
        name = path.relative_to(root)
        if path.stem not in READERS.get(str(name.parent), ()):
            text = path.read_text(encoding="utf-8")
            whole.update(f"{name}\0{_strip_docstrings(text) if path.suffix == '.py' else text}\0".encode())
    return whole.hexdigest()


def _strip_docstrings(code: str) -> str:
    tree = ast.parse(code)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [each for each in body if not _is_docstring(each)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _store(kept: Path, judged: JudgedSet, flags: Mapping[str, Any]) -> None:
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=kept.parent, ignore_cleanup_errors=True) as made:
        ready = data_folders.prepare_folder(Path(made) / "data", {SUBJECT: judged.vaults})
        with servers.run_server(servers.SERVE, ready.data, **flags) as server:
            _fill(server, ready.tokens[SUBJECT], judged)
        shutil.rmtree(kept, ignore_errors=True)
        ready.data.rename(kept)  # last: what is there is whole
    _forget_old(kept)


def _fill(server: Server, token: str, judged: JudgedSet) -> None:
    began, count = time.perf_counter(), len(judged.documents)
    task = judged.task
    push = _find_push(task)
    if push is None:
        for start in range(0, count, BATCH):
            _print_progress(f"{task.store}: storing, {start:,} of {count:,}")
            _remember(server.port, token, judged.documents[start : start + BATCH])
    else:
        for vault in judged.vaults:
            endpoint = VaultEndpoint(server.port, vault, token)
            push(endpoint, task, [document for document in judged.documents if document.vault == vault])
    for vault in judged.vaults:
        stored = _wait_for_vectors(VaultEndpoint(server.port, vault, token), judged.task)
        here = [document for document in judged.documents if document.vault == vault]
        expected = len({document.parent for document in here} if task.as_transcripts else here)
        expected = count_pages(here) if task.as_pages else expected
        if stored != expected:
            raise RuntimeError(f"{vault} holds {stored} of {expected} documents")
    took = time.perf_counter() - began
    _print_progress(
        f"{judged.task.store}: {count:,} documents stored in {took:.0f} s, {count / took:.0f} a second", end="\n"
    )


def _find_push(task: JudgedTask) -> Callable[[VaultEndpoint, JudgedTask, Sequence[JudgedDocument]], None] | None:
    """What stores the texts of a vault; None: they are remembered one by one."""
    if task.as_files:
        return push_files
    return push_transcripts if task.as_transcripts else push_pages if task.as_pages else None


def _remember(port: int, token: str, documents: Sequence[JudgedDocument]) -> None:
    requests = [
        VaultEndpoint(port, document.vault, token).call("remember", {**document.arguments, "on_duplicate": "store"})
        for document in documents
    ]
    for body in wire.drive(RequestLoad(port, CLIENTS, requests, 1 << 20)).bodies:
        result_of(body)


def _wait_for_vectors(endpoint: VaultEndpoint, task: JudgedTask) -> int:
    """Wait until every text has its vector; how many memories, or transcripts, there are."""
    until, fewest = time.monotonic() + PATIENCE_S, sys.maxsize
    with RawConnection(endpoint.port) as line:
        while time.monotonic() < until:
            status = result_of(line.ask(endpoint.call("status", {})))
            pending = status["embedding"]["pending"]
            if pending == 0:
                return _count_stored(status, task)
            if pending < fewest:
                until, fewest = time.monotonic() + PATIENCE_S, pending
            _print_progress(f"{endpoint.vault}: {pending:,} texts without a vector yet")
            time.sleep(GLANCE_S)
    raise RuntimeError(f"{endpoint.vault}: {pending} texts have no vector, and none got one for {PATIENCE_S:.0f} s")


def _count_stored(status: Mapping[str, Any], task: JudgedTask) -> int:
    if task.as_pages == "notes":
        return int(status["notes"]["notes"])
    if task.as_pages == "documents" or task.as_files:
        return int(status["documents"]["documents"])
    return int(status["documents"]["transcripts"] if task.as_transcripts else status["memories"]["living"])


def _forget_old(kept: Path) -> None:
    store = kept.name.partition(".")[0]
    same = sorted(kept.parent.glob(f"{store}.*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in [path for path in same if path != kept][MAX_KEPT - 1 :]:
        shutil.rmtree(path, ignore_errors=True)


def _print_progress(what: str, end: str = "") -> None:
    print(f"\r  {what:70}", end=end, file=sys.stderr, flush=True)
