"""What models behind endpoints are known by: the vector each gave for one text, kept in the data folder.

An endpoint does not say whether its model is still the one of yesterday. So its vector of that text is compared with
those it gave before, at each start and while it serves: near enough, and its vectors may be compared with the stored
ones; else it is another model, and gets an identity of its own. Several processes may look at once.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from vaults.embed.prefixes import Prefixes
from vaults.errors import EmbeddingUnavailable, StorageFull

PROBE = "The backup of the harbour's archive runs on Tuesday night, after the last ferry has left."
"""The text. Another would make every model one that is not known."""

LOCK_WAIT_S = 5.0
"""Seconds to wait for another process that keeps a model: it takes milliseconds, unless it was stopped meanwhile."""

SAME_COSINE = 0.999
"""Cosine from which two vectors of it are of one model: other hardware and rounding stay above, other models below."""

_SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class StampedModel:
    """A model that an endpoint served, by its name there and what is put before texts."""

    model: str
    prefixes: Prefixes
    vector: tuple[float, ...]
    revision: str
    first_seen: str

    def gives(self, vector: Sequence[float]) -> bool:
        """Whether a vector of ``PROBE`` is its own."""
        return cosine(self.vector, vector) >= SAME_COSINE


def stamps_folder(data: Path) -> Path:
    """Where they are kept in a folder of all data."""
    return data / "embedding"


def make_stamp(model: str, prefixes: Prefixes, vector: Sequence[float]) -> StampedModel:
    """The stamp of a model that is seen for the first time."""
    parts = json.dumps([model, prefixes.query, prefixes.document, [float(each).hex() for each in vector]])
    revision = hashlib.sha256(parts.encode()).hexdigest()
    return StampedModel(model, prefixes, tuple(vector), revision, datetime.now(UTC).isoformat(timespec="seconds"))


def find_or_keep(folder: Path, model: str, prefixes: Prefixes, vector: Sequence[float]) -> StampedModel:
    """The known model that gives this vector, else a new one, kept from now on. Raises ``EmbeddingUnavailable`` or
    ``StorageFull`` where the folder cannot be written."""
    from filelock import FileLock

    with _translate_os_errors():
        if found := find_same(read_stamps(folder, model, prefixes), vector):
            return found
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(folder / ".lock", timeout=LOCK_WAIT_S):
            found = find_same(read_stamps(folder, model, prefixes), vector)
            return found or _keep(folder, make_stamp(model, prefixes, vector))


def find_same(known: Sequence[StampedModel], vector: Sequence[float]) -> StampedModel | None:
    """The nearest of those that give the vector."""
    return max(
        (each for each in known if each.gives(vector)), key=lambda each: cosine(each.vector, vector), default=None
    )


def read_stamps(folder: Path, model: str, prefixes: Prefixes) -> list[StampedModel]:
    """The models known by a name and prefixes, in the order they were first seen. A file that is none is passed over:
    its model becomes a new one. Raises ``EmbeddingUnavailable`` where one cannot be read."""
    from pydantic import TypeAdapter, ValidationError

    shape, found = TypeAdapter(StampedModel), []
    with _translate_os_errors():
        for path in sorted(folder.glob(f"*{_SUFFIX}")):
            try:
                stamp = shape.validate_json(path.read_bytes())
            except (ValidationError, FileNotFoundError):
                continue
            if (stamp.model, stamp.prefixes) == (model, prefixes):
                found.append(stamp)
    return sorted(found, key=lambda each: (each.first_seen, each.revision))


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Of two vectors of any length; 0 where their widths differ or one is no vector."""
    if len(one) != len(other):
        return 0.0
    lengths = math.hypot(*one), math.hypot(*other)
    if not all(0.0 < length < math.inf for length in lengths):
        return 0.0
    # Divided first: the products of large numbers are none.
    return math.fsum((a / lengths[0]) * (b / lengths[1]) for a, b in zip(one, other, strict=True))


def _keep(folder: Path, stamp: StampedModel) -> StampedModel:
    from pydantic import TypeAdapter

    place = folder / f"{stamp.revision}{_SUFFIX}"
    draft = place.with_suffix(".tmp")
    with draft.open("wb") as file:
        file.write(TypeAdapter(StampedModel).dump_json(stamp) + b"\n")
        file.flush()
        os.fsync(file.fileno())  # one that is lost has every vault embedded anew
    draft.replace(place)
    return stamp


@contextmanager
def _translate_os_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFull("There is no space left to remember the endpoint's model.") from error
        raise EmbeddingUnavailable("the folder embedding among the data cannot be read and written") from error
