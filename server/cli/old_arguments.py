"""Words typed for another system, as arguments of its tool or as words for a command of ours. Pure, but for files that
an option names. Options may stand before or after arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from server.toolsets.old_command import OldCommand, OurCommand

MAX_SHOWN = 100


@dataclass(slots=True)
class GivenWords:
    """What was typed: the tool's arguments, the form of the answer where one was asked for, and the project."""

    arguments: dict[str, Any] = field(default_factory=dict)
    form: str | None = None
    project: str | None = None


def read_arguments(command: OldCommand, words: Sequence[str]) -> GivenWords:
    """The arguments of the command's tool. Raises ``ValueError`` for what it does not take."""
    assert command.tool is not None
    properties: Mapping[str, Any] = command.tool.arguments.model_json_schema().get("properties", {})
    given, plain = GivenWords(), list[str]()
    rest = iter(words)
    for word in rest:
        if word == "--":
            plain.extend(rest)
        elif not _is_option(word):
            plain.append(word)
        else:
            _read_option(command, properties, given, word, rest)
    _place_plain(command, given.arguments, plain)
    return given


def _is_option(word: str) -> bool:
    return len(word) > 1 and word.startswith("-") and not word[1:].replace(".", "", 1).isdigit()


def _read_option(
    command: OldCommand, properties: Mapping[str, Any], given: GivenWords, word: str, rest: Iterator[str]
) -> None:
    option, equals, value = word.partition("=")
    name = command.options.get(option, option.lstrip("-").replace("-", "_"))
    if option == "--json" and name not in properties:
        given.form = "json"
    elif option == "--format" and name not in properties:
        given.form = _text(option, equals, value, rest)
    elif option in command.files:
        given.arguments[command.files[option]] = Path(_text(option, equals, value, rest)).read_text(encoding="utf-8")
    elif name in properties:
        given.arguments[name] = _to_value(option, properties[name], equals, value, rest)
    elif option in command.ignored:
        told = _text(option, equals, value, rest) if command.ignored[option] else ""
        given.project = told if option == "--repo" else given.project
    else:
        raise ValueError(f"{option[:MAX_SHOWN]} is not an option of {command.name}")


def _place_plain(command: OldCommand, given: dict[str, Any], plain: list[str]) -> None:
    """Arguments without an option fill what no option gave, in order."""
    open_names = [name for name in command.positional if name not in given]
    if command.joins and open_names and len(plain) > len(open_names):
        last = len(open_names) - 1
        plain = [*plain[:last], " ".join(plain[last:])]
    given.update(zip(open_names, plain, strict=False))
    if extra := plain[len(open_names) :]:
        raise ValueError(f"{' '.join(extra)[:MAX_SHOWN]} is more than {command.name} takes")


def _text(option: str, equals: str, value: str, rest: Iterator[str]) -> str:
    text = value if equals else next(rest, None)
    if text is None:
        raise ValueError(f"{option[:MAX_SHOWN]} needs a value")
    return text


def _to_value(option: str, schema: Mapping[str, Any], equals: str, value: str, rest: Iterator[str]) -> Any:
    kinds = {each.get("type") for each in (schema, *schema.get("anyOf", ()))}
    if "boolean" in kinds:
        return value.lower() not in ("false", "0", "no")
    text = _text(option, equals, value, rest)
    if "array" in kinds:
        return [each.strip() for each in text.split(",") if each.strip()]
    if kinds & {"integer", "number"}:
        try:
            return int(text) if "integer" in kinds else float(text)
        except ValueError:
            raise ValueError(f"{option} must be a number") from None
    return text


def to_our_words(name: str, ours: OurCommand, words: Sequence[str], vault: str, project: str) -> list[str]:
    """The words of our command. ``project``: the present one. Raises ``ValueError`` for what theirs does not take."""
    ours = next((other for flag, other in ours.instead.items() if flag in words), ours)
    if ours.needs and ours.needs not in words:
        raise ValueError(f"{name} only writes here: add {ours.needs}")
    options, places, plain = dict[str, str](), dict(ours.usual), list[str]()
    flags: list[str] = []
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if option in ours.flags:
            flags += [ours.flags[option]] if ours.flags[option] else []
        elif option in ours.options:
            text = _text(option, equals, value, rest)
            options[ours.options[option]] = text
        elif _is_option(word):
            raise ValueError(f"{option[:MAX_SHOWN]} is not an option of {name}")
        else:
            plain.append(word)
    if extra := plain[ours.arguments :]:
        raise ValueError(f"{' '.join(extra)[:MAX_SHOWN]} is more than {name} takes")
    options.pop("", None)
    places |= ({ours.project: project} if ours.project else {}) | options
    path = [places.pop("PATH")] if "PATH" in places else []
    named = [part for option, value in places.items() for part in (option, value)]
    return [*ours.words, *path, *plain, *flags, *named, *(["--vault", vault] if ours.vault == "named" else [])]
