"""What a source file defines, names and imports is known in each language, and whatever it holds it is covered whole.

Covers vaults.code.syntax, vaults.code.definitions, vaults.code.chunks, vaults.code.line_cuts, vaults.code.grammars,
vaults.code.comments,
vaults.code.code_outline.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.work import examples
from vaults.code import outline
from vaults.code.chunks import LONGEST, LONGEST_LINE
from vaults.code.code_outline import CodeOutline
from vaults.code.grammars import list_missing
from vaults.code.languages import BY_NAME, LANGUAGES
from vaults.code.line_cuts import count_tokens
from vaults.code.outline import outline_source

SAMPLES = Path(__file__).parent / "samples"


@dataclass(frozen=True)
class SampleOutline:
    """What is read of a sample: ``name:kind@first-last``, ``kind:on.name@line``, ``module:name:alias``."""

    language: str
    symbols: str
    references: str
    imports: str


EXPECTED = {
    "Shop.cs": SampleOutline(
        "csharp",
        "Shop:class@6-14 Shop.Name:field@10-10 Shop.Shop:method@11-11 Shop.Sell:method@12-13 "
        "ISeller:interface@16-16 ISeller.Sell:method@16-16 Size:enum@17-17 Size.Small:field@17-17 "
        "Size.Large:field@17-17 Price:class@18-18",
        "call:Serializable@7 inherit:Base@8 inherit:ISeller@8 call:Finder.Find@13 call:Count@13",
        "System: Market.Prices:",
    ),
    "Shop.java": SampleOutline(
        "java",
        "Shop:class@7-23 Shop.LIMIT:field@12-12 Shop.Shop:method@14-14 Shop.sell:method@16-20 "
        "Shop.Size:enum@22-22 Shop.Size.SMALL:field@22-22 Shop.Size.LARGE:field@22-22 Seller:interface@25-27 "
        "Seller.sell:method@26-26 Price:class@29-29",
        "call:Service@10 inherit:Base@11 inherit:Seller@11 inherit:Runnable@11 call:Override@17 call:find@19 "
        "call:stock.level@19",
        "java.util:List org.example.prices.Prices:find org.example.stock:*",
    ),
    "shop.c": SampleOutline(
        "c",
        "LIMIT:constant@4-4 TWICE:function@5-5 shop:class@7-10 shop_t:type@12-12 size:enum@13-13 "
        "size.SMALL:field@13-13 size.LARGE:field@13-13 total:constant@14-14 sell:function@16-20 "
        "name_of:function@22-22",
        "use:shop@12 use:shop@17 call:find_price@19 call:s.sell@19 use:shop_t@22",
        "stdio.h: prices.h:",
    ),
    "shop.cpp": SampleOutline(
        "cpp",
        "market:module@3-24 market.Shop:class@5-14 market.Shop.sell:method@9-9 market.Shop.size:method@10-10 "
        "market.Shop.size_:field@13-13 market.Size:enum@16-16 market.Size.Small:field@16-16 "
        "market.Size.Large:field@16-16 market.Basket:type@17-17 market.Shop.sell:method@19-22 "
        "market.open:method@26-26",
        "inherit:Base@7 call:find_price@21 call:prices.tax@21",
        "prices.hpp:",
    ),
    "shop.go": SampleOutline(
        "go",
        "Limit:constant@8-9 Shop:class@11-14 Shop.Name:field@13-13 Seller:interface@17-19 "
        "Seller.Sell:method@18-18 Size:type@20-20 Shop.Sell:method@23-27 main:function@29-32",
        "use:Shop@24 use:fmt@25 call:fmt.Println@25 use:pr@26 call:pr.Find@26 call:Shop@30 call:s.Sell@31",
        "fmt: example.org/shop/prices::pr",
    ),
    "shop.js": SampleOutline(
        "javascript",
        "LIMIT:constant@6-7 Shop:class@9-17 Shop.#name:field@13-13 Shop.sell:method@14-16 main:function@19-21 "
        "all:function@23-23 module.exports.extra:method@24-24",
        "call:require@3 inherit:Base@12 call:findPrice@15 use:stock@15 call:stock.level@15 call:Shop@20 call:?.sell@20",
        "./prices.js::Base ./prices.js:tax ./prices.js:price:findPrice ../stock::stock path:join ./rebates:rebate",
    ),
    "shop.kt": SampleOutline(
        "kotlin",
        "LIMIT:constant@7-7 Shop:class@9-15 Shop.name:field@10-10 Shop.sell:method@11-14 "
        "Seller:interface@17-19 Seller.sell:method@18-18 Size:enum@21-21 Size.SMALL:field@21-21 "
        "Size.LARGE:field@21-21 Registry:class@23-25 Registry.all:method@24-24 main:function@27-29",
        "inherit:Base@10 inherit:Seller@10 call:findPrice@13 call:stock.level@13 call:Shop@28 call:?.sell@28",
        "market.prices:findPrice market:tax:levy market.stock:*",
    ),
    "shop.lua": SampleOutline(
        "lua",
        "prices:constant@1-1 limit:constant@2-2 Shop:constant@3-3 Shop.sell:method@5-8 Shop.open:method@10-10 "
        "main:function@11-11",
        "call:require@1 use:Shop@6 use:prices@7 call:prices.find@7 call:level@7 use:Shop@10 use:Shop@11 "
        "call:Shop.sell@11 use:Shop@12",
        "market.prices::prices",
    ),
    "shop.php": SampleOutline(
        "php",
        "Shop:class@7-19 Shop.LIMIT:constant@11-11 Shop.name:field@12-12 Shop.sell:method@14-18 "
        "Seller:interface@21-21 Seller.sell:method@21-21 main:function@22-22",
        "inherit:Base@8 inherit:Seller@8 inherit:Opens@10 use:Finder@17 call:Finder.find@17 "
        "call:$this.count@17 call:helper@17 call:Shop@22 call:?.sell@22",
        "Prices:Finder Stock:Level:Rack",
    ),
    "shop.py": SampleOutline(
        "python",
        "LIMIT:constant@9-9 A:constant@10-10 B:constant@10-10 Shop:class@13-32 Shop.name:field@19-19 "
        "Shop.sell:method@21-27 Shop.sell.inner:function@24-25 Shop.count:method@29-32 main:function@35-36",
        "call:register@13 inherit:Base@14 use:stock@14 inherit:stock.Holder@14 use:Decimal@21 "
        "call:self.count@25 call:find_price@27 use:stock@27 call:stock.level@27 call:property@30 use:paths@32 "
        "call:paths.join@32 use:LIMIT@32 call:Shop@36 call:Shop.sell@36",
        "os.path::paths decimal:Decimal .:stock .prices:price:find_price .taxes:*",
    ),
    "shop.rb": SampleOutline(
        "ruby",
        "Market:module@4-20 Market.LIMIT:constant@5-5 Market.Shop:class@7-19 Market.Shop.sell:method@11-14 "
        "Market.Shop.open:method@16-18",
        "call:require@1 call:require_relative@2 inherit:Base@8 call:include@9 inherit:Seller@9 "
        "call:Prices.find@13 call:level@13",
        "json: prices:",
    ),
    "shop.rs": SampleOutline(
        "rust",
        "LIMIT:constant@4-5 Shop:class@7-11 Shop.name:field@10-10 Size:enum@13-13 Size.Small:field@13-13 "
        "Size.Large:field@13-13 Seller:interface@15-17 Seller.sell:method@16-16 Shop.sell:method@20-24 "
        "tools:module@27-29 tools.round:function@28-28 twice:function@31-31 main:function@33-36",
        "inherit:Seller@19 call:println@22 call:find_price@23 call:self.count@23 use:Shop@34 "
        "call:String.new@34 use:tools@35 call:tools.round@35",
        "crate::prices:find_price crate::prices:Tax:Levy std::collections:HashMap",
    ),
    "shop.scala": SampleOutline(
        "scala",
        "Shop:class@6-11 Shop.limit:field@8-8 Shop.sell:method@9-10 Seller:interface@13-13 "
        "Seller.sell:method@13-13 Main:class@14-14 Main.main:method@14-14",
        "inherit:Base@7 use:Seller@7 use:Finder@10 call:Finder.find@10 call:count@10 call:Shop@14 call:?.sell@14",
        "market.prices:Finder market.prices:Tax:Levy market.stock:*",
    ),
    "shop.sh": SampleOutline(
        "bash",
        "LIMIT:constant@4-4 sell:function@6-9 main:function@11-13",
        "call:source@2 call:find_price@8 call:sell@12 call:main@14",
        "lib/prices.sh:",
    ),
    "shop.swift": SampleOutline(
        "swift",
        "limit:constant@3-3 Shop:class@5-13 Shop.name:field@7-7 Shop.sell:method@9-12 Seller:interface@15-15 "
        "Seller.sell:method@15-15 Size:enum@16-16 Size.small:field@16-16 Size.large:field@16-16 "
        "Price:class@17-17 Price.cents:field@17-17 Shop.open:method@18-18 main:function@19-19",
        "inherit:Base@6 inherit:Seller@6 call:findPrice@11 call:Shop@19 call:Shop.sell@19",
        "Foundation:",
    ),
    "shop.ts": SampleOutline(
        "typescript",
        "Seller:interface@4-7 Seller.name:field@5-5 Seller.sell:method@6-6 Size:enum@9-9 Basket:type@10-10 "
        "Shop:class@12-19 Shop.stock:field@14-14 Shop.open:method@15-15 Shop.sell:method@16-18 "
        "Tools:module@21-23 Tools.round:function@22-22 VERSION:constant@24-24 main:function@25-25",
        "inherit:Person@4 use:Price@6 use:Price@10 call:Injectable@12 inherit:Seller@13 use:Basket@14 "
        "call:Map@14 use:Price@16 call:findPrice@17 use:Tools@25 call:Tools.round@25",
        "./prices:Price @/prices:findPrice",
    ),
    "view.tsx": SampleOutline(
        "tsx",
        "View:function@4-6",
        "call:Frame@5 call:Shop@5",
        "react::React ./shop:Shop",
    ),
}


def test_every_language_has_a_grammar_and_a_sample() -> None:
    assert list_missing() == []
    assert {each.language for each in EXPECTED.values()} == set(BY_NAME)
    assert {path.name for path in SAMPLES.iterdir()} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_sample_of_each_language_is_read(name: str) -> None:
    expected = EXPECTED[name]
    found = outline_source((SAMPLES / name).read_text(encoding="utf-8"), f"src/{name}")
    assert (found.language, found.parsed, found.warnings) == (expected.language, True, ())
    symbols = [f"{each.qualified}:{each.kind}@{each.first_line}-{each.last_line}" for each in found.symbols]
    references = [f"{each.kind}:{f'{each.on}.' if each.on else ''}{each.name}@{each.line}" for each in found.references]
    imports = [f"{each.module}:{each.name}{f':{each.alias}' if each.alias else ''}" for each in found.imports]
    assert " ".join(symbols) == expected.symbols
    assert " ".join(references) == expected.references
    assert " ".join(imports) == expected.imports


@pytest.mark.parametrize(
    "name", [each for each in EXPECTED if each not in ("view.tsx", "shop.ts", "shop.c", "shop.cpp")]
)
def test_what_is_said_of_a_method_is_its_doc(name: str) -> None:
    found = outline_source((SAMPLES / name).read_text(encoding="utf-8"), name)
    said = {each.doc for each in found.symbols if each.name.lower() in ("sell", "shop") and each.kind != "constant"}
    assert said & {"Sells a thing.", "Sell a thing.", "Sells things.", "Sell sells a thing."}


def test_a_signature_is_on_one_line_without_its_body() -> None:
    text = "def sell(\n    what: str,\n    *,\n    much: int = 1,\n) -> dict[str, int]:\n    return {}\n"
    [symbol] = outline_source(text, "a.py").symbols
    assert symbol.signature == "def sell( what: str, *, much: int = 1, ) -> dict[str, int]"
    found = outline_source("export const main = async () => {\n  go();\n};\n", "a.js")
    assert found.symbols[0].signature == "main = async ()"


def test_a_name_is_told_where_it_stands_in_a_symbol() -> None:
    found = outline_source((SAMPLES / "shop.py").read_text(encoding="utf-8"), "shop.py")
    within = {
        (each.name, found.symbols[each.within].qualified if each.within is not None else None)
        for each in found.references
    }
    assert {("level", "Shop.sell"), ("count", "Shop.sell.inner"), ("register", "Shop")} <= within


def test_chunks_are_symbols_of_the_size_of_a_passage() -> None:
    body = "".join(f"    total = total + {number} * rate\n" for number in range(80))
    till = "class Till:\n    rate = 2\n\n    def count(self, rate):\n        pass\n"
    text = f"{till}\n\ndef long(rate):\n{body}\n\ndef a():\n    pass\n"
    found = outline_source(text, "till.py").chunks
    assert [(each.symbol, each.kind) for each in found[:1]] == [("Till", "class")]
    assert {each.symbol for each in found} == {"Till", "long", "a"}
    assert all(count_tokens(each.text) <= LONGEST for each in found)
    assert sum(each.symbol == "long" for each in found) >= 3


def test_small_neighbours_share_a_chunk_that_is_called_by_all() -> None:
    [chunk] = outline_source("A = 1\nB = 2\n\n\ndef c():\n    return A\n", "a.py").chunks
    assert (chunk.symbol, chunk.first_line, chunk.last_line) == ("A, B, c", 1, 6)


def test_a_comment_and_a_decorator_belong_to_what_is_below_them() -> None:
    text = "x = 1\n\n\n# Counts\n# all.\n@cached\ndef count():\n    pass\n"
    symbol = outline_source(text, "a.py").symbols[1]
    assert (symbol.first_line, symbol.line, symbol.doc) == (4, 7, "Counts")


def test_a_missing_grammar_costs_symbols_and_not_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outline, "load_grammar", lambda language: None)
    text = (SAMPLES / "shop.rb").read_text(encoding="utf-8")
    found = outline_source(text, "shop.rb")
    assert not found.parsed
    assert "strongroom[code]" in found.warnings[0]
    _is_whole(text, found)


def test_a_text_of_no_language_is_cut_before_definitions_and_after_blank_lines() -> None:
    body = "    do this and that\n" * 9
    text = "\n\n".join(f"proc step{number} {{\n{body}}}" for number in range(12)) + "\n"
    found = outline_source(text, "steps.tcl")
    assert (found.language, found.parsed, found.symbols) == ("text", False, ())
    assert len(found.chunks) >= 3
    assert all(each.text.startswith("proc step") for each in found.chunks)
    _is_whole(text, found)


def _is_whole(text: str, found: CodeOutline) -> None:
    """Every character is in one chunk, in order, and lines count right."""
    assert "".join(each.text for each in found.chunks) == text
    at, line = 0, 1
    for each in found.chunks:
        assert text.count("\n", 0, at) + 1 == each.first_line
        assert each.first_line >= line
        at, line = at + len(each.text), each.first_line
        last = text.count("\n", 0, at) + 1 - (each.text.endswith("\n"))
        assert each.last_line == last
    total = text.count("\n") + (not text.endswith("\n")) if text else 0
    assert found.lines == total
    for symbol in found.symbols:
        assert 1 <= symbol.first_line <= symbol.line <= symbol.last_line <= total
    for reference in found.references:
        assert 1 <= reference.line <= total
    json.dumps(asdict(found))


FRAGMENTS = st.sampled_from(
    ["def f(a):", "    return g(a)", "class A(B):", "@x", "import a.b", "from . import c", "}", "{", "(", ")", "\n",
     "function f() {", "const x = () => {", "pub fn f() -> u8 {", "impl A for B {", "# note", "// note", "/* ", " */",
     '"""', "'", '"', "`", "\\", "\t", "    ", "é", "日本", "\x00", "\r\n", "x" * 300, "a.b.c()", "lambda: ", "[", "]",
     ";", "\n\n"]
)  # fmt: skip


