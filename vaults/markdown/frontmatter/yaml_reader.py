"""Reads YAML event by event: bounded depth, no aliases, no tags that make objects, nothing JSON could not hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vaults.markdown.frontmatter.values import MAX_DEPTH, ParsedFrontmatter, parse_scalar

_SAFE_TAGS = {
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "timestamp", "seq", "map")
}
_TEXT = "tag:yaml.org,2002:str"


class _UnsupportedYaml(ValueError):
    """A construct the bounds forbid, with the line it stands on, from 0."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


def load_yaml(inner: str, first_line: int = 2) -> ParsedFrontmatter:
    """The values of YAML that starts on ``first_line`` of its file: a note's block on the second. Never raises."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    repeated: list[str] = []
    try:
        value = _read_document(yaml.parse(inner, Loader=loader), repeated)
    except _UnsupportedYaml as error:
        return ParsedFrontmatter(error=f"line {error.line + first_line}: {error.reason}")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + first_line}: " if mark is not None else ""
        return ParsedFrontmatter(error=f"{where}{error.problem or 'no valid YAML'}")
    except (yaml.YAMLError, ValueError, RecursionError):
        return ParsedFrontmatter(error="no valid YAML")
    if value is None:
        return ParsedFrontmatter()
    if not isinstance(value, dict):
        return ParsedFrontmatter(error="no `key: value` lines")
    return ParsedFrontmatter(value, f"repeated: {', '.join(repeated)}; the last one counts" if repeated else None)


def _read_document(events: Iterator[Any], repeated: list[str]) -> Any:
    name = ""
    value: Any = None
    seen = 0
    for event in events:
        name = type(event).__name__
        if name in ("StreamStartEvent", "StreamEndEvent", "DocumentEndEvent"):
            continue
        if name == "DocumentStartEvent":
            seen += 1
            if seen > 1:
                raise _UnsupportedYaml("a second document", event.start_mark.line)
            continue
        value = _read_node(event, events, repeated, 1)
    return value


def _read_node(event: Any, events: Iterator[Any], repeated: list[str], depth: int) -> Any:
    name, line = type(event).__name__, event.start_mark.line
    if name == "AliasEvent":
        raise _UnsupportedYaml("an alias (`*name`); write the value out", line)
    tag = event.tag
    if tag is not None and tag not in _SAFE_TAGS and tag != "!":
        raise _UnsupportedYaml("a tag (`!name`)", line)
    if name == "ScalarEvent":
        return parse_scalar(event.value) if event.implicit[0] and tag is None else _read_tagged_scalar(event)
    if depth > MAX_DEPTH:
        raise _UnsupportedYaml(f"nested deeper than {MAX_DEPTH}", line)
    if name == "SequenceStartEvent":
        return _read_list(events, repeated, depth)
    return _read_mapping(events, repeated, depth)


def _read_tagged_scalar(event: Any) -> Any:
    """The value of a quoted or tagged scalar."""
    return event.value if event.tag in (None, "!", _TEXT) else parse_scalar(event.value)


def _read_list(events: Iterator[Any], repeated: list[str], depth: int) -> list[Any]:
    values = []
    for event in events:
        if type(event).__name__ == "SequenceEndEvent":
            break
        values.append(_read_node(event, events, repeated, depth + 1))
    return values


def _read_mapping(events: Iterator[Any], repeated: list[str], depth: int) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for event in events:
        name = type(event).__name__
        if name == "MappingEndEvent":
            break
        if name != "ScalarEvent":
            raise _UnsupportedYaml("a key that is no plain word", event.start_mark.line)
        key = event.value
        if key in values and key not in repeated:
            repeated.append(key)
        values[key] = _read_node(next(events), events, repeated, depth + 1)
    return values
