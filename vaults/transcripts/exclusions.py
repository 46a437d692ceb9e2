"""What is not harvested: by the owner's ``.strongroomignore``, by patterns and projects from the settings, by size and
age.

A ``.strongroomignore`` in the folder of a project or in one above it, up to the home folder, is asked for a path in
the project that no project has, ``.transcripts/<file>``: ``*`` leaves out every project below, ``clients/`` those in
that folder, ``!`` takes one back. The nearest file that says anything decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from vaults.errors import InvalidArgument
from vaults.files.ignore_rules import IGNORE_FILE
from vaults.registry import STATE_FOLDER
from vaults.transcripts.grown_lines import open_regular

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_MAX_BYTES = 64 * 1024
_ROOM = ".transcripts"


@dataclass(frozen=True, slots=True)
class HarvestRules:
    """What the settings leave out. ``patterns`` are those of ``.gitignore``, for paths below the home folder, of
    transcripts and of projects; ``projects`` are folders. ``only``: all but the conversations held in this folder and
    below is left out, and so is what was held in a project below that has a vault of its own. Files that are larger,
    or were not written to for so many days, are left out, too."""

    patterns: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    only: Path | None = None
    max_bytes: int | None = None
    max_age_days: float | None = None


class Exclusions:
    """The rules during one pass: each ignore file is read once."""

    def __init__(self, home: Path, rules: HarvestRules) -> None:
        self._home = home
        self._patterns = _compile(rules.patterns, strict=True)
        self._projects = [_expand(home, project) for project in rules.projects]
        self._only = rules.only.resolve() if rules.only is not None else None
        self._files: dict[Path, GitIgnoreSpec | None] = {}
        self._known: dict[str, bool] = {}

    def exclude_file(self, path: Path) -> bool:
        """Whether a pattern names this transcript."""
        return self._is_named(path)

    def exclude_project(self, project: str | None) -> bool:
        """Whether conversations held in this folder are left out. Where nobody knows the folder they are only in a
        harvest of one folder."""
        if project is None or not Path(project).is_absolute():
            return self._only is not None
        if project not in self._known:
            folder = Path(project)
            known_as = [folder]
            with suppress(OSError, RuntimeError):
                known_as.append(folder.resolve())
            self._known[project] = self._is_elsewhere(known_as[-1]) or any(
                self._is_out(each) for each in dict.fromkeys(known_as)
            )
        return self._known[project]

    def _is_elsewhere(self, folder: Path) -> bool:
        if self._only is None:
            return False
        owner = next((each for each in (folder, *folder.parents) if each == self._only or _has_memory(each)), None)
        return owner != self._only

    def _is_out(self, folder: Path) -> bool:
        if any(folder == each or each in folder.parents for each in self._projects) or self._is_named(folder):
            return True
        for above in self._chain(folder):
            spec = self._load(above)
            if spec is not None:
                said = spec.check_file((folder.relative_to(above) / _ROOM / "transcript").as_posix()).include
                if said is not None:
                    return said
        return False

    def _is_named(self, path: Path) -> bool:
        if self._patterns is None or not path.is_relative_to(self._home):
            return False
        relative = path.relative_to(self._home).as_posix()
        return self._patterns.match_file(relative) or self._patterns.match_file(f"{relative}/")

    def _chain(self, folder: Path) -> Iterator[Path]:
        """The folder and those above it, up to the home folder; to the root for one elsewhere."""
        for each in (folder, *folder.parents):
            yield each
            if each == self._home:
                return

    def _load(self, folder: Path) -> GitIgnoreSpec | None:
        if folder not in self._files:
            self._files[folder] = _read(folder / IGNORE_FILE)
        return self._files[folder]


def _has_memory(folder: Path) -> bool:
    """Whether a folder has a vault of its own."""
    with suppress(OSError):
        return (folder / STATE_FOLDER).is_dir()
    return False


def _read(path: Path) -> GitIgnoreSpec | None:
    """The rules of an ignore file, if there is one. Of one that cannot be read everything is left out: what it hides
    must stay hidden."""
    try:
        with open_regular(path) as file:
            data = file.read(_MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, InvalidArgument):
        return _compile(("*",))
    lines = data.decode("utf-8-sig", "replace").splitlines() if len(data) <= _MAX_BYTES else ["*"]
    return _compile(lines)


def _compile(lines: Sequence[str], *, strict: bool = False) -> GitIgnoreSpec | None:
    """Raises ``InvalidArgument`` for a line that is no pattern, if ``strict``; else such a line matches nothing, as in
    git."""
    if not lines:
        return None
    from pathspec import GitIgnoreSpec

    sound = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError as failure:
            if strict:
                raise InvalidArgument("patterns", "has a pattern that is none of gitignore's") from failure
            continue
        sound.append(line)
    return GitIgnoreSpec.from_lines(sound)


def _expand(home: Path, folder: str) -> Path:
    """A folder as the settings have it: from the root, or from home with or without its sign."""
    return home / PurePosixPath(folder.removeprefix("~/")) if folder != "~" else home