@settings(max_examples=examples(120))
@given(st.lists(FRAGMENTS, max_size=40).map("".join) | st.text(max_size=200), st.sampled_from(LANGUAGES))
def test_whatever_a_file_holds_it_is_covered_whole(text: str, language: object) -> None:
    name = f"file{language.suffixes[0]}"  # type: ignore[attr-defined]
    _is_whole(text, outline_source(text, name))


HOSTILE = {
    "brackets.py": "(\n" * 20_000,
    "objects.js": "[{(\n" * 7_000,
    "nots.js": "!\n" * 20_000,
    "types.go": "package a\nvar x " + "[]\n" * 20_000,
    "templates.cpp": "template <\n" * 20_000,
    "chain.java": "class A { void f() { a" + ".b()\n" * 20_000,
    "attributes.py": "x = a" + ".b\\\n" * 20_000,
    "garbage.rs": "}{)(;#!\n" * 20_000,
    "nested.py": "".join(f"{' ' * depth}class C{depth}:\n" for depth in range(900)),
    "one_line.js": "a=1;" * 250_000,
    "flat.py": "def f(): pass\n" * 3_000,
    "surrogate.py": "x = '\ud800'\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_covered_whole_and_cost_no_more_than_their_length(name: str) -> None:
    text = HOSTILE[name]
    found = outline_source(text, name)
    assert "".join(each.text for each in found.chunks) == text
    assert max(len(each.text) - each.text.count(" ") for each in found.chunks) <= LONGEST_LINE
    assert len(found.symbols) <= 20_000
    assert max((len(each.qualified) for each in found.symbols), default=0) <= 200


def test_symbols_in_symbols_have_names_that_do_not_grow_with_the_file() -> None:
    found = outline_source(HOSTILE["nested.py"], "nested.py")
    assert len(found.symbols) == 16
    assert found.symbols[-1].qualified.count(".") == 15
