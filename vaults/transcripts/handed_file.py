"""One transcript that a hook names: whether it is one, and where the work in it stands.

A path that comes from outside is only compared with those a reader finds: nothing is opened that a whole pass would
not open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vaults.errors import InvalidArgument
from vaults.transcripts.exclusions import Exclusions, HarvestRules
from vaults.transcripts.extraction.tool_steps import read_changes
from vaults.transcripts.known import READERS
from vaults.transcripts.transcript import ReadPlace, TranscriptReader, Turn

MAX_FILE = 64 << 20
"""Max bytes of a file that is read for where the work stands."""

_LINE_CHARACTERS = 200
"""Characters of a prompt's first line."""

_MAX_FILES = 10


@dataclass(frozen=True, slots=True)
class LastWork:
    """``asked``: the first line of the last prompt; ``files``: changed last, newest last."""

    asked: str = ""
    files: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """The same in words."""
        asked = [f"Last asked: {self.asked}"] if self.asked else []
        return asked + ([f"Files changed: {', '.join(self.files)}"] if self.files else [])


@dataclass(frozen=True, slots=True)
class HandedFile:
    """A transcript and those of the agents that were started in it; the one that was named comes first."""

    files: tuple[tuple[TranscriptReader, Path], ...]

    def last_work(self, home: Path, rules: HarvestRules) -> LastWork:
        """Where the work stands; nothing, where the conversation is left out. Paths in its folder become relative."""
        (reader, path), exclusions = self.files[0], Exclusions(home, rules)
        asked, files, project = "", dict[str, None](), None
        if exclusions.exclude_file(path):
            return LastWork()
        for turns, project in _read_turns(reader, path):
            if exclusions.exclude_project(project):
                return LastWork()
            for turn in turns:
                if turn.role == "user":
                    asked = _first_line(turn.text) or asked
                for change in read_changes(turn.tool) if turn.tool else ():
                    if change.path.isprintable() and len(change.path) <= _LINE_CHARACTERS:
                        name = _relative_name(Path(change.path), project)
                        files.pop(name, None)
                        files[name] = None
        return LastWork(asked, tuple(files)[-_MAX_FILES:])


def find_handed_file(home: Path, named: Path) -> HandedFile:
    """The transcript of this path. Raises ``InvalidArgument`` if no reader has it."""
    for reader in READERS.values():
        found = list(reader.find(home))
        own = next((path for path in found if _is_same(path, named)), None)
        if own is not None:
            agents = [path for path in found if path != own and path.is_relative_to(own.with_suffix(""))]
            return HandedFile(tuple((reader, path) for path in (own, *agents)))
    raise InvalidArgument("transcript_path", "is no transcript of a program that is known")


def _is_same(path: Path, named: Path) -> bool:
    """Whether it is the file that was named, perhaps by another name of a folder above it."""
    if path == named:
        return True
    try:
        return path.name == named.name and path.samefile(named)
    except (OSError, ValueError):
        return False


def _read_turns(reader: TranscriptReader, path: Path) -> Iterator[tuple[tuple[Turn, ...], str | None]]:
    """The turns of the file, and the folder they were held in."""
    place, more = ReadPlace(), True
    try:
        if path.stat().st_size > MAX_FILE:
            return
        while more:
            part = reader.read(path, place, MAX_FILE)
            for each in part.conversations:
                yield each.turns, each.project
            place, more = part.place, part.more and part.place != place
    except (OSError, InvalidArgument):
        return  # the harvest of the file says so


def _first_line(text: str) -> str:
    line = text.strip().partition("\n")[0].strip()
    return "".join(each for each in line if each.isprintable())[:_LINE_CHARACTERS]


def _relative_name(path: Path, project: str | None) -> str:
    inside = project is not None and path.is_relative_to(project)
    return path.relative_to(str(project)).as_posix() if inside else path.name
