"""mempack, later named mem: a ``memory.db`` per repository. As of mem 0.2.46 and mempack of January 2026, schema 0 to
10."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from vaults.errors import InvalidArgument
from vaults.sources.mempack_documents import IngestedFiles
from vaults.sources.mempack_memories import to_external_id, to_memory_lines
from vaults.sources.mempack_share import is_share_folder, open_share_folder
from vaults.sources.record_fields import (
    SENTENCE,
    TITLE,
    cut_text,
    parse_json,
    to_label,
    to_memories,
    to_state,
    to_tags,
    without_empty,
)
from vaults.sources.source import SearchPlaces, Source, SourceReading
from vaults.sources.sqlite_file import Row, SqliteFile
from vaults.sources.sqlite_tables import (
    Fields,
    TableReading,
    check_version,
    count_left,
    open_tables,
    require,
)
from vaults.sources.supersessions import Supersessions
from vaults.sources.times import to_rfc3339

KNOWN_VERSION = 10
FILE = "memory.db"
NAMES = ("mempack", "mem")

_LEFT = {"embeddings": "embeddings", "embedding_queue": "embeddings that were due"}
_WELCOME = "M-WELCOME"
_SUPERSEDES = frozenset({"supersedes", "superseded_by"})


def _to_readings(file: SqliteFile, left: Counter[str]) -> Sequence[TableReading]:
    if not file.has("memories", "id", "repo_id", "title", "summary"):
        raise InvalidArgument("PATH", "is an SQLite file, but none of mempack or mem")
    for (version,) in file.query("PRAGMA user_version"):
        check_version("mem", version, KNOWN_VERSION)
    count_left(left, file, _LEFT)
    roots = {repo: str(root or "") for repo, root in file.query("SELECT repo_id, git_root FROM repos")}
    repository, files = _Repositories(file, left, roots), IngestedFiles(file, left, roots)
    return (
        TableReading("threads", ("thread_id", "repo_id", "title", "tags_json", "created_at"), repository.to_thread),
        TableReading("memories", _MEMORY_COLUMNS, repository.to_memory),
        TableReading("links", ("from_id", "rel", "to_id"), repository.to_link),
        TableReading("state_history", (*_STATE_COLUMNS, "state_id", "created_at", "reason"), repository.to_past_state),
        TableReading("state_current", (*_STATE_COLUMNS, "updated_at"), repository.to_present_state),
        TableReading("artifacts", _ARTIFACT_COLUMNS, files.to_document),
        TableReading("chunks", ("chunk_id", "repo_id", "artifact_id", "deleted_at"), files.to_lone_document),
    )


_MEMORY_COLUMNS = (
    "id", "repo_id", "workspace", "thread_id", "title", "summary", "tags_json", "tags_text", "entities_json",
    "created_at", "anchor_commit", "superseded_by", "deleted_at",
)  # fmt: skip
_STATE_COLUMNS = ("repo_id", "workspace", "state_json")
_ARTIFACT_COLUMNS = ("artifact_id", "repo_id", "kind", "source", "content_hash")

# A checkpoint leaves a memory of the same moment in its thread.
_THREAD_OF_STATE = (
    "SELECT thread_id FROM memories WHERE repo_id = ? AND workspace = ? AND created_at = ? AND title = 'Checkpoint'"
)


class _Repositories:
    """The tables of one file, row by row: usually of one repository, in the first versions of several."""

    def __init__(self, file: SqliteFile, left: Counter[str], roots: Mapping[Any, str]) -> None:
        self._file, self._left, self._roots = file, left, roots
        self._superseded = Supersessions(file, "memories", "id", "superseded_by")

    def to_thread(self, _: int, row: Row) -> Iterable[Fields]:
        """A thread that was given a title of its own."""
        title, thread = cut_text(row["title"], TITLE), to_label(row["thread_id"])
        if title is None or thread is None or title == thread:
            return []
        return to_memories(
            {
                "external_id": to_external_id(row["repo_id"], f"thread:{thread}"),
                "content": title,
                "type": "summary",
                "tags": to_tags(parse_json(row["tags_json"])),
                "thread": thread,
                "workspace": self._workspace(row),
                "created_at": to_rfc3339(row["created_at"]),
            }
        )

    def to_memory(self, _: int, row: Row) -> Iterable[Fields]:
        if row["id"] == _WELCOME:
            self._left["welcomes of mem"] += 1
            return
        tags = parse_json(row["tags_json"]) or str(row["tags_text"] or "").split()
        newer = self._superseded.newer_of(row["id"])
        more: Fields = {"supersedes": to_external_id(row["repo_id"], self._superseded.older_of(row["id"]))}
        if row["deleted_at"]:
            more |= {"archived_at": to_rfc3339(row["deleted_at"]), "archived_reason": "forgotten in mem"}
        elif row["superseded_by"] and not (newer and newer.said):
            more |= {"archived_at": to_rfc3339(row["created_at"]), "archived_reason": "superseded in mem"}
        entities = parse_json(row["entities_json"])
        yield from to_memory_lines(row, tags, entities, self._roots.get(row["repo_id"]), more)
        if newer and not newer.said:
            yield _to_link_line(row["repo_id"], newer.newer, "supersedes", row["repo_id"], row["id"])

    def to_link(self, rowid: int, row: Row) -> Iterable[Fields]:
        same = "SELECT 1 FROM links WHERE from_id = ? AND rel = ? AND to_id = ? AND rowid < ?"
        if self._file.first(same, (row["from_id"], row["rel"], row["to_id"], rowid)):
            return
        ends = [self._repo_of(row[end]) for end in ("from_id", "to_id")]
        if None in ends:
            self._left["links to what is gone"] += 1
        elif row["rel"] not in _SUPERSEDES:  # the memories themselves say these
            yield _to_link_line(ends[0], row["from_id"], row["rel"], ends[1], row["to_id"])

    def _repo_of(self, memory: Any) -> Any | None:
        return self._file.first("SELECT repo_id FROM memories WHERE id = ? AND id <> ?", (memory, _WELCOME))

    def to_past_state(self, _: int, row: Row) -> Iterable[Fields]:
        own = require(to_label(row["state_id"]))
        thread = self._file.first(_THREAD_OF_STATE, (row["repo_id"], row["workspace"], row["created_at"]))
        more = {"thread": to_label(thread), "reason": row["reason"]}
        yield self._to_checkpoint(row, f"state:{own}", row["created_at"], more)

    def to_present_state(self, _: int, row: Row) -> Iterable[Fields]:
        """The state now, unless it is the newest of those past, as a checkpoint leaves it."""
        same = "SELECT 1 FROM state_history WHERE repo_id = ? AND workspace = ? AND state_json = ?"
        if not self._file.first(same, (row["repo_id"], row["workspace"], row["state_json"])):
            yield self._to_checkpoint(row, f"state:{row['workspace']}", row["updated_at"], {})

    def _to_checkpoint(self, row: Row, own: str, at: Any, more: Fields) -> Fields:
        state = parse_json(row["state_json"])
        fields = {
            "kind": "checkpoint",
            "external_id": to_external_id(row["repo_id"], own),
            "state": to_state({"raw": row["state_json"]} if state is None else state),
            "workspace": self._workspace(row),
            "created_at": require(to_rfc3339(at), "has no time"),
            **more,
        }
        return without_empty({**fields, "reason": cut_text(more.get("reason"), SENTENCE) or "state kept by mem"})

    def _workspace(self, row: Row) -> str | None:
        return to_label(self._roots.get(row["repo_id"]))


def _to_link_line(repo: Any, start: Any, relation: Any, other_repo: Any, end: Any) -> Fields:
    name = require(to_label(relation), "has no relation")
    return {
        "kind": "link",
        "external_id": to_external_id(repo, f"link:{start} {name} {end}"),
        "from": to_external_id(repo, start),
        "relation": name,
        "to": to_external_id(other_repo, end),
    }


def _open(path: Path) -> AbstractContextManager[SourceReading]:
    if path.is_dir() and is_share_folder(path):
        return open_share_folder(path)
    return open_tables(_find_files(path), _to_readings)


def _find_files(path: Path) -> list[Path]:
    """The file itself, or those of a folder: of one repository, of all of them, or that which holds all."""
    if not path.is_dir():
        return [path]
    if (path / FILE).is_file():
        return [path / FILE]
    folder = path / "repos" if (path / "repos").is_dir() else path
    found = sorted(each / FILE for each in folder.iterdir() if not each.is_symlink() and (each / FILE).is_file())
    if not found:
        raise InvalidArgument("PATH", f"{path} holds no {FILE} of mempack or mem")
    return found


def _find(places: SearchPlaces) -> Iterator[Path]:
    for name in NAMES:
        if (folder := places.home / ".local" / "share" / name / "repos").is_dir():
            yield from sorted(each for each in folder.glob(f"*/{FILE}") if each.is_file())
    if is_share_folder(places.current / "mem-share"):
        yield places.current / "mem-share"


SOURCE = Source("mempack", "mempack (mem)", "memory.db, the folder with repos, or mem-share", _find, _open)
