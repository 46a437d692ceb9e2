"""A judged conversation as transcripts: each of its sessions is one.

Either a transcript of people, whose turns say who spoke, as the turns that are stored by hand do. Or what an agent's
program would have written down, one speaker being the person, the other the agent: sessions of Claude Code, which name
nobody, so that a question for somebody by name has only the text to go by. Their lines are those that ``strongroom
harvest`` makes of the files; no memories are made of them, or there would be two ways to an answer.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.quality.sets import JudgedDocument, JudgedSet, JudgedTask
from bench.wire import RawConnection, VaultEndpoint, result_of
from vaults.domain.documents.document_model import DocumentFields, DocumentPart
from vaults.domain.documents.part_runs import cut_runs
from vaults.settings import IndexSettings
from vaults.transcripts.document_lines import LineMaker
from vaults.transcripts.harvest import HarvestPass
from vaults.transcripts.harvest_state import HarvestState

LINES_AT_ONCE = 64
ROLES = ("user", "assistant")
AGENT = "claude-opus-4-5"


def push_transcripts(endpoint: VaultEndpoint, task: JudgedTask, documents: Sequence[JudgedDocument]) -> None:
    """Store the conversations of one vault. Raises ``RuntimeError`` for a line that is not taken."""
    with (
        tempfile.TemporaryDirectory(prefix="strongroom-bench-transcripts-") as made,
        RawConnection(endpoint.port) as to,
    ):
        home = Path(made)
        if task.as_transcripts == "agent":
            write_sessions(home, documents)
            lines = read_lines(home)
        else:
            lines = to_lines(documents)
        for start in range(0, len(lines), LINES_AT_ONCE):
            some = lines[start : start + LINES_AT_ONCE]
            done = result_of(to.ask(endpoint.call("imports", {"action": "push", "source": "harvest", "lines": some})))
            if done["done"] != len(some) or done.get("rejected"):
                raise RuntimeError(f"{endpoint.vault} took {done['done']} of {len(some)} lines: {done.get('rejected')}")


def to_lines(documents: Sequence[JudgedDocument]) -> list[dict[str, Any]]:
    """Lines of sessions between people."""
    return [
        {
            "kind": "document",
            "format": "transcript",
            "external_id": session,
            "parts": [
                {"position": number, "text": turn.text, "author": turn.arguments["author"], "at": part.at}
                for number, (turn, part) in enumerate(zip(turns, _to_parts(turns), strict=True))
            ],
        }
        for session, turns in _by_session(documents).items()
    ]


def write_sessions(home: Path, documents: Sequence[JudgedDocument]) -> None:
    """The files, below a home folder."""
    folder = home / ".claude" / "projects" / "-home-ann"
    folder.mkdir(parents=True)
    for session, turns in _by_session(documents).items():
        with (folder / f"{session.replace(':', '-')}.jsonl").open("w", encoding="utf-8") as file:
            for turn, part in zip(turns, _to_parts(turns), strict=True):
                content: Any = turn.text if part.role == ROLES[0] else [{"type": "text", "text": turn.text}]
                message = {"role": part.role, "content": content}
                record = {"type": part.role, "sessionId": session, "timestamp": part.at, "message": message}
                if part.role == ROLES[1]:
                    message["model"] = AGENT
                file.write(json.dumps(record) + "\n")


def read_lines(home: Path) -> list[dict[str, Any]]:
    """What a harvest stores of them."""
    with HarvestState(home / "state.db") as state:
        harvest = HarvestPass(state, LineMaker(home, lambda text: text, lambda name: name))
        return [line for batch in harvest.batches() for line in batch.lines]


TurnNames = Mapping[tuple[str, str, int], list[str]]
"""What the set calls the turns of a passage, by vault, time of the session and place in it: no two sessions of a
conversation share a time."""


def name_turns(judged: JudgedSet) -> TurnNames:
    """The names of what each hit may show: a turn, or small ones of a speaker that share a passage."""
    found: dict[tuple[str, str, int], list[str]] = {}
    for turns in _by_session(judged.documents).values():
        fields = DocumentFields("transcript", "transcript", "", "", "")
        for run in cut_runs(fields, _to_parts(turns), IndexSettings().passage_tokens):
            first = run.parts[0]
            assert first.at is not None
            found[turns[0].vault, first.at, first.position] = [turns[part.position].id for part in run.parts]
    return found


def _to_parts(turns: Sequence[JudgedDocument]) -> list[DocumentPart]:
    """The turns of a session as they are read back."""
    return list(_iterate_parts(turns))


def _iterate_parts(turns: Sequence[JudgedDocument]) -> Iterator[DocumentPart]:
    person = turns[0].arguments["author"]
    for number, turn in enumerate(turns):
        role = ROLES[turn.arguments["author"] != person]
        at = turn.arguments["occurred_at"].removesuffix("Z") + ".000Z"
        yield DocumentPart(number, turn.text, author="user" if role == ROLES[0] else AGENT, role=role, at=at)


def _by_session(documents: Sequence[JudgedDocument]) -> Mapping[str, list[JudgedDocument]]:
    sessions: dict[str, list[JudgedDocument]] = defaultdict(list)
    for document in documents:
        sessions[str(document.parent)].append(document)
    for turns in sessions.values():
        turns.sort(key=lambda turn: int(turn.arguments["position"]))
    return sessions
