"""Settings with where they were set, the licence, and issuers and keys: to be read, and without any secret.

Covers server.ui.settings_page, server.ui.issuers_page, server.ui.licence_page, server.effective_settings and
auth.kept_keys.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from auth import key_rotation
from auth.access import EVERY_VAULT
from auth.keys import open_key_ring
from auth.licence_sign import LicenceRequest, make_keys, sign_licence
from auth.roles import Role
from server.ui.settings_page import list_settings
from tests.server.ui.stage import Guest, Stage, open_stage

pytestmark = pytest.mark.asyncio(loop_scope="module")

SECRETS = {
    "backup.secret_key": "SECRET-bucket",
    "extraction.api_key": "SECRET-api",
    "audit.webhook": 'https://SECRET-user:SECRET-p@SECRET-"word@127.0.0.1:1/SECRET-room?key=SECRET-query#SECRET',
    "ops.otlp_endpoint": "http://127.0.0.1:1/v1/traces?key=SECRET-query#SECRET",
    "extraction.url": "https://model.example/v1",
}
ISSUER = {"issuer": "https://id.example/<b>", "jwks_url": "https://id.example/keys?key=SECRET-query"}
GIVEN = {
    **SECRETS,
    "auth.issuers": [ISSUER],
    "backup.endpoint": "https://store.example",
    "backup.access_key": "an-id",
    "extraction.model": "small",
    "search.hub": 51,
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def set_up(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Stage, Guest]]:
    """A server with settings of every kind, and who administers it."""
    async with open_stage(tmp_path_factory.mktemp("settings"), **GIVEN) as stage:
        yield stage, await stage.person("ada", Role.ADMIN, EVERY_VAULT)


def rows_of(page: str) -> dict[str, list[str]]:
    """The cells of the table, by what stands in the first of each row."""
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in page.split("<tr>")[2:]]
    plain = [[unescape(re.sub(r"<[^>]+>", "", cell)).strip() for cell in row] for row in rows]
    return {first: rest for first, *rest in plain}


async def test_every_setting_stands_there_with_its_value_and_where_it_was_set(set_up: tuple[Stage, Guest]) -> None:
    stage, ada = set_up
    found = rows_of((await ada.open("/ui/admin/settings")).text)
    for section, fields in stage.services.settings.model_dump().items():
        if section not in ("social", "plans"):
            assert {f"{section}.{name}" for name in fields} <= found.keys()
    assert found["search.hub"] == ["51", "a flag"]
    assert found["server.workers"] == ["1", "nobody"]
    assert "social.moltbook.url" in found


async def test_a_text_and_what_was_set_narrow_the_list(set_up: tuple[Stage, Guest]) -> None:
    _, ada = set_up
    found = rows_of((await ada.open("/ui/admin/settings?text=Search.H")).text)
    assert found == {"search.hub": ["51", "a flag"]}
    assert rows_of((await ada.open("/ui/admin/settings?only=set")).text).keys() == GIVEN.keys()
    nothing = await ada.open("/ui/admin/settings?text=%3Cscript%3E")
    assert "0 settings" in nothing.text
    assert "<script>" not in nothing.text.partition("<main")[2]


async def test_no_secret_of_a_setting_is_on_a_page(set_up: tuple[Stage, Guest]) -> None:
    _, ada = set_up
    for path in ("settings", "issuers", "licence", ""):
        page = await ada.open(f"/ui/admin/{path}")
        assert page.status_code == 200
        assert "SECRET" not in page.text
    found = rows_of((await ada.open("/ui/admin/settings")).text)
    assert found["backup.secret_key"][0] == "********"
    assert found["audit.webhook"][0] == "https://********@127.0.0.1:1/********"
    command = {"extraction.command": {"value": ["/usr/bin/model", "--key=SECRET"], "source": "environment"}}
    assert [each.value for each in list_settings(command)] == ['["/usr/bin/model", "********"]']
    assert (await ada.open("/ui/admin/settings?text=SECRET-bucket")).text.count("<tr>") == 0


async def test_nothing_is_changed_there(set_up: tuple[Stage, Guest]) -> None:
    _, ada = set_up
    for path in ("settings", "issuers", "licence"):
        assert (await ada.http.post(f"/ui/admin/{path}", data={"form": "x"})).status_code == 405
        shown = (await ada.open(f"/ui/admin/{path}")).text.partition("<main")[2].partition("</main>")[0]
        assert 'method="post"' not in shown


async def test_keys_stand_there_with_what_they_are_for(set_up: tuple[Stage, Guest]) -> None:
    stage, ada = set_up
    ring = open_key_ring(stage.services.data / "keys")
    old = ring.newest.kid
    new = (await key_rotation.rotate(stage.services.control, ring)).kid
    page = await ada.open("/ui/admin/issuers")
    found = rows_of(page.text)
    assert found[old][1:3] == ["verifies", "in the clear"]
    assert found[new][1:3] == ["signs", "in the clear"]
    assert found[new][3].endswith("– now")
    assert "PRIVATE" not in page.text
    assert "https://id.example/&lt;b&gt;" in page.text


async def test_a_key_that_does_not_open_is_named(set_up: tuple[Stage, Guest]) -> None:
    stage, ada = set_up
    broken = stage.services.data / "keys" / "0900.pem"
    broken.write_bytes(b"no key")
    assert "0900.pem" in (await ada.open("/ui/admin/issuers")).text.partition("do not open")[2]
    broken.unlink()


async def test_a_look_at_the_keys_makes_none(tmp_path: Path) -> None:
    async with open_stage(tmp_path, signs_in=False) as stage:
        for path in (tmp_path / "keys").glob("*.pem"):
            path.unlink()
        page = await stage.browser().open("/ui/admin/issuers")
        assert page.status_code == 200
        assert "nobody signs in" in page.text
        assert list((tmp_path / "keys").glob("*.pem")) == []


async def test_the_licence_says_whether_it_holds_and_what_it_lifts(tmp_path: Path) -> None:
    private, public = make_keys()
    (tmp_path / "public.pem").write_bytes(public)
    async with open_stage(tmp_path, **{"limits.licence_key_file": "public.pem"}) as stage:
        ada = await stage.person("ada", Role.ADMIN, EVERY_VAULT)
        page = await ada.open("/ui/admin/licence")
        assert "there is no licence" in page.text
        assert f"--machine {stage.services.instance_id}" in page.text
        asked: dict[str, Any] = {"subject": "Harbour <b>", "ttl_s": 3600, "plans": {}, "admin": True, "machine": None}
        (tmp_path / "licence.jwt").write_text(sign_licence(private, LicenceRequest(**asked)))
        stage.services.licence.refresh()
        page = await ada.open("/ui/admin/licence")
        assert "every limit of every plan" in page.text
        assert "Harbour &lt;b&gt;" in page.text
