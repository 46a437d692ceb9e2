"""Where a text says a note's name: just so, in another form, spelt together or apart, with a slip.

Covers vaults.graph.names.common_words.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.vaults.graph.named import graph_of, note
from tests.work import assert_linear, examples
from vaults.graph.names.lexicon import Lexicon, compile_lexicon, find_sightings, scan_text, split_words
from vaults.markdown.protected_spans import find_protected


def lexicon(*names: str) -> Lexicon:
    return compile_lexicon(graph_of([note(f"{name}.md") for name in names]))


def seen(names: Lexicon, text: str) -> list[tuple[str, str, tuple[int, ...]]]:
    found = find_sightings(names, split_words(text, find_protected(text)))
    return [(text[each.start : each.end], each.kind, each.notes) for each in found]


@pytest.mark.parametrize(
    ("name", "text", "words", "kind"),
    [
        ("Space Lua", "we use space lua here", "space lua", "exact"),
        ("Slash Command", "Two slash commands follow", "slash commands", "stem"),
        ("Editor", "the editors edit", "editors", "stem"),
        ("turbopump", "a turbo-pump turns", "turbo-pump", "collapsed"),
        ("turbopump", "a turbo pump turns", "turbo pump", "collapsed"),
        ("turbo-pump", "a Turbopump turns", "Turbopump", "collapsed"),
        ("TurboPump", "the turbo pump", "turbo pump", "collapsed"),
        ("Kubernetes", "on Kuberntes we run", "Kuberntes", "fuzzy"),
        ("Object Index", "the objct index is", "objct index", "fuzzy"),
        ("Übersicht", "eine Übersichht davon", "Übersichht", "fuzzy"),
    ],
)
def test_a_name_is_seen_in_each_form(name: str, text: str, words: str, kind: str) -> None:
    assert seen(lexicon(name), text) == [(words, kind, (1,))]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Kubernetes", "kubelet and Kernel"),  # too far
        ("data", "the date is"),  # 3 of 4 letters
        ("10000", "10001 or 1000 0"),  # numbers hold no slips and are not spelt apart
        ("Kubernetes", "a Bubernetes"),  # slips are not looked for in a word's first letter
        ("Object Index", "an object. Index it"),  # another sentence begins between
        ("Object Index", "an object\n\nIndex it"),
        ("Space", "`Space` and [[Space]] and [x](Space) #Space"),
        ("Space", ""),
    ],
)
def test_what_is_something_else_is_not_taken_for_a_name(name: str, text: str) -> None:
    assert seen(lexicon(name), text) == []


def test_a_word_that_others_write_too_is_no_slip() -> None:
    names, said = lexicon("Kubernetes", "Server"), split_words("on Kuberntes we serve and served")
    assert [(each.notes, each.kind) for each in find_sightings(names, said)] == [((1,), "fuzzy")]
    assert find_sightings(names, said, {"kuberntes"}) == []


def test_the_longer_name_counts_and_the_one_written_just_so() -> None:
    names = lexicon("Page", "Page Template", "Tag", "Tags")
    assert seen(names, "Page templates have tags, a page has a tag") == [
        ("Page templates", "stem", (2,)),
        ("tags", "exact", (4,)),
        ("page", "exact", (1,)),
        ("tag", "exact", (3,)),
    ]


def test_namesakes_are_all_told() -> None:
    names = compile_lexicon(graph_of([note("a/Same.md"), note("b/Same.md"), note("Other.md", "same")]))
    assert seen(names, "the same") == [("same", "exact", (1, 2, 3))]


@pytest.mark.parametrize("name", ["C++", "(.*)+", "[a-z]", "", "   ", "$^", "\\d", "🦊", "a" * 5000, "x " * 2000])
def test_a_name_of_odd_signs_breaks_nothing(name: str) -> None:
    seen(lexicon(name or "-", "Other"), "C++ (.*)+ [a-z] $^ \\d 🦊 other " + "a" * 5000 + " x" * 3000)


def test_many_names_and_a_hostile_text_stay_quick() -> None:
    names = lexicon(*(f"name {number} of things" for number in range(3000)))

    def hostile(times: int) -> str:
        return ("name " * 4 * times) + ("nmae of thinsg " * times) + "-".join(["turbo"] * 4 * times)

    assert_linear(lambda text: seen(names, text), hostile, 500)


NAMES = lexicon("Space Lua", "Page", "Page Template", "turbo-pump", "Straße", "İstanbul", "ﬁle", "東京 都")


@settings(deadline=None, max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow])
@given(st.text(st.sampled_from("Space Lua page template turbo-pump Straße İﬁ東京 都\n.[]|`#é\u0301 "), max_size=200))
def test_sightings_are_in_order_apart_and_of_the_text(text: str) -> None:
    at = 0
    for each in find_sightings(NAMES, split_words(text)):
        assert at <= each.start < each.end <= len(text)
        assert each.notes
        assert 0.8 <= each.alike <= 1
        at = each.end


def test_the_quick_look_finds_the_same_notes() -> None:
    text = "[[Space Lua]] makes pages, a Page Template and Straße."
    assert scan_text(NAMES, text, {})[1] == {1, 2, 3, 5}
