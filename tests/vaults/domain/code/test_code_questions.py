"""Definitions, references, callers and dependents of a code base, each as sure as it can be.

Covers vaults.domain.code.code_questions, vaults.domain.code.code_answers, vaults.domain.code.resolution,
vaults.domain.code.import_reach,
vaults.domain.code.dependents, vaults.domain.code.symbol_search, vaults.domain.code.symbol_lookup, server.tools.code.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from server.services import Services
from tests.code_bases import SHOP, store_files
from tests.conftest import Asking
from tests.people import person
from vaults.domain.actors import Actor
from vaults.vault import Vault


@pytest.fixture
async def vault(services: Services) -> AsyncIterator[Vault]:
    async with services.pool.lease(services.registry_cache.entry("main")) as held:
        await store_files(held, SHOP)
        yield held


async def symbols(ask: Asking, **asked: Any) -> list[dict[str, Any]]:
    found = await ask("code", **asked)
    assert found.ok, found.text
    return list(found.content.get("symbols", []))


async def places(ask: Asking, action: str, **asked: Any) -> list[tuple[Any, ...]]:
    """Where, by what, how sure, at what depth."""
    found = await ask("code", action=action, limit=100, max_tokens=20_000, **asked)
    assert found.ok, found.text
    assert any("pproximate" in warning for warning in found.content["warnings"])
    return [
        (each["path"], each.get("within", ""), each["sure"], each.get("depth", 1))
        for each in found.content.get("places", [])
    ]


async def test_a_name_is_found_where_it_is_defined_the_imported_one_first(vault: Vault, ask: Asking) -> None:
    found = await symbols(ask, name="find_price")
    assert [(each["path"], each["line"], each["match"]) for each in found[:2]] == [
        ("shop/prices.py", 6, "exact"),
        ("shop/other.py", 1, "exact"),
    ]
    assert found[0]["signature"] == "def find_price(what: str) -> int"
    assert found[0]["doc"] == "What a thing costs."
    assert found[-1]["path"] == "tests/test_till.py"


async def test_exact_comes_before_prefix_and_that_before_parts(vault: Vault, ask: Asking) -> None:
    assert [each["name"] for each in await symbols(ask, name="Till.openDrawer")] == ["Till.openDrawer"]
    assert [each["name"] for each in await symbols(ask, name="opendrawer")] == ["Till.openDrawer"]
    assert [(each["name"], each["match"]) for each in await symbols(ask, name="drawer")] == [
        ("Drawer", "exact"),
        ("Till.openDrawer", "parts"),
    ]
    assert {(each["name"], each["match"]) for each in await symbols(ask, name="draw")} == {
        ("Drawer", "prefix"), ("drawBasket", "prefix"),
    }  # fmt: skip
    assert [each["name"] for each in await symbols(ask, name="price find")] == [
        "find_price",
        "find_price",
        "test_find_price",
    ]


async def test_symbols_are_narrowed_by_path_kind_language_and_collection(vault: Vault, ask: Asking) -> None:
    assert [each["path"] for each in await symbols(ask, name="reset", kind="method")] == ["shop/till.py"]
    assert [each["path"] for each in await symbols(ask, name="find_price", path="other")] == ["shop/other.py"]
    assert {each["path"] for each in await symbols(ask, language="typescript")} == {"web/app.ts", "web/basket.ts"}
    assert await symbols(ask, name="Till", collection="elsewhere") == []
    assert {each["kind"] for each in await symbols(ask, kind="class")} == {"class"}


async def test_a_file_is_outlined_in_order_with_what_it_imports(vault: Vault, ask: Asking) -> None:
    found = (await ask("code", action="outline", path="till.py")).content
    assert [each["name"] for each in found["symbols"]] == [
        "Drawer", "Drawer.reset", "Till", "Till.openDrawer", "Till.close",
    ]  # fmt: skip
    assert (found["path"], found["language"], found["lines"]) == ("shop/till.py", "python", 18)
    assert found["imports"] == ["shop: prices", "shop/prices: find_price"]


async def test_a_path_that_fits_several_files_is_refused_with_their_names(vault: Vault, ask: Asking) -> None:
    await store_files(vault, {"old/till.py": "x = 1\n"})
    found = await ask("code", action="outline", path="till.py")
    assert found.code == "invalid_argument"
    assert "shop/till.py" in found.text
    assert "old/till.py" in found.text
    assert (await ask("code", action="outline", path="nothing.py")).code == "not_found"


async def test_a_call_is_resolved_in_its_file_by_import_or_by_name(vault: Vault, ask: Asking) -> None:
    found = await places(ask, "callers", name="find_price", path="prices.py")
    assert ("shop/till.py", "Till.openDrawer", "import", 1) in found
    assert ("shop/other.py", "ask", "exact", 1) not in found
    assert await places(ask, "callers", name="find_price", path="other.py") == [("shop/other.py", "ask", "exact", 1)]
    assert await places(ask, "callers", name="drawBasket") == [("web/app.ts", "render", "import", 1)]


async def test_methods_are_known_by_self_and_by_their_class(vault: Vault, ask: Asking) -> None:
    found = await places(ask, "callers", name="Till.close")
    assert ("shop/web.py", "sell", "import", 1) in found
    assert ("tests/test_till.py", "test_find_price", "import", 1) in found
    assert found[-1][0].startswith("tests/")
    assert ("shop/till.py", "Till.close", "exact", 1) in await places(ask, "callers", name="openDrawer")


async def test_a_module_that_passes_a_name_on_is_seen_through(vault: Vault, ask: Asking) -> None:
    found = await places(ask, "references", name="Till", kind="class")
    assert ("shop/web.py", "serve", "import", 1) in found
    assert ("shop/web.py", "sell", "import", 1) in found


async def test_places_that_could_mean_several_are_counted_and_left_out(vault: Vault, ask: Asking) -> None:
    found = (await ask("code", action="callers", name="reset")).content
    assert [each["kind"] for each in found["symbols"]] == ["function", "method"]
    assert {(each["path"], each["sure"]) for each in found["places"]} == {("shop/till.py", "exact")}
    assert found["open"] == 1
    assert "2 definitions have this name" in " ".join(found["warnings"])


async def test_uses_are_references_and_no_calls(vault: Vault, ask: Asking) -> None:
    assert {each[:3] for each in await places(ask, "references", name="TAX_RATE")} == {
        ("shop/prices.py", "find_price", "exact"),
        ("shop/till.py", "Till.openDrawer", "import"),
    }
    assert await places(ask, "callers", name="TAX_RATE") == []


async def test_impact_follows_what_depends_on_a_symbol_step_by_step(vault: Vault, ask: Asking) -> None:
    one = await places(ask, "impact", name="find_price", path="prices.py", depth=1)
    three = await places(ask, "impact", name="find_price", path="prices.py", depth=3)
    assert {each[1] for each in one} == {"Till.openDrawer", "serve"}
    assert {each[1]: each[3] for each in three} == {
        "Till.openDrawer": 1, "serve": 1, "Till.close": 2, "sell": 2, "test_find_price": 3,
    }  # fmt: skip
    assert [each[3] for each in three] == sorted(each[3] for each in three)


async def test_impact_of_a_file_names_its_importers_and_theirs(vault: Vault, ask: Asking) -> None:
    found = await places(ask, "impact", path="shop/prices.py", depth=2)
    assert {(path, depth) for path, within, _, depth in found if not within} >= {
        ("shop/till.py", 1), ("shop/__init__.py", 1), ("tests/test_till.py", 2),
    }  # fmt: skip
    assert ("shop/till.py", "Till.openDrawer", "import", 1) in found


async def test_a_symbol_is_read_by_its_id_also_after_its_lines_moved(vault: Vault, ask: Asking) -> None:
    [found] = await symbols(ask, name="Till.close")
    read = await ask("fetch", refs=[found["id"]])
    assert read.content["items"][0]["text"] == "    def close(self):\n        return self.openDrawer(1)\n"
    await store_files(vault, {"shop/till.py": "# one more line\n" + SHOP["shop/till.py"]})
    again = await ask("fetch", refs=[found["id"]])
    assert again.content["items"][0]["text"] == read.content["items"][0]["text"]
    assert again.content["items"][0]["metadata"]["parts"] == "lines 18–19"
    assert (await symbols(ask, id=found["id"]))[0]["line"] == 18
    assert (await ask("code", action="callers", id=f"{found['id']}x")).code == "not_found"


async def test_two_symbols_of_one_name_in_a_file_have_ids_of_their_own(vault: Vault, ask: Asking) -> None:
    await store_files(vault, {"a.py": "def f():\n    return 1\n\n\ndef f():\n    return 2\n"})
    found = await symbols(ask, name="f", path="a.py")
    texts = [(await ask("fetch", refs=[each["id"]])).content["items"][0]["text"] for each in found]
    assert sorted(text.strip()[-1] for text in texts) == ["1", "2"]


async def test_private_code_is_its_owners_alone(vault: Vault, services: Services) -> None:
    ann, bob = await person(services, "ann"), await person(services, "bob")
    text = "from shop.prices import find_price\n\n\ndef secretPlan():\n    find_price(1)\n"
    stored = await store_files(vault, {"mine.py": text}, Actor("local|ann", "ann"), private=True)
    for who, sees in ((ann, True), (bob, False)):
        assert bool((await who("code", name="secretPlan")).content.get("symbols")) is sees
        assert ((await who("code", action="outline", path="mine.py")).code == "not_found") is not sees
        callers = (await who("code", action="callers", name="find_price", path="prices.py")).content["places"]
        assert any(each["path"] == "mine.py" for each in callers) is sees
        assert (await who("fetch", refs=[f"{stored['mine.py'].id}#secretPlan"])).content.get(
            "items", []
        ) != [] or not sees


NAMES = ("'; DROP TABLE code_symbols; --", "%", "\x00", "a" * 300, "::", "~2", "#", "日本")


async def test_whatever_is_asked_is_answered(vault: Vault, ask: Asking) -> None:
    for name in NAMES:
        for action in ("symbols", "references", "impact"):
            assert (await ask("code", action=action, name=name)).code in (None, "not_found", "invalid_argument")
        assert (await ask("code", action="outline", path=name)).code in ("not_found", "invalid_argument")
        assert (await ask("code", action="callers", id=name)).code in ("not_found", "invalid_argument")
    assert await symbols(ask, name="find_price")


async def test_answers_keep_to_their_budget_and_say_that_there_is_more(vault: Vault, ask: Asking) -> None:
    many = {
        f"many/m{number}.py": f"from shop.prices import find_price\n\n\ndef user{number}():\n    find_price(1)\n"
        for number in range(60)
    }
    await store_files(vault, many)
    found = await ask("code", action="callers", name="find_price", path="prices.py", limit=100, max_tokens=800)
    assert found.content["truncated"]
    assert 0 < len(found.content["places"]) < 60 < found.content["total"]
    assert len(found.text) < 800 * 8
