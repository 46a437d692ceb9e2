"""What a plain call may have as its body: hostile JSON is refused before anything is made of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.http.json_arguments import read_arguments
from server.http.request_body import MAX_STRUCTURE, RequestBody
from server.http.request_head import Refusal
from tests.work import examples

LIMIT = 1_000_000


async def read(body: bytes | None, *headers: tuple[bytes, bytes]) -> dict[str, Any] | None:
    async def receive() -> Any:
        whole = {"type": "http.request", "body": body, "more_body": False}
        return {"type": "http.disconnect"} if body is None else whole

    named = list(headers) or [(b"content-type", b"application/json")]
    return await read_arguments({"headers": named, "state": {"body": RequestBody(receive, LIMIT)}})


async def refused(body: bytes, *headers: tuple[bytes, bytes]) -> tuple[int, str]:
    with pytest.raises(Refusal) as caught:
        await read(body, *headers)
    error = json.loads(caught.value.body)["error"]
    return caught.value.status, f"{error['code']}: {error['message']}"


async def test_an_object_is_read_and_an_empty_body_has_no_arguments() -> None:
    assert await read('{"a": [1, {"b": "ä"}]}'.encode()) == {"a": [1, {"b": "ä"}]}
    assert await read(b"", (b"accept", b"*/*")) == {}
    assert await read(None) is None


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b'{"a": 1, "a": 2}', 400, "names 'a' twice"),
        (b'{"x": [{"deep": {"k": 1, "k": 1}}]}', 400, "names 'k' twice"),
        (b'{"a": 1, "\\u0061": 2}', 400, "names 'a' twice"),
        (b'{"a": NaN}', 400, "holds NaN"),
        (b"[-Infinity]", 400, "holds -Infinity"),
        (b'{"a": ', 400, "line 1, column 7"),
        (b"{} {}", 400, "does not parse"),
        (b'{"a": ' + b"9" * 5000 + b"}", 400, "does not parse"),
        (b"[" * 50_000, 400, "nested too deep"),
        (b'{"a":' * 50_000, 400, "nested too deep"),
        ('{"a": 1}'.encode("utf-16"), 400, "not UTF-8"),
        (b"\xef\xbb\xbf{}", 400, "does not parse"),
        (b'{"a": "\xed\xa0\x80"}', 400, "not UTF-8"),
        (b'["a"]', 422, "must be a JSON object"),
        (b"null", 422, "must be a JSON object"),
        (b'"{}"', 422, "must be a JSON object"),
        (b"[" + b"0," * (MAX_STRUCTURE + 1) + b"0]", 413, "commas"),
        (b'{"a": "' + b"x" * LIMIT + b'"}', 413, "larger than"),
    ],
)
async def test_a_hostile_body_is_refused(body: bytes, status: int, said: str) -> None:
    found, message = await refused(body)
    assert (found, said in message) == (status, True), message
    assert message.startswith("too_large" if status == 413 else "invalid_argument: Validation error: body ")


@pytest.mark.parametrize(
    "headers",
    [
        [(b"accept", b"*/*")],
        [(b"content-type", b"text/plain")],
        [(b"content-type", b"application/x-www-form-urlencoded")],
        [(b"content-type", b"multipart/form-data; boundary=x")],
        [(b"content-type", b"application/jsonp")],
        [(b"content-type", b"application/json; charset=utf-16")],
        [(b"content-type", b"application/json"), (b"content-type", b"text/plain")],
        [(b"content-type", b"application/json"), (b"content-encoding", b"gzip")],
    ],
)
async def test_a_body_of_another_type_is_refused(headers: list[tuple[bytes, bytes]]) -> None:
    assert (await refused(b"{}", *headers))[0] == 415


@pytest.mark.parametrize(
    "named", [b"application/json", b"Application/JSON; charset=UTF-8", b'application/json;charset="utf-8"']
)
async def test_json_goes_by_its_usual_names(named: bytes) -> None:
    assert await read(b"{}", (b"content-type", named)) == {}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=examples(30))
@given(st.dictionaries(st.text(), JSON, max_size=4))
async def test_whatever_json_can_say_is_read_as_it_was_meant(value: dict[str, Any]) -> None:
    assert await read(json.dumps(value).encode()) == value
