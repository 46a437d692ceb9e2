"""Files of fitted weights, which come with the program. One that was changed into something else is refused by the
entry's name: it would order or silence answers, and nobody would see why."""

from __future__ import annotations

import tomllib
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from vaults.errors import IndexUnavailable


class FittedFile(BaseModel):
    """What such a file holds, and nothing else."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


Shape = TypeVar("Shape", bound=FittedFile)


def read_fitted(file: Path | Traversable, fit_by: str) -> str:
    """The file's text. Raises ``IndexUnavailable``."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as failure:
        raise broken_file(file.name, f"cannot be read ({type(failure).__name__})", fit_by) from None


def parse_fitted(file: str, text: str, shape: type[Shape], fit_by: str) -> Shape:
    """The file's text as ``shape``. Raises ``IndexUnavailable``, which names the file, the entry, and the command
    ``fit_by`` that fits the weights anew."""
    try:
        return shape.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as failure:
        raise broken_file(file, f"is not valid TOML: {failure}", fit_by) from None
    except ValidationError as failure:
        first = failure.errors()[0]
        entry = ".".join(map(str, first["loc"]))
        raise broken_file(file, f"{entry}: {first['msg']}", fit_by) from None


def broken_file(file: str, reason: str, fit_by: str) -> IndexUnavailable:
    """No fault of who searches: the installation is not as it came."""
    return IndexUnavailable(f"{file} {reason}", hint=f"install this version again, or fit the weights anew: {fit_by}")
