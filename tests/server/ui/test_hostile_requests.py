"""Whatever is put into the fields of a page's forms and the names of its links, the answer is a page, and no mishap.

Covers server.ui.application. Names are read off the pages, so that those of a new page are tried as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import httpx2
import pytest
import pytest_asyncio

from auth.roles import Role
from server.ui.application import ADMIN_PAGES, VAULT_PAGES
from tests.server.ui.stage import Form, Guest, Stage, forms_of
from tests.work import some_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

NASTY = (
    "", "9" * 30, "²", "\x00", "../../x", "<script>alert(1)</script>", "\u202eevil", "*", "9999-12-31", "2026-13-45",
    "//evil.example", "\r\nset-cookie: a=b", "x" * 20_000,
)  # fmt: skip
UNREADABLE = ("%ff%fe", "%ED%A0%80", "%00", "..%2f..%2f", "%5c", "%0d%0aa:b")
"""Parts of addresses as no browser of ours writes them."""

LEFT_OUT = {"/oauth/sign-out", "/ui/language"}
"""Forms of the frame: with the first the guest would be gone."""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def admin(stage: Stage) -> Guest:
    """Somebody who may everything, in a vault that holds a memory and a note."""
    guest = await stage.person("hanna", Role.ADMIN, "*")
    await stage.ask("note_write", path="Yard/Cranes.md", content="# Cranes\n\n- [ ] grease\n")
    return guest


async def addresses(stage: Stage) -> list[str]:
    """Of every page that is not a stream."""
    filled = {
        "{id}": await stage.remember("The quay is free at night"), "{id:path}": "none",
        "{path:path}": "Yard/Cranes.md", "{name}": "other",
    }  # fmt: skip
    places = [("/ui/v/main/", VAULT_PAGES), ("/ui/admin/", ADMIN_PAGES)]
    found = [f"{place}{page.path}" for place, pages in places for page in pages]
    for name, value in filled.items():
        found = [each.replace(name, value) for each in found]
    return [*found, "/ui/search", "/ui/v/main/notes/", "/ui/admin/person?name=hanna", "/ui/v/main/findings?mend=repair"]


def names_in(page: httpx2.Response) -> set[str]:
    """What addresses of a page ask for: fields of its forms, and names in its links."""
    asked = {name for form in forms_of(page) if form.method == "get" for name in form.fields}
    links = re.findall(r'href="(/ui/[^"]*\?[^"]*)"', page.text)
    return asked | {name for link in links for name, _ in parse_qsl(urlsplit(link).query.replace("&amp;", "&"))}


def must_be_a_page(answer: httpx2.Response, asked: object) -> None:
    assert answer.status_code < 500, (asked, answer.status_code)
    for live in ("<script>alert", "<img src=x"):
        assert live not in answer.text, asked
    assert "a=b" not in answer.headers.get("set-cookie", ""), asked
    assert answer.headers.get("location", "/ui/").startswith(("/ui/", "/oauth/sign-in")), asked


def queries(name: str) -> Iterator[str]:
    yield from (urlencode({name: value}) for value in NASTY)
    yield from (f"{name}={each}" for each in UNREADABLE)


def variants(form: Form) -> Iterator[dict[str, str]]:
    """A form with each of its fields as nobody would fill it in. What would shut out whoever asks is asked first."""
    for name in form.fields.keys() - {"form", "agreed"}:
        for value in NASTY:
            yield {**form.fields, name: value}


async def test_no_address_of_a_page_is_a_mishap(stage: Stage, admin: Guest) -> None:
    for address in await addresses(stage):
        page = await admin.open(address)
        must_be_a_page(page, address)
        begin = address if "?" in address else f"{address}?"
        for query in some_of([query for name in sorted(names_in(page)) for query in queries(name)]):
            must_be_a_page(await admin.open(f"{begin}&{query}"), (address, query[:60]))
    for place in ("memories", "sessions", "notes"):
        for part in (*(quote(value, safe="") for value in NASTY), *UNREADABLE):
            must_be_a_page(await admin.open(f"/ui/v/main/{place}/{part}"), (place, part[:60]))


async def test_no_field_of_a_form_is_a_mishap(stage: Stage, admin: Guest) -> None:
    tried: set[tuple[str, str, frozenset[str]]] = set()
    for address in await addresses(stage):
        for form in forms_of(await admin.open(address)):
            what = (form.action, form.fields.get("do", ""), frozenset(form.fields))
            if form.method != "post" or form.action in LEFT_OUT or what in tried:
                continue
            tried.add(what)
            for fields in some_of(list(variants(form))):
                must_be_a_page(await admin.http.post(form.action, data=fields), (form.action, str(fields)[:200]))
    assert len(tried) > 10
