"""What was found and is not believed, a line of JSON each, for people to look at: nothing that can be read is thrown
away."""

from __future__ import annotations

import base64
import json
import math
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from ops.salvage.record_format import Record, Value
from vaults.files.permissions import FILE_MODE


class Leftovers:
    """The file of doubtful rows, written as they are met."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0

    def __enter__(self) -> Self:
        self._file = os.fdopen(
            os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "w", encoding="utf-8"
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def add(self, table: str, number: int, names: list[str], row: Record, why: str) -> None:
        """Keep one row, with the reason why it is not in the new database."""
        values = dict(zip(names, map(_to_json, row), strict=False))
        line = {"table": table, "number": number, "why": why, "row": values or None}
        self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
        self.count += 1


def _to_json(value: Value) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no such number
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value
