"""Settings as they may be shown: without secrets, and for remote readers without paths of this machine. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel

SECRET_NAME = re.compile(r"(^|_)(secret|secret_key|password|passphrase|token|api_key|private_key)$")
URL_USER = re.compile(r"(?<=://)[^/?#\s]+@")  # up to the last one: a password may hold others
URL_QUERY = re.compile(r"(://[^?#\s\"]*[?#])[^\s\"]+")
PATH_PLACEHOLDER = "(a path on the server)"


def redact(name: str, value: Any) -> Any:
    """The value without what must not be shown: secrets by their name, and users and passwords inside URLs."""
    if value and SECRET_NAME.search(name):
        return "********"
    if isinstance(value, dict):
        return {key: redact(key, inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [redact(name, inner) for inner in value]
    return URL_USER.sub("********@", value) if isinstance(value, str) else value


def redact_addresses(text: str) -> str:
    """A text whose addresses say neither who asks there nor what: a key may stand in either."""
    return URL_QUERY.sub(r"\1********", URL_USER.sub("********@", text))


def redact_paths(value: Any) -> Any:
    """The value without paths that lead from the root or from somebody's home."""
    if isinstance(value, dict):
        return {key: redact_paths(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [redact_paths(inner) for inner in value]
    leads = isinstance(value, str) and (PurePath(value).is_absolute() or value.startswith("~"))
    return PATH_PLACEHOLDER if leads else value


def redact_settings(settings: BaseModel, sections: frozenset[str] | None = None) -> Mapping[str, Any]:
    """Dotted name → value, of these sections or of all, for a remote reader."""
    return {
        f"{section}.{name}": redact_paths(redact(name, value))
        for section, fields in settings.model_dump(mode="json").items()
        if (sections is None or section in sections) and isinstance(fields, dict)
        for name, value in fields.items()
    }
