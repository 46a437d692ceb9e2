"""The tool over HTTP: only folders the operator allows, and nothing told of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from auth.roles import Role
from server.services import Services
from tests.conftest import Asking, Opening
from tests.people import person


@pytest.fixture
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("srv")
    for folder in ("docs", "other"):
        (root / folder).mkdir()
        (root / folder / "a.md").write_text("# Harbour\n\nOpens at nine.\n")
    return root


async def test_over_http_no_folder_may_be_added_unless_an_operator_says_so(services: Services, served: Path) -> None:
    ann = await person(services, "ann")
    for root in (served / "docs", Path("/nowhere"), Path("/etc")):
        refused = await ann("collections", action="add", name="docs", root=str(root))
        assert refused.code == "not_found"
        assert "collections.roots" in refused.content["error"]["hint"]


async def test_over_http_folders_of_the_operator_may_be_added_by_writers(opening: Opening, served: Path) -> None:
    async with opening({"collections.roots": [str(served)]}) as services:
        ann, bob = await person(services, "ann"), await person(services, "bob", Role.READER)
        assert (await bob("collections", action="add", name="docs", root=str(served / "docs"))).code == "forbidden"
        (made,) = (await ann("collections", action="add", name="docs", root=str(served / "docs"))).content[
            "collections"
        ]
        assert made["documents"] == 1
        assert (await bob("collections")).content["collections"][0]["name"] == "docs"
        assert (await bob("search", query="nine", collection="docs")).content["hits"]
        outside = await ann("collections", action="add", name="data", root=str(services.data))
        assert outside.code == "not_found"
        assert (await ann("collections", action="remove", name="docs")).code == "confirmation_required"
        assert (await ann("collections", action="remove", name="docs", confirmed=True)).ok
        assert not (await bob("collections")).content.get("collections")


async def test_what_is_missing_or_wrong_is_named(ask: Asking, served: Path) -> None:
    docs = str(served / "docs")
    for arguments, code in (
        ({"action": "add", "name": "docs"}, "invalid_argument"),
        ({"action": "add", "root": docs}, "invalid_argument"),
        ({"action": "add", "name": "docs", "root": "docs"}, "invalid_argument"),
        ({"action": "add", "name": "../x", "root": docs}, "invalid_argument"),
        ({"action": "add", "name": "docs", "root": docs, "include": ["../*.md"]}, "invalid_argument"),
        ({"action": "rename", "name": "docs"}, "not_found"),
        ({"action": "remove", "confirmed": True}, "invalid_argument"),
        ({"action": "refresh", "name": "docs"}, "not_found"),
    ):
        assert (await ask("collections", **arguments)).code == code, arguments
    assert (await ask("collections", action="add", name="docs", root=docs)).ok
    assert (await ask("collections", action="add", name="docs", root=str(served / "other"))).code == "already_exists"
    assert (await ask("collections", action="update", name="docs", kind="code")).code == "invalid_argument"
    assert (await ask("collections", action="rename", name="docs")).code == "invalid_argument"
    missing = await ask("collections", name="dosc")
    assert missing.content["error"]["hint"] == "there are: docs"


async def test_more_collections_than_an_answer_holds_come_page_by_page(ask: Asking, served: Path) -> None:
    for number in range(5):
        (served / f"folder-{number}").mkdir()
        made = await ask("collections", action="add", name=f"docs-{number}", root=str(served / f"folder-{number}"))
        assert made.ok
    page = await ask("collections", max_tokens=200)
    assert page.content["truncated"] is True
    assert page.content["total"] == 5
    assert page.text.startswith(f"{len(page.content['collections'])} of 5 collections.")
    names = [each["name"] for each in page.content["collections"]]
    while (cursor := page.content.get("cursor")) is not None:
        page = await ask("collections", max_tokens=200, cursor=cursor)
        names += [each["name"] for each in page.content["collections"]]
    assert names == [f"docs-{number}" for number in range(5)]
    whole = await ask("collections")
    assert len(whole.content["collections"]) == 5
    assert not {"truncated", "total", "cursor"} & whole.content.keys()
