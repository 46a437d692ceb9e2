"""What Flywheel keeps in its database, row by row. As of Flywheel 2.12.20, schema 1 to 44."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from vaults.errors import InvalidArgument
from vaults.sources.record_fields import (
    SENTENCE,
    clean_text,
    cut_text,
    fit_metadata,
    parse_json,
    to_fraction,
    to_label,
    to_memories,
    to_tags,
    without_empty,
)
from vaults.sources.sqlite_file import Row, SqliteFile
from vaults.sources.sqlite_tables import Fields, RowRefused, TableReading, check_version, count_left, require
from vaults.sources.supersessions import Supersessions
from vaults.sources.times import to_rfc3339

KNOWN_VERSION = 44
_GLOBAL = "global"
_PATH = 1000

_LEFT = {
    "wikilink_suppression_overrides": "suppressions that were lifted",
    "suggestion_events": "scored suggestions",
    "note_links": "weights of links",
    "note_link_history": "survival of links",
    "note_embeddings": "embeddings",
    "entity_embeddings": "embeddings",
    "retrieval_cooccurrence": "notes found together",
    "tool_invocations": "calls in the usage log",
    "prospect_ledger": "sightings of names without a note",
    "proactive_queue": "links in the queue",
    "entity_changes": "changes of entities",
    "note_moves": "moves of notes",
    "vault_metrics": "metrics",
    "graph_snapshots": "metrics",
    "index_events": "metrics",
    "performance_benchmarks": "metrics",
}
_ABOUT = {"wrong_link": "link", "wrong_entity": "entity", "wrong_category": "entity"}
_STATUS = {"pending": "open", "applied": "resolved", "resolved": "resolved", "dismissed": "undone"}
_SOURCES = {"proactive": "proactive", "manual_detected": "accepted"}


def to_readings(file: SqliteFile, left: Counter[str]) -> Sequence[TableReading]:
    """What is read of the file. Raises ``InvalidArgument`` for files of others."""
    if not file.has("schema_version", "version") or not file.has("entities", "name_lower"):
        raise InvalidArgument("PATH", "is an SQLite file, but none of Flywheel")
    check_version("Flywheel", file.first("SELECT MAX(version) FROM schema_version"), KNOWN_VERSION)
    count_left(left, file, _LEFT)
    state = _FlywheelState(file, left)
    return (
        TableReading("session_summaries", _SESSION_COLUMNS, state.to_session),
        TableReading("memories", _MEMORY_COLUMNS, state.to_memory),
        TableReading("corrections", _CORRECTION_COLUMNS, state.to_correction),
        TableReading("wikilink_feedback", _FEEDBACK_COLUMNS, state.to_link_feedback),
        TableReading("wikilink_suppressions", ("entity", "updated_at"), state.to_suppression),
        TableReading("wikilink_applications", _APPLICATION_COLUMNS, state.to_application),
        TableReading("merge_dismissals", ("source_name", "target_name", "dismissed_at"), state.to_merge_dismissal),
        TableReading("prospect_feedback", ("term", "action", "created_at"), state.to_prospect_dismissal),
        TableReading("tool_selection_feedback", _SELECTION_COLUMNS, state.to_feedback),
    )


_SESSION_COLUMNS = (
    "session_id", "summary", "topics_json", "notes_modified_json", "agent_id", "started_at", "ended_at", "tool_count",
)  # fmt: skip
_MEMORY_COLUMNS = (
    "key", "value", "memory_type", "entity", "entities_json", "source_agent_id", "source_session_id", "confidence",
    "created_at", "updated_at", "accessed_at", "ttl_days", "superseded_by", "visibility", "owner_scope", "thread_id",
    "supersede_reason",
)  # fmt: skip
_CORRECTION_COLUMNS = (
    "entity", "note_path", "correction_type", "description", "source", "status", "created_at", "resolved_at",
)  # fmt: skip
_FEEDBACK_COLUMNS = ("entity", "context", "note_path", "correct", "confidence", "matched_term", "created_at")
_APPLICATION_COLUMNS = ("entity", "note_path", "matched_term", "applied_at", "status", "source")
_SELECTION_COLUMNS = (
    "timestamp", "tool_name", "query_context", "expected_tool", "expected_category", "correct", "source", "session_id",
)  # fmt: skip


def _id(kind: str, number: int, at: Any) -> str:
    """The id of a numbered row. Each vault counts from 1: the time keeps rows of two vaults apart."""
    return require(to_label(f"flywheel:{kind}:{number}@{at}"))


class _FlywheelState:
    """The tables of one file, row by row."""

    def __init__(self, file: SqliteFile, left: Counter[str]) -> None:
        self._file, self._left = file, left
        self._superseded = Supersessions(file, "memories", "id", "superseded_by")
        self._scope = "owner_scope" if file.has("memories", "owner_scope") else f"'{_GLOBAL}'"
        file.note(
            "repeated",
            f"SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY key, {self._scope} ORDER BY id) AS number"
            " FROM memories) WHERE number > 1",
            ("id",),
        )

    def _session(self, own: Any) -> str | None:
        """A session that is among those imported."""
        known = own and self._file.first("SELECT 1 FROM session_summaries WHERE session_id = ?", (own,))
        return to_label(f"flywheel:session:{own}") if known else None

    def to_session(self, _: int, row: Row) -> Iterable[Fields]:
        ended = require(to_rfc3339(row["ended_at"]), "has no time")
        summary = clean_text(str(row["summary"] or ""))
        yield without_empty(
            {
                "kind": "session",
                "external_id": require(to_label(f"flywheel:session:{row['session_id'] or ''}")),
                "who": to_label(row["agent_id"]),
                "status": "completed",
                "summary": cut_text(summary, SENTENCE),
                "started_at": to_rfc3339(row["started_at"]) or ended,
                "ended_at": ended,
                "metadata": fit_metadata(
                    {
                        "topics": parse_json(row["topics_json"]),
                        "notes_modified": parse_json(row["notes_modified_json"]),
                        "tool_count": row["tool_count"],
                        "summary": summary if len(summary) > SENTENCE else None,
                    }
                ),
            }
        )

    def to_memory(self, rowid: int, row: Row) -> Iterable[Fields]:
        own = self._memory_id(rowid)
        if not str(row["value"] or "").strip():
            raise RowRefused("has no value")
        older, newer = self._superseded.older_of(rowid), self._superseded.newer_of(rowid)
        is_over = row["superseded_by"] is not None and not (newer and newer.said)
        confidence = to_fraction(row["confidence"])
        days = row["ttl_days"]
        entities = parse_json(row["entities_json"])
        accessed, changed = to_rfc3339(row["accessed_at"]), to_rfc3339(row["updated_at"])
        yield from to_memories(
            {
                "external_id": own,
                "content": row["value"],
                "title": row["key"],
                "type": row["memory_type"],
                "entity": to_label(row["entity"]),
                "subjects": [["mentions", "entity", each] for each in to_tags(entities)],
                "author": to_label(row["source_agent_id"]),
                "thread": to_label(row["thread_id"]),
                "key": self._key(row),
                "metadata": {"key": row["key"], "session": row["source_session_id"]},
                "confidence": None if confidence == 1 else confidence,  # 1 is what it is without being given
                "ttl_days": days if isinstance(days, int | float) and 0 < days <= 36_500 else None,
                "visibility": "private" if row["visibility"] == "private" else None,
                "created_at": to_rfc3339(row["created_at"]),
                "updated_at": changed,
                "accessed_at": accessed if (accessed or "") > (changed or "") else None,  # storing sets it, too
                "supersedes": self._memory_id(older) if older is not None else None,
                "archived_at": to_rfc3339(row["updated_at"] or row["created_at"]) if is_over else None,
                "archived_reason": (cut_text(row["supersede_reason"], 500) or "superseded") if is_over else None,
            }
        )
        if newer and not newer.said:
            start = self._memory_id(newer.newer)
            name = require(to_label(f"flywheel:link:{start} supersedes {own}"))
            yield {"kind": "link", "external_id": name, "from": start, "relation": "supersedes", "to": own}

    def _key(self, row: Row) -> str | None:
        """As the tool ``memory`` of ours keeps it: one of an agent has its name before it."""
        scope = row["owner_scope"]
        return to_label(row["key"] if scope in (None, _GLOBAL) else f"{scope}/{row['key']}")

    def _memory_id(self, rowid: int) -> str:
        """By the key, with the agent whose own it is. A key was not always unique: later rows of it have a number."""
        found = self._file.query(f"SELECT key, {self._scope} FROM memories WHERE id = ?", (rowid,))
        key, scope = next(found, ("", _GLOBAL))
        number = f"#{rowid}" if self._file.first("SELECT 1 FROM repeated WHERE id = ?", (rowid,)) else ""
        owner = "" if scope in (None, _GLOBAL) else f"{scope}/"
        return require(to_label(f"flywheel:{owner}{key}{number}"))

    def to_correction(self, rowid: int, row: Row) -> Iterable[Fields]:
        status = _STATUS.get(str(row["status"]), "open")
        place = [cut_text(row[name], _PATH // 2) for name in ("entity", "note_path")]
        kind = str(row["correction_type"])
        about = _ABOUT.get(kind) or ("note" if place[1] else "entity" if place[0] else "fact")
        wrong = " in ".join(each for each in place if each) or kind.replace("_", " ")
        yield without_empty(
            {
                "kind": "correction",
                "external_id": _id("correction", rowid, row["created_at"]),
                "about": about,
                "subject": place[1] if about == "note" else place[0] or place[1],
                "wrong": wrong if kind == "general" else f"{kind.replace('_', ' ')}: {wrong}",
                "instead": require(cut_text(row["description"], SENTENCE), "has no description"),
                "status": status,
                "resolution": f"{row['status']} in Flywheel" if status != "open" else None,
                "who": to_label(row["source"]),
                "at": require(to_rfc3339(row["created_at"]), "has no time"),
                "resolved_at": to_rfc3339(row["resolved_at"]),
            }
        )

    def to_link_feedback(self, rowid: int, row: Row) -> Iterable[Fields]:
        yield without_empty(
            {
                "kind": "link_feedback",
                "external_id": _id("link_feedback", rowid, row["created_at"]),
                "entity": require(cut_text(row["entity"], _PATH), "has no entity"),
                "path": cut_text(row["note_path"], _PATH),
                "term": cut_text(row["matched_term"], _PATH),
                "verdict": _to_verdict(str(row["context"] or ""), bool(row["correct"])),
                "weight": to_fraction(row["confidence"]),
                "at": require(to_rfc3339(row["created_at"]), "has no time"),
            }
        )

    def to_suppression(self, _: int, row: Row) -> Iterable[Fields]:
        entity = require(cut_text(row["entity"], _PATH), "has no entity")
        if self._file.first("SELECT 1 FROM wikilink_suppression_overrides WHERE entity = ?", (row["entity"],)):
            return  # lifted by a person
        yield {
            "kind": "link_suppression",
            "external_id": require(to_label(f"flywheel:suppression:{entity}")),
            "entity": entity,
            "folder": "",
            "at": require(to_rfc3339(row["updated_at"]), "has no time"),
        }

    def to_application(self, _: int, row: Row) -> Iterable[Fields]:
        entity = require(cut_text(row["entity"], _PATH), "has no entity")
        path = require(cut_text(row["note_path"], _PATH), "has no note")
        yield {
            "kind": "link_application",
            "external_id": require(to_label(f"flywheel:application:{entity}@{path}")),
            "entity": entity,
            "path": path,
            "term": cut_text(row["matched_term"], _PATH) or entity,
            "source": _SOURCES.get(str(row["source"]), "auto"),
            "state": "removed" if row["status"] == "removed" else "standing",
            "at": require(to_rfc3339(row["applied_at"]), "has no time"),
        }

    def to_merge_dismissal(self, _: int, row: Row) -> Iterable[Fields]:
        names = [cut_text(row[name], _PATH) for name in ("source_name", "target_name")]
        yield {
            "kind": "dismissal",
            "external_id": require(to_label(f"flywheel:dismissal:{names[0]}|{names[1]}@{row['dismissed_at']}")),
            "about": "merge",
            "names": [require(name, "has no name") for name in names],
            "at": require(to_rfc3339(row["dismissed_at"]), "has no time"),
        }

    def to_prospect_dismissal(self, rowid: int, row: Row) -> Iterable[Fields]:
        if row["action"] != "reject":
            self._left["prospects that became notes or aliases"] += 1
            return
        shown = self._file.first("SELECT display_name FROM prospect_summary WHERE term = ?", (row["term"],))
        yield {
            "kind": "dismissal",
            "external_id": _id("prospect", rowid, row["created_at"]),
            "about": "prospect",
            "names": [require(cut_text(shown or row["term"], _PATH), "has no name")],
            "at": require(to_rfc3339(row["created_at"]), "has no time"),
        }

    def to_feedback(self, rowid: int, row: Row) -> Iterable[Fields]:
        if row["correct"] is None:
            self._left["judgements of tools without a verdict"] += 1
            return
        expected = cut_text(row["expected_tool"] or row["expected_category"], 200)
        said = [f"{expected} was expected." if expected else None, cut_text(row["query_context"], SENTENCE - 300)]
        yield without_empty(
            {
                "kind": "feedback",
                "external_id": _id("tool_feedback", rowid, row["timestamp"]),
                "type": "right_tool" if row["correct"] else "wrong_tool",
                "message": " ".join(each for each in said if each),
                "tool": to_label(row["tool_name"]),
                "session": self._session(row["session_id"]),
                "who": to_label(row["source"]),
                "at": require(to_rfc3339(row["timestamp"]), "has no time"),
            }
        )


def _to_verdict(context: str, is_correct: bool) -> str:  # noqa: FBT001  one of two words
    if context == "implicit:manual_added" or not context.startswith("implicit:"):
        return "accepted" if is_correct else "rejected"
    return "kept" if is_correct else "removed"
