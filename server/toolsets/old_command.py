"""A command of another system's command line as a value (``OldCommand``): what it calls, or what does it here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from server.toolsets.old_tool import OldTool


@dataclass(frozen=True)
class OurCommand:
    """The command of ours that does it. ``options``: theirs, with a value → ours; ``PATH`` stands for an argument.
    ``flags``: theirs, without one → ours. An empty name is taken and left out. ``usual``: values where none is given.
    ``project``: the option of ours that names the project, the present one where none is given. ``needs``: the flag
    without which theirs only shows something."""

    words: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)
    usual: Mapping[str, str] = field(default_factory=dict)
    project: str = ""
    arguments: int = 0  # of theirs, taken as they are
    needs: str = ""
    vault: Literal["named", "none"] = "named"  # whether ours takes --vault
    instead: Mapping[str, OurCommand] = field(default_factory=dict)  # by the flag that asks for another of ours


@dataclass(frozen=True)
class OldCommand:
    """A command: over a ``tool``, by a command of ours, or neither: then ``instead`` says what does it here.

    ``positional``: arguments without an option, in order; what is left over belongs to the last one where ``joins``.
    ``options``: theirs → the argument of the tool. ``ignored``: taken, and of no meaning here; true where a value
    follows. ``files``: options that name a file whose text is the argument. ``part``: what of the answer is printed."""

    name: str
    summary: str
    tool: OldTool | None = None
    positional: tuple[str, ...] = ()
    joins: bool = False
    options: Mapping[str, str] = field(default_factory=dict)
    ignored: Mapping[str, bool] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    form: Literal["text", "json"] = "text"  # where no option says
    part: str = ""
    ours: OurCommand | None = None
    instead: str = ""


@dataclass(frozen=True)
class CommandLine:
    """The commands of a system."""

    system: str
    commands: tuple[OldCommand, ...]

    def find(self, words: list[str]) -> tuple[OldCommand, list[str]] | None:
        """The command that the first words name, of two words if there is one, and the words after its name."""
        by_name = {each.name: each for each in self.commands}
        for length in (2, 1):
            known = by_name.get(" ".join(words[:length]))
            if known is not None and len(words) >= length:
                return known, words[length:]
        return None
