"""Reading what forms send: anybody may send it, before anybody asks who they are."""

from __future__ import annotations

import threading

import pytest
from starlette.datastructures import FormData
from starlette.requests import Request

from server.ui import forms
from server.ui.forms import MAX_FIELDS, SHORT, FormReading, UnreadableForm, text_field


async def read(body: bytes, kind: str = "application/x-www-form-urlencoded") -> FormData:
    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    scope = {"type": "http", "method": "POST", "headers": [(b"content-type", kind.encode())]}
    return await FormReading().read(Request(scope, receive))


async def test_fields_are_read_as_a_browser_sends_them() -> None:
    form = await read(b"content=a+b%0D%0A%C3%BC&vault=x&vault=y&empty=", "Application/X-WWW-form-urlencoded; charset=x")
    assert text_field(form, "content") == "a b\n\u00fc"
    assert (form.getlist("vault"), text_field(form, "empty"), text_field(form, "none")) == (["x", "y"], "", "")


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "", "multipart/form-data; boundary=x"])
async def test_what_is_no_form_has_no_fields(kind: str) -> None:
    assert not await read(b"form=x", kind)


async def test_more_fields_than_any_form_has_are_not_read() -> None:
    with pytest.raises(UnreadableForm):
        await read(b"x=1&" * MAX_FIELDS + b"x=1")


async def test_a_long_form_is_not_read_on_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    parse, seen = forms._parse, []

    def look(body: bytes) -> FormData:
        seen.append(threading.current_thread() is threading.main_thread())
        return parse(body)

    monkeypatch.setattr(forms, "_parse", look)
    for body in (b"x=%25", b"x=" + b"%" * SHORT):
        await read(body)
    assert seen == [True, False]
