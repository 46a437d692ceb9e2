"""Usage errors in one line: what is wrong, by its name, and where to find help."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from typer._click.exceptions import BadParameter, MissingParameter, NoSuchOption, UsageError

from server.reasons import reword_message

if TYPE_CHECKING:
    from vaults.errors import StrongroomError

_OPTION = re.compile(r"Option '(.+?)' (.+)", re.DOTALL)
_COMMAND = re.compile(r"No such command '(.*?)'(?:\.(.*))?", re.DOTALL)
_EXTRA = re.compile(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", re.DOTALL)
_CHOICE = re.compile(r"'.*' is not one of (.+)", re.DOTALL)


def format_usage_error(failure: UsageError) -> str:
    """The line for what the parser refuses."""
    context = failure.ctx
    path = context.command_path if context is not None else "strongroom"
    has_commands = context is None or hasattr(context.command, "commands")
    shown = "the commands" if has_commands else "what it takes"
    return f"{_describe(failure)} ({path} --help shows {shown})"


def _describe(failure: UsageError) -> str:
    if isinstance(failure, NoSuchOption):
        return f"{failure.option_name} is not an option{_did_you_mean(failure.possibilities)}"
    if isinstance(failure, MissingParameter):
        return f"{_name(failure.param)} is missing"
    if isinstance(failure, BadParameter):
        return f"{_name(failure.param)} {_reason(failure.message)}"
    return _reword_parser_message(failure.format_message().rstrip("."))


def _reword_parser_message(message: str) -> str:
    """Reword a parser's message whose exception names nothing."""
    if found := _COMMAND.fullmatch(message):
        return f"{found[1]} is not a command{_lower_suggestion(found[2] or '')}"
    if found := _EXTRA.fullmatch(message):
        return f"{found[1]} is more than it takes"
    if found := _OPTION.fullmatch(message):
        return f"{found[1]} {found[2].replace('requires an argument', 'needs a value')}"
    return message[:1].lower() + message[1:]


def _name(parameter: Any) -> str:
    """The parameter as typed: an option with its dashes, an argument as the help calls it."""
    if parameter is None:
        return "a value"
    is_option = parameter.param_type_name == "option"
    return str(parameter.opts[0] if is_option else parameter.metavar or parameter.name).strip("[]")


def _reason(message: str) -> str:
    reason = reword_message(message).rstrip(".")
    if found := _CHOICE.fullmatch(reason):
        return f"must be one of {found[1].replace(chr(39), '')}"
    return reason


def _did_you_mean(possibilities: Sequence[str] | None) -> str:
    return f"; did you mean {' or '.join(sorted(possibilities))}?" if possibilities else ""


def _lower_suggestion(suggestion: str) -> str:
    """typer's ``Did you mean 'list'?``, to continue a line."""
    text = suggestion.strip().replace("'", "")
    return f"; {text[:1].lower()}{text[1:]}" if text else ""


def format_command_error(failure: StrongroomError, args: Sequence[str]) -> str:
    """The line for what a command refuses. A field given as an option is named as it was typed."""
    message = failure.message.removeprefix("Validation error: ")
    field = str(failure.details.get("field", ""))
    option = f"--{field.replace('_', '-')}"
    if field and any(word.split("=", 1)[0] == option for word in args):
        message = option + message.removeprefix(field)
    return message + (f" ({failure.hint})" if failure.hint else "")
