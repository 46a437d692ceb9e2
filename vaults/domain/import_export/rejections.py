"""``<source>.rejected.jsonl``: what an import could not take, with the reason, to be mended and imported from there."""

from __future__ import annotations

import base64
import codecs
import json
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from vaults.domain.secrets import redaction

SUFFIX = ".rejected.jsonl"

MAX_UNWRITTEN = 100
"""Max rejections kept in memory where no report can be written."""


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """What was rejected: where it stands (a number is that of a line) and why. ``raw``: what could be read of it;
    ``record``: the line it became."""

    place: str | int
    reason: str
    raw: str | bytes | None = None
    record: dict[str, Any] | None = None

    def to_line(self) -> bytes:
        """Its line in the report, without secrets, which must not lie in one more file."""
        entry: dict[str, Any] = {"line" if isinstance(self.place, int) else "place": self.place, "reason": self.reason}
        if self.raw is not None:
            entry |= _to_readable(self.raw)
        if self.record is not None:
            whole, _ = redaction.redact(json.dumps(self.record, ensure_ascii=False, default=str))
            with suppress(ValueError):  # a mark may have taken the place of more than a string
                entry["record"] = json.loads(whole)
        return json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _to_readable(raw: str | bytes) -> dict[str, str]:
    whole = (raw.encode("utf-8", "replace") if isinstance(raw, str) else raw).rstrip(b"\r\n")
    try:
        text = whole.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(whole).decode("ascii")}
    return {"text": redaction.redact(text)[0]}


class RejectionReport:
    """The report of one import: created with the first rejection, removed when there is none."""

    def __init__(self, imported: Path) -> None:
        whole = imported.absolute()
        self.path = whole.with_name(whole.name + SUFFIX)
        self.rejected = 0
        self.unwritten: list[RejectedRecord] = []
        self._file: BinaryIO | None = None

    def __enter__(self) -> RejectionReport:
        with suppress(OSError):
            self.path.unlink(missing_ok=True)  # left by a former run
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, rejections: list[RejectedRecord]) -> None:
        """Count rejections and write them at once. Blocking."""
        self.rejected += len(rejections)
        if not rejections:
            return
        try:
            if self._file is None:
                self._file = open(self.path, "wb", opener=_open_private)  # noqa: SIM115  closed at the end of the import
            self._file.writelines(rejection.to_line() for rejection in rejections)
            self._file.flush()
        except OSError:  # no write access, a full disk: no reason to stop, the caller shows them
            shown = rejections[: MAX_UNWRITTEN - len(self.unwritten)]
            self.unwritten += [replace(each, raw=None, record=None) for each in shown]


def _open_private(path: str, flags: int) -> int:
    """Open it for this user alone, as memories are kept."""
    return os.open(path, flags, 0o600)
