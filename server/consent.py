"""A person's consent to a call: which calls need it, whether it was given, and how to ask for it. Knows no protocol.

Where the person can be asked, they are, and the caller's own word counts for nothing. Where they cannot, the caller's
word that a person agreed is taken: there is no other. On the command line, the caller is the person.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from server.call import Caller
from server.tool_spec import COMMON_ARGUMENTS, CONFIRMED, OLD_CONFIRMED, Arguments, ToolSpec
from vaults.errors import ConfirmationRequired

_MAX_LINES = 12
_MAX_VALUE = 160
"""Max characters of a value shown to the person."""


class PersonMustBeAsked(ConfirmationRequired):
    """Nothing was done: ask the caller's person ``question`` first."""

    def __init__(self, question: str) -> None:
        super().__init__("a person is asked first")
        self.question = question


def needs_confirmation(caller: Caller, destructive: str, spec: ToolSpec, arguments: Mapping[str, Any]) -> bool:
    """Whether a person has to agree to this call. ``destructive`` is the vault's setting for calls that destroy:
    ``ask``, whatever the write mode, or ``auto``."""
    action = spec.action_of(arguments)
    if caller.transport == "cli" or not action.writes or spec.is_dry_run(arguments):
        return False
    return caller.write_mode == "ask" or (destructive == "ask" and action.destroys)


def describe_consent(
    caller: Caller, destructive: str, spec: ToolSpec, arguments: Mapping[str, Any]
) -> dict[str, str] | None:
    """Which ``rule`` asked for a person, and what their ``answer`` rests on; None where nobody had to agree.

    ``protocol``: they were asked through the protocol and agreed. ``claimed``: the caller said that they did.
    ``declined``, ``asked`` (no answer yet) and ``missing``: nothing was done. ``person``: on the command line, the
    caller is the person."""
    arguments = replace_old_argument(spec, arguments)
    action = spec.action_of(arguments)
    rule = "write_mode" if caller.write_mode == "ask" else "destructive"
    if not needs_confirmation(caller, destructive, spec, arguments):
        is_person = caller.transport == "cli" and action.destroys and destructive == "ask"
        return {"rule": rule, "answer": "person"} if is_person else None
    match caller.person:
        case "agreed":
            answer = "protocol"
        case "declined":
            answer = "declined"
        case "there":
            answer = "asked"
        case _:
            answer = "claimed" if arguments.get(CONFIRMED) is True else "missing"
    return {"rule": rule, "answer": answer}


def replace_old_argument(spec: ToolSpec, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments with the old name of ``confirmed`` replaced, where the tool takes it. Of both, the new one wins."""
    if OLD_CONFIRMED not in arguments or CONFIRMED not in spec.arguments.model_fields:
        return arguments
    renamed = {CONFIRMED: arguments[OLD_CONFIRMED], **arguments}
    return {name: value for name, value in renamed.items() if name != OLD_CONFIRMED}


def strip_confirmation(spec: ToolSpec, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments as the tool takes them: without ``confirmed`` where it has no such field."""
    if isinstance(arguments.get(CONFIRMED), bool) and CONFIRMED not in spec.arguments.model_fields:
        return {name: value for name, value in arguments.items() if name != CONFIRMED}
    return arguments


def add_confirmation(spec: ToolSpec, args: Arguments) -> Arguments:
    """The arguments with ``confirmed`` set, for tools that have such a field."""
    return args.model_copy(update={CONFIRMED: True}) if CONFIRMED in spec.arguments.model_fields else args


def check_confirmation(caller: Caller, spec: ToolSpec, arguments: Mapping[str, Any]) -> None:
    """Return if the person agreed. Raises ``PersonMustBeAsked`` if they can be asked, else ``ConfirmationRequired``."""
    if caller.person == "agreed":
        return
    if caller.person == "declined":
        raise ConfirmationRequired(
            f"{spec.name} was not done: the person did not agree", hint="do not try again unless they ask for it"
        )
    if caller.person == "there":
        raise PersonMustBeAsked(confirmation_question(caller, spec, arguments))
    if arguments.get(CONFIRMED) is not True:
        raise ConfirmationRequired(
            f"{spec.name} is only done when a person agreed: it would {spec.action_of(arguments).summary}",
            hint=f"ask them; if they agree, call again with {CONFIRMED}: true",
        )


def confirmation_question(caller: Caller, spec: ToolSpec, arguments: Mapping[str, Any]) -> str:
    """The question for the person. The words are ours; values of the call are quoted, clipped and on lines of their
    own, so that none can pass for a line of ours or reverse the text."""
    names = [name for name in arguments if name not in (CONFIRMED, *COMMON_ARGUMENTS)]
    lines = [f"- {name}: {_quote(arguments[name])}" for name in names[:_MAX_LINES]]
    more = [f"- and {len(names) - _MAX_LINES} more"] if len(names) > _MAX_LINES else []
    head = f"An agent wants to {spec.action_of(arguments).summary} in the vault {caller.vault} (tool {spec.name})."
    return "\n".join([head, *lines, *more, "Do you agree?"])


def _quote(value: object) -> str:
    if isinstance(value, str):
        return repr(value) if len(value) <= _MAX_VALUE else f"{value[:_MAX_VALUE]!r}… ({len(value)} characters)"
    if isinstance(value, list):
        shown = ", ".join(_quote(each) for each in value[:_MAX_LINES])
        return shown + (f" and {len(value) - _MAX_LINES} more" if len(value) > _MAX_LINES else "") or "none"
    if isinstance(value, dict):
        return f"{len(value)} fields"
    return str(value)[:_MAX_VALUE]
