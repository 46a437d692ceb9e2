"""nano-brain's own scenarios for chunks of Markdown and source, and for its code index, over its own tools. Where
numbers differ, a docstring says why. Covers vaults.code.line_cuts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from server.services import Services
from tests.conftest import Asking, Opening, asker
from tests.people import rows
from tests.server.toolsets.test_nano_brain_collections import Nano, add, nano_of
from vaults.code import line_cuts
from vaults.code.exclusions import why_excluded
from vaults.domain.collections import follow_loop
from vaults.index import chunker
from vaults.parsing.parser_pool import FileParsers
from vaults.settings import CodeSettings

SHOP = "import math\n\n\ndef total_of_prices(prices):\n    return math.fsum(prices)\n"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow_loop, "STEP_S", 0.02)


@pytest.fixture
def nano(services: Services) -> Nano:
    return nano_of(services)


@pytest.fixture
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("srv") / "shop"
    root.mkdir()
    (root / "cart.py").write_text(SHOP)
    (root / "till.py").write_text("def open_drawer():\n    return 1\n")
    return root


def test_places_to_cut_markdown_count_as_there() -> None:
    """But for a blank line, on which its code (20) and its README (40) differ: the code's."""
    assert chunker.HEADING_SCORES == (100, 90, 80, 70, 70, 70)
    scores = (chunker.FENCE_SCORE, chunker.RULE_SCORE, chunker.BLANK_SCORE, chunker.ITEM_SCORE, chunker.LINE_SCORE)
    assert scores == (80, 60, 20, 5, 1)
    assert chunker.DECAY == 0.7


@pytest.mark.parametrize(("better", "worse"), [("# A", "## A"), ("## A", "### A"), ("### A", "---"), ("---", "")])
def test_the_better_place_is_taken_though_it_is_farther_from_the_limit(better: str, worse: str) -> None:
    line = "the quick brown fox jumps over it\n"
    text = f"{line * 16}\n{better}\n\n{line}\n{worse}\n\n{line * 9}"
    first = chunker.split_passages(text, 130)[0].text
    assert first == (line * 16).strip()


def test_chunks_are_smaller_than_900_tokens_and_overlap_by_none() -> None:
    """There 900 tokens with 540 characters of the last chunk again; here what the model reads whole, each word once:
    what stands around a hit is shown with it."""
    text = "\n".join(f"word{number} opens at nine." for number in range(900))
    pieces = chunker.split_passages(text, 200)
    assert all(chunker.estimate_tokens(each.text) <= 200 for each in pieces)
    assert " ".join(each.text for each in pieces).split() == text.split()


def test_places_to_cut_source_count_as_there() -> None:
    scores = (line_cuts.DOUBLE_BLANK, line_cuts.DEFINITION, line_cuts.IMPORT, line_cuts.BLANK, line_cuts.LINE)
    assert scores == (90, 80, 60, 40, 1)


async def test_a_chunk_of_source_says_file_language_and_lines(ask: Asking, nano: Nano, shop: Path) -> None:
    """There a header in the text; here told of the hit, so that the text is the file's, line for line."""
    await nano("memory_index_codebase", root=str(shop))
    (hit,) = (await ask("search", query="total_of_prices", kinds=["code"], limit=1)).content["hits"]
    assert (hit["place"], hit["title"]) == ("shop/cart.py, lines 1–5", "cart.py")
    assert (await ask("fetch", id=hit["parent"])).content["text"] == SHOP
    (known,) = (await ask("code", name="total_of_prices")).content["symbols"]
    assert (known["language"], known["line"]) == ("python", 4)


async def test_codebase_indexing_reads_what_changed_and_drops_what_is_deleted(
    services: Services, nano: Nano, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    outline = FileParsers.outline

    async def noting(self: FileParsers, data: bytes, name: str) -> Any:
        read.append(name)
        return await outline(self, data, name)

    monkeypatch.setattr(FileParsers, "outline", noting)
    assert "- Files indexed: 2" in await nano("memory_index_codebase", root=str(shop))
    assert sorted(read) == ["cart.py", "till.py"]
    (shop / "cart.py").write_text(SHOP.replace("fsum", "prod"))
    (shop / "till.py").touch()
    (shop / "new.py").write_text("def discount():\n    return 0\n")
    await nano("memory_index_codebase", root=str(shop))
    # The look at changes while the vault is open may read a file beside the call.
    assert {*read[2:]} == {"cart.py", "new.py"}, "what has the same text is not indexed again"
    (shop / "till.py").unlink()
    assert "- Files indexed: 2" in await nano("memory_index_codebase", root=str(shop))
    assert "No results found." in await nano("memory_search", query="open_drawer")
    assert await rows(services, "SELECT uri FROM documents ORDER BY uri") == [("cart.py",), ("new.py",)]


@pytest.mark.parametrize(
    "path",
    ["node_modules/a.js", ".git/a", "dist/a.js", "build/a.js", "__pycache__/a.py", "vendor/a.go", ".next/a.js",
     ".nuxt/a.js", "target/a.rs", "a.min.js", "a.js.map", "yarn.lock", "go.sum"],
)  # fmt: skip
def test_codebase_indexing_leaves_out_what_it_does_there(path: str) -> None:
    assert why_excluded(f"app/{path}")


FILES: Mapping[str, str] = {
    ".gitignore": "secrets.py\n", "secrets.py": "WALRUS = 1\n", "drafts/a.py": "WALRUS = 2\n",
    "kept.py": "WALRUS = 3\n", "long.py": "# long\n" * 400,
}  # fmt: skip


async def test_codebase_indexing_leaves_out_by_pattern_gitignore_and_size_and_counts_it(
    opening: Opening, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """There one file may have 5 MB and all 2 GB, apart from the limits of storage: here too, unless set."""
    root = tmp_path_factory.mktemp("srv") / "shop"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    async with opening({"code.max_file": 1024}) as services:
        nano = nano_of(services)
        await add(asker(services), root, "shop", kind="code", exclude=["drafts/"], watch=False)
        told = await nano("memory_index_codebase", root=str(root))
        assert "- Files scanned: 4\n- Files indexed: 1\n- Files left out: 3" in told
        assert "WALRUS = 3" in await nano("memory_search", query="walrus", collection="shop")
        assert "  - shop: 1 docs" in await nano("memory_status")
    assert (CodeSettings().max_file, CodeSettings().max_size) == (5 * 2**20, 2 * 2**30)


async def test_all_tools_of_the_first_version_answer(nano: Nano) -> None:
    given: dict[str, dict[str, Any]] = {
        "memory_search": {"query": "x"}, "memory_vsearch": {"query": "x"}, "memory_query": {"query": "x"},
        "memory_write": {"content": "Chose Redis"}, "memory_get": {"id": "MEMORY.md"}, "memory_status": {},
        "memory_multi_get": {"pattern": "*.md"}, "memory_update": {}, "memory_index_codebase": {},
    }  # fmt: skip
    for name, arguments in given.items():
        assert (await nano(name, **arguments)).strip(), name
