"""The body of a plain tool call: one JSON object, and nothing that two readers could take for different things."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, NoReturn

from starlette.types import Scope

from server.http.request_body import RequestBody
from server.http.request_head import Refusal

_JSON = re.compile(rb'application/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?;?', re.IGNORECASE)
_CODINGS = frozenset({b"", b"identity"})


class _NotPlain(ValueError):
    """JSON that is no JSON to some readers, or another to others."""


async def read_arguments(scope: Scope) -> dict[str, Any] | None:
    """The arguments of a call; an empty body has none. None when the caller hung up before it was whole. Raises
    ``Refusal``: 415 for another type of content, 413 for too much, 400 for what is no JSON, 422 for no object."""
    body: RequestBody = scope["state"]["body"]
    _check_coding(scope)
    read = await body.read()
    if read is None:
        return None
    if not read.data:
        return {}
    _check_type(scope)
    value = _parse(read.data)
    if not isinstance(value, dict):
        raise _refuse(422, "must be a JSON object: the arguments of the tool")
    return value


def _check_coding(scope: Scope) -> None:
    codings = [value.strip().lower() for name, value in scope["headers"] if name == b"content-encoding"]
    if not _CODINGS.issuperset(codings):
        raise _refuse(415, "must not be compressed")


def _check_type(scope: Scope) -> None:
    types = [value for name, value in scope["headers"] if name == b"content-type"]
    if len(types) != 1 or not _JSON.fullmatch(types[0].strip()):
        raise _refuse(415, "must be application/json, in UTF-8")


def _parse(data: bytes) -> Any:
    try:
        return json.loads(data.decode(), object_pairs_hook=_to_object, parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise _refuse(400, "is not UTF-8") from None
    except json.JSONDecodeError as failure:
        place = f"line {failure.lineno}, column {failure.colno}"
        raise _refuse(400, f"does not parse as JSON: {failure.msg[:1].lower()}{failure.msg[1:]}, {place}") from None
    except _NotPlain as failure:
        raise _refuse(400, str(failure)) from None
    except ValueError:  # a number of thousands of digits
        raise _refuse(400, "does not parse as JSON") from None
    except RecursionError:
        raise _refuse(400, "is nested too deep") from None


def _to_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object. Of a name that stands there twice some readers take the first value and some the last: a proxy that
    checked one would let the other through."""
    found = dict(pairs)
    if len(found) != len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise _NotPlain(f"names {twice[:100]!r} twice in one object")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise _NotPlain(f"holds {name}, which is no JSON")


def _refuse(status: int, what: str) -> Refusal:
    return Refusal(status, "invalid_argument", f"Validation error: body {what}", reason="json")
