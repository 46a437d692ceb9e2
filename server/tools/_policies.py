"""The arguments and results of ``policies``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from server.tool_spec import Arguments
from server.tools._notes import DryRun, Etag
from vaults.activity_log.entries import ActivityEntry
from vaults.domain.notes.policy_paths import MAX_BYTES
from vaults.domain.policies.results import PolicyRunResult
from vaults.domain.text.fields import Text
from vaults.domain.text.plurals import pluralize


class PoliciesArguments(Arguments):
    action: Annotated[
        Literal["list", "show", "validate", "preview", "execute", "author", "revise", "delete"],
        Field(description="what to do"),
    ] = "list"
    name: Annotated[Text | None, Field(max_length=64, description="the policy, such as weekly-review")] = None
    variables: Annotated[
        dict[str, Any], Field(max_length=50, description="preview, execute: values of its variables")
    ] = {}
    content: Annotated[Text | None, Field(max_length=MAX_BYTES, description="validate, author, revise: the YAML")] = (
        None
    )
    etag: Etag = None
    dry_run: DryRun = False
    confirmed: Annotated[bool, Field(description="true once a person agreed to what is deleted")] = False


@dataclass(frozen=True, slots=True)
class PolicyVariable:
    """A variable of a policy, as its file declares it."""

    name: str
    type: str
    required: bool
    description: str
    default: Any = None
    values: list[str] | None = None


@dataclass(frozen=True, slots=True)
class PolicyEntry:
    """A policy on the shelf. ``steps``: the tools it calls, in order; ``problem``: why it cannot be run."""

    name: str
    path: str
    description: str = ""
    variables: list[PolicyVariable] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class PolicyList:
    """Of list."""

    policies: list[PolicyEntry]


@dataclass(frozen=True, slots=True)
class PolicyText:
    """Of show."""

    name: str
    path: str
    content: str
    etag: str


@dataclass(frozen=True, slots=True)
class PolicyVerdict:
    """Of validate, and of author and revise on a dry run."""

    name: str | None
    valid: bool
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class PolicyEdit:
    """Of author, revise and delete. ``etag``: of the file that stands there now."""

    name: str
    path: str
    etag: str | None
    change: str | None
    changed: bool


PoliciesResult = Annotated[
    PolicyList | PolicyText | PolicyVerdict | PolicyRunResult | PolicyEdit,
    """Of list: ``policies``. Of show: ``content`` and ``etag``. Of validate: ``valid``, and why not. Of preview and
    execute: ``steps`` with what each did, ``paths`` of notes, ``diff`` of what is only shown, ``change`` that history
    undoes. Of author, revise and delete: ``path``, ``etag``, ``change``.""",
]


def policies_entry(args: PoliciesArguments, result: PoliciesResult) -> ActivityEntry | None:
    """What the activity log keeps: a run or an edit that changed something."""
    match result:
        case PolicyRunResult(changed=True):
            resource, verb = next(iter(result.paths), None), "ran"
        case PolicyEdit(changed=True):
            resource, verb = result.path, {"author": "wrote", "revise": "changed"}.get(args.action, "deleted")
        case _:
            return None
    return ActivityEntry("note_changed", resource, f"{verb} the policy {result.name}")


def policies_head(found: PoliciesResult) -> str:
    """What was found or done, in a sentence."""
    match found:
        case PolicyList():
            return f"{pluralize(len(found.policies), 'policy', 'policies')}."
        case PolicyText():
            return "The policy."
        case PolicyVerdict():
            return "Valid: it can be run." if found.valid else "Not valid."
        case PolicyRunResult(changed=True):
            return f"Ran: {pluralize(len(found.paths), 'note')} changed."
        case PolicyRunResult():
            return "Only shown, nothing is written." if found.diff else "Ran: nothing to change."
        case PolicyEdit():
            return ("Saved." if found.etag else "Deleted.") if found.changed else "It is as it was."
