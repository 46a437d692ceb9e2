"""What an agent did with a tool, whichever program named it: ran a command, or changed a file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from vaults.transcripts.extraction.spoken_text import words_of
from vaults.transcripts.transcript import ToolUse

_SHELLS = words_of(
    "bash shell local_shell exec_command run_shell_command execute_command run_terminal_cmd run_in_terminal"
    " run_command terminal container.exec run_terminal_command runterminalcommand"
)
_COMMAND_ARGUMENTS = ("command", "cmd", "script", "commandLine")
_EDITORS = words_of(
    "edit write multiedit notebookedit edit_file write_file create_file replace write_to_file replace_in_file"
    " apply_diff insert_content insert_edit_into_file replace_string_in_file str_replace_editor"
    " str_replace_based_edit_tool search_replace search_and_replace edit_notebook patch create str_replace"
    " editfile writefile"
)
_PATCHERS = frozenset(("apply_patch", "applypatch", "patch"))
_PATH_ARGUMENTS = ("file_path", "filePath", "path", "target_file", "notebook_path", "filename", "file", "relative_path")
_BEFORE = ("old_string", "oldString", "old_str", "before", "search")
_AFTER = ("new_string", "newString", "new_str", "after", "replace", "content", "code_edit", "contents", "file_text")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.{1,300})$", re.MULTILINE)
_PATH_LENGTH = 300
_COMMAND_LENGTH = 600
_OUTCOME_LENGTH = 20_000
"""Characters of an outcome that are read, half of them from its end."""

_EXIT = re.compile(r"\b(?:exit(?:ed)?(?: with)? (?:code|status)|exit_code\"?)[: ]{1,3}(-?\d{1,5})\b", re.IGNORECASE)
_WRAPPED = re.compile(r"^(?:cd [^&;|]{1,200}(?:&&|;)\s*)+")
_FILTERED = re.compile(r"(?:\s*(?:2>&1|2>/dev/null|\|&?\s*(?:tail|head|tee|grep|less|cat|sort|ts|wc)\b[^|&;]*))+\s*$")


@dataclass(frozen=True, slots=True)
class EditedFile:
    """A change of a file, as the tool was told: texts are empty where it was not."""

    path: str
    before: str = ""
    after: str = ""


def is_shell(tool: ToolUse) -> bool:
    """Whether the tool runs commands."""
    return _plain_name(tool) in _SHELLS


def read_command(tool: ToolUse) -> str | None:
    """The command a tool ran, on one line, without changes of the folder before it and filters of its output behind
    it; None for other tools and for what is no single line of a shell."""
    if not is_shell(tool):
        return None
    given = next((tool.arguments[name] for name in _COMMAND_ARGUMENTS if tool.arguments.get(name)), None)
    if isinstance(given, list):
        words = [str(word) for word in given]
        given = words[-1] if len(words) == 3 and words[1] in ("-lc", "-c") else " ".join(words)
    if not isinstance(given, str) or len(given) > _COMMAND_LENGTH:
        return None
    line = " ".join(given.split()) if "\n" not in given.strip() else ""
    return _FILTERED.sub("", _WRAPPED.sub("", line)).strip() or None


def read_changes(tool: ToolUse) -> tuple[EditedFile, ...]:
    """The files a tool changed."""
    name = _plain_name(tool)
    if name in _PATCHERS:
        patch = next((value for value in tool.arguments.values() if isinstance(value, str)), "")
        if found := _PATCHED.findall(patch[:200_000]):
            return tuple(EditedFile(path.strip()) for path in dict.fromkeys(found) if _is_path(path))
    if name not in _EDITORS or tool.arguments.get("command") in ("view", "undo_edit"):
        return ()
    path = next((tool.arguments[each] for each in _PATH_ARGUMENTS if tool.arguments.get(each)), None)
    if not isinstance(path, str) or not _is_path(path):
        return ()
    return (EditedFile(path.strip(), _first_text(tool.arguments, _BEFORE), _first_text(tool.arguments, _AFTER)),)


def has_failed(tool: ToolUse) -> bool | None:
    """Whether it failed, by what the program says or else by an exit code in its output; None where neither tells."""
    if tool.failed is not None:
        return tool.failed
    found = _EXIT.search(read_outcome(tool))
    return found[1] != "0" if found else None


def read_outcome(tool: ToolUse) -> str:
    """What came back, its middle left out if it is long."""
    half = _OUTCOME_LENGTH // 2
    return tool.outcome if len(tool.outcome) <= _OUTCOME_LENGTH else f"{tool.outcome[:half]}\n{tool.outcome[-half:]}"


def to_project_path(path: str, project: str | None) -> str:
    """A path as people of the project name it."""
    pure = PurePosixPath(path.replace("\\", "/"))
    if project and pure.is_relative_to(project.replace("\\", "/")):
        return pure.relative_to(project.replace("\\", "/")).as_posix()
    return pure.as_posix() if not pure.is_absolute() else "/".join(pure.parts[-3:]).lstrip("/")


def _plain_name(tool: ToolUse) -> str:
    return tool.name.rpartition("__")[2].casefold()


def _first_text(arguments: dict[str, Any], names: tuple[str, ...]) -> str:
    value = next((arguments[name] for name in names if arguments.get(name)), "")
    return value if isinstance(value, str) else ""


def _is_path(path: str) -> bool:
    return 0 < len(path.strip()) <= _PATH_LENGTH and path.isprintable()
