"""A transcript of Claude Code that grows while the test runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class WorkingDay:
    """A transcript of Claude Code that grows: of the session ``name``, in the folder ``project``."""

    def __init__(self, home: Path, project: str = "/work/harbour", name: str = "day") -> None:
        self.home, self.project, self.name = home, project, name
        self.path = home / ".claude" / "projects" / project.replace("/", "-") / f"{name}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._records = 0

    def add(self, role: str, content: Any) -> None:
        """One more line."""
        record = {
            "type": role, "uuid": f"u{self._records}", "sessionId": self.name, "cwd": self.project,
            "timestamp": f"2026-11-22T{10 + self._records // 60}:{self._records % 60:02d}:00.000Z",
            "message": {"role": role, "content": content},
        }  # fmt: skip
        self._records += 1
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")

    def say(self, text: str) -> None:
        self.add("assistant", [{"type": "text", "text": text}])

    def run(self, command: str, outcome: str, *, failed: bool = False) -> None:
        """A command, and what came of it."""
        call = f"t{self._records}"
        self.add("assistant", [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}])
        self.add("user", [{"type": "tool_result", "tool_use_id": call, "is_error": failed, "content": outcome}])

    def edit(self, path: str, old: str, new: str) -> None:
        """A change of a file."""
        call, given = f"t{self._records}", {"file_path": path, "old_string": old, "new_string": new}
        self.add("assistant", [{"type": "tool_use", "id": call, "name": "Edit", "input": given}])
        self.add("user", [{"type": "tool_result", "tool_use_id": call, "content": "ok"}])
