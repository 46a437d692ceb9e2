"""From the bytes of a file to its parts: finds the format and has its module read it."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

from vaults.formats.detection import detect, is_misnamed
from vaults.formats.known import FileFormat
from vaults.formats.parsed_document import ParsedDocument, ParseFailed, ParseLimits

EXTRA = "strongroom[documents]"


def read_document(data: bytes, name: str, mime: str | None, limits: ParseLimits) -> ParsedDocument:
    """Read a file. Raises ``ParseFailed``, and ``MemoryError``, whatever the bytes are."""
    if not data.strip():
        raise ParseFailed("empty", "the file is empty")
    if len(data) > limits.size:
        raise ParseFailed("too_large", f"the file has {len(data):,} bytes, and {limits.size:,} may be read")
    found = detect(data, name, mime)
    parsed = parse_as(found, data, limits)
    if is_misnamed(found, name):
        parsed = replace(parsed, warnings=(f"named otherwise, but the file is {found.name}", *parsed.warnings))
    if not parsed.parts:
        reason = f": {'; '.join(parsed.warnings)}" if parsed.warnings else ""
        raise ParseFailed("empty", f"the file holds no text{reason}")
    return parsed


def parse_as(found: FileFormat, data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Read a file as this format. Raises ``ParseFailed``, and ``MemoryError``, whatever the bytes are."""
    module = import_module(f"vaults.formats.{found.module}")
    try:
        parsed: ParsedDocument = module.parse(data, limits)
    except (ParseFailed, MemoryError):
        raise
    except ImportError:
        raise ParseFailed("missing", f"{found.name} files are read by {EXTRA}, which is not installed") from None
    except RecursionError:
        raise ParseFailed("too_deep", "the file is nested too deep") from None
    except Exception:  # noqa: BLE001  libraries raise anything over damaged bytes, and what they say may quote these
        raise ParseFailed("damaged", f"the file cannot be read as {found.name}: it is damaged or incomplete") from None
    return parsed
