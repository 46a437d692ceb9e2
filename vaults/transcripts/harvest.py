"""One pass over what agents' programs wrote down: what is new, as lines, in batches that are confirmed once stored.

Nothing is lost and nothing comes twice wherever a pass is killed: how far a file was read is kept only after its lines
were stored. Should the kill fall between the two, the same lines come once more, with the same positions.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from os import stat_result
from pathlib import Path
from typing import Any

from vaults.errors import InvalidArgument
from vaults.transcripts.document_lines import LineMaker
from vaults.transcripts.exclusions import Exclusions, HarvestRules
from vaults.transcripts.harvest_state import FileState, HarvestState
from vaults.transcripts.known import READERS
from vaults.transcripts.model_extraction.prompt import is_own_prompt
from vaults.transcripts.transcript import Conversation, TranscriptReader

READ_BYTES = 4 << 20
"""Bytes of a file that are read at once."""

BATCH_CHARACTERS, BATCH_FILES = 1_000_000, 64
"""What is confirmed at once, at most: a pass that is ended early does not begin anew with all that is left out."""

_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class HarvestBatch:
    """Lines to be stored, in order; there may be none. ``states``: how far their files were read; ``conversations``:
    those that are here whole, by the external id of their lines."""

    lines: list[dict[str, Any]] = field(default_factory=list)
    states: dict[Path, FileState] = field(default_factory=dict)
    conversations: dict[str, Conversation] = field(default_factory=dict)


@dataclass(slots=True)
class HarvestTally:
    """What a pass has seen so far. ``failed``: files that could not be read, and why; ``own``: conversations left
    out because memories were extracted in them."""

    files: int = 0
    unchanged: int = 0
    excluded: int = 0
    own: int = 0
    too_large: int = 0
    too_old: int = 0
    conversations: int = 0
    turns: int = 0
    failed: list[tuple[Path, str]] = field(default_factory=list)


class HarvestPass:
    """One pass. Iterate over ``batches``, store the lines of each, ``confirm`` it, in this order; leave off at any
    time."""

    def __init__(
        self,
        state: HarvestState,
        maker: LineMaker,
        rules: HarvestRules | None = None,
        readers: Iterable[TranscriptReader] = tuple(READERS.values()),
    ) -> None:
        self._state, self._maker, self._readers = state, maker, tuple(readers)
        self._rules = rules or HarvestRules()
        self._exclusions = Exclusions(maker.home, self._rules)
        self._own = state.own()
        self.tally = HarvestTally()

    def batches(self, files: Iterable[tuple[TranscriptReader, Path]] | None = None) -> Iterator[HarvestBatch]:
        """What is new in files, or in all that are found."""
        known, excluded = self._state.stamps(), self._state.excluded()
        batch, size = HarvestBatch(), 0
        for reader, path in self._find() if files is None else files:
            now = self._look_at(reader, path)
            if now is None:
                continue
            before = excluded.get(path, ())
            is_back = any(not self._exclusions.exclude_project(each) for each in before)
            if known.get(path) == now and not is_back:
                self.tally.unchanged += 1
                continue
            # What is no longer left out is read from the start.
            start = FileState("") if is_back else FileState("", self._state.place_of(path), before)
            for lines, state, whole in self._read(reader, path, start, now):
                batch.lines.extend(lines)
                batch.states[path] = state
                batch.conversations.update(whole)
                size += sum(len(part["text"]) for line in lines for part in line["parts"])
                if size >= BATCH_CHARACTERS or len(batch.states) >= BATCH_FILES:
                    yield batch
                    batch, size = HarvestBatch(), 0
        if batch.states:
            yield batch

    def confirm(self, batch: HarvestBatch) -> None:
        """Keep that the lines of a batch are stored."""
        self._state.store(batch.states)

    def _find(self) -> Iterator[tuple[TranscriptReader, Path]]:
        for reader in self._readers:
            yield from ((reader, path) for path in reader.find(self._maker.home))

    def _look_at(self, reader: TranscriptReader, path: Path) -> str | None:
        """What a file looks like; None for one that is not to be read."""
        self.tally.files += 1
        try:
            found = path.stat()
            if self._is_left_out(path, found):
                return None
            return "/".join([_stamp_of(found), *map(_stamp_of_path, reader.beside(path))])
        except OSError as failure:
            self.tally.failed.append((path, failure.strerror or "cannot be read"))
            return None

    def _is_left_out(self, path: Path, found: stat_result) -> bool:
        if self._exclusions.exclude_file(path):
            self.tally.excluded += 1
        elif self._rules.max_bytes is not None and found.st_size > self._rules.max_bytes:
            self.tally.too_large += 1
        elif self._rules.max_age_days is not None and time.time() - found.st_mtime > self._rules.max_age_days * _DAY_S:
            self.tally.too_old += 1
        else:
            return False
        return True

    def _read(
        self, reader: TranscriptReader, path: Path, before: FileState, now: str
    ) -> Iterator[tuple[list[dict[str, Any]], FileState, dict[str, Conversation]]]:
        """What is new in a file, part by part, with the state after each, and conversations that are whole."""
        place, left_out = before.place, set(before.excluded)
        more = True
        while more:
            try:
                part = reader.read(path, place, READ_BYTES)
            except InvalidArgument as failure:  # tried again when it has changed
                self.tally.failed.append((path, failure.message))
                yield [], FileState(now, place, tuple(sorted(left_out))), {}
                return
            except OSError as failure:
                self.tally.failed.append((path, failure.strerror or "cannot be read"))
                return
            lines, whole = list[dict[str, Any]](), dict[str, Conversation]()
            for conversation in part.conversations:
                if self._exclusions.exclude_project(conversation.project):
                    self.tally.excluded += 1
                    left_out.add(str(conversation.project))
                elif self._is_own(reader, conversation):
                    self.tally.own += 1
                else:
                    made = list(self._to_lines(reader, path, conversation))
                    lines += made
                    if conversation.whole and not part.more:
                        whole[made[0]["external_id"]] = conversation
            more = part.more and part.place != place
            place = part.place
            yield lines, FileState("" if more else now, place, tuple(sorted(left_out))), whole

    def _is_own(self, reader: TranscriptReader, conversation: Conversation) -> bool:
        """Whether it, or the one whose agent started it, is a conversation in which memories were extracted."""
        own = f"transcript:{reader.name}:{conversation.id}"
        parent = f"transcript:{reader.name}:{conversation.parent}" if conversation.parent else own
        if own not in self._own and parent not in self._own and not is_own_prompt(conversation.turns):
            return False
        if own not in self._own:
            self._own.add(own)
            self._state.note_own(own)
        return True

    def _to_lines(self, reader: TranscriptReader, path: Path, conversation: Conversation) -> Iterator[dict[str, Any]]:
        self.tally.conversations += 1
        self.tally.turns += len(conversation.turns)
        return self._maker.to_lines(conversation, reader, path)


def _stamp_of(found: stat_result) -> str:
    return f"{found.st_ino}.{found.st_size}.{found.st_mtime_ns}"


def _stamp_of_path(path: Path) -> str:
    try:
        return _stamp_of(path.stat())
    except OSError:
        return "-"
