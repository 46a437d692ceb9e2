"""A tool call, a search and their answers as servers send them to each other, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from auth.principal import Principal
from auth.roles import Role
from server import errors
from server.call import AnswerForm, Caller, PersonState
from server.call_routes import ElsewhereVault
from server.dispatch import CallOutcome
from vaults.domain.retrieval.hybrid_search import SearchAnswer, SearchRequest
from vaults.errors import Overloaded, StrongroomError, VaultQuarantined, VaultUnavailable

_OUTCOME = TypeAdapter(CallOutcome)
_ANSWER = TypeAdapter(SearchAnswer)
_VAULTS = TypeAdapter(dict[str, ElsewhereVault])
_FAILURES: Mapping[str, type[StrongroomError]] = {
    each.code: each for each in (Overloaded, VaultQuarantined, VaultUnavailable)
}


class PassedPrincipal(BaseModel):
    """``Principal``, of a caller whom the other server let in."""

    model_config = ConfigDict(from_attributes=True, extra="forbid")

    subject: str
    issuer: str
    names: frozenset[str]
    token_id: str | None
    token_vaults: frozenset[str] | None
    token_role: Role
    scope_role: Role | None
    preset: str | None
    expires_at: float | None
    foreign_token_id: str | None
    lacks_scope: bool


class PassedCaller(BaseModel):
    """``Caller``. Dispatch looks up the role again; progress is not told."""

    model_config = ConfigDict(from_attributes=True, extra="forbid")

    principal: PassedPrincipal
    vault: str
    role: Role
    transport: Literal["http", "stdio", "cli"]
    preset: str
    write_mode: Literal["auto", "ask", "off"]
    workspace: str | None
    session: str | None
    client: str | None
    address: str | None
    connection: str
    era: str
    request_id: str
    person: PersonState
    form: AnswerForm
    looks: bool

    def to_caller(self) -> Caller:
        """As it was."""
        plain = {name: getattr(self, name) for name in type(self).model_fields if name != "principal"}
        return Caller(Principal(**self.principal.model_dump()), **plain)


class PassedCall(BaseModel):
    """A tool call."""

    model_config = ConfigDict(from_attributes=True, extra="forbid")

    caller: PassedCaller
    tool: str
    arguments: dict[str, Any]


class PassedSearch(BaseModel):
    """A search of one vault."""

    model_config = ConfigDict(from_attributes=True, extra="forbid")

    caller: PassedCaller
    vault: str
    request: SearchRequest


def dump_outcome(outcome: CallOutcome) -> bytes:
    """The outcome of a call, which may hold half characters: UTF-8 has none of these."""
    fields = {name: getattr(outcome, name) for name in ("content", "text", "code", "unknown_tool", "question")}
    links = [{"uri": each.uri, "name": each.name, "mime_type": each.mime_type} for each in outcome.links]
    return json.dumps({**fields, "links": links}).encode()


def load_outcome(data: bytes) -> CallOutcome:
    """Raises ``VaultUnavailable`` for what is none."""
    try:
        return _OUTCOME.validate_python(json.loads(data))
    except (ValueError, ValidationError):
        raise _not_understood() from None


def dump_answer(answer: SearchAnswer) -> bytes:
    """The answer of one vault, to be merged with others'."""
    return json.dumps(_ANSWER.dump_python(answer, mode="json", warnings=False)).encode()


def load_answer(data: bytes) -> SearchAnswer:
    """Raises ``VaultUnavailable`` for what is none."""
    try:
        return _ANSWER.validate_python(json.loads(data))
    except (ValueError, ValidationError):
        raise _not_understood() from None


def dump_vaults(vaults: Mapping[str, ElsewhereVault]) -> bytes:
    """The vaults a server has, by id."""
    return _VAULTS.dump_json(dict(vaults))


def load_vaults(data: bytes) -> Mapping[str, ElsewhereVault]:
    """Raises ``VaultUnavailable`` for what is none."""
    try:
        return _VAULTS.validate_json(data)
    except ValidationError:
        raise _not_understood() from None


def dump_failure(failure: StrongroomError) -> bytes:
    """Why there is no answer."""
    return json.dumps(errors.to_content(failure)).encode()


def load_failure(data: bytes) -> StrongroomError:
    """What another server said, as it would have been raised here."""
    try:
        error = json.loads(data)["error"]
        failure = StrongroomError.__new__(_FAILURES.get(error["code"], VaultUnavailable))
        StrongroomError.__init__(failure, error["message"], hint=error.get("hint"), **error.get("details", {}))
    except (ValueError, TypeError, KeyError):
        return _not_understood()
    return failure


def to_failed_outcome(failure: StrongroomError) -> CallOutcome:
    """The outcome of a call that could not be made anywhere."""
    return CallOutcome(errors.to_content(failure), errors.to_text(failure), failure.code)


def _not_understood() -> VaultUnavailable:
    return VaultUnavailable("the server that has the vault answered what this one does not understand")
