"""Links set in any text: nothing is added but links, nothing protected is touched, and once is enough."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.vaults.graph.named import gazetteer, note
from tests.work import examples
from vaults.graph.names.autolinks import AutolinkedText, AutolinkOptions, add_links
from vaults.graph.names.implicit_names import PATTERNS
from vaults.markdown.link import Link
from vaults.markdown.link_resolution import LinkTarget, resolve_link
from vaults.markdown.links import find_links
from vaults.markdown.protected_spans import find_protected, merge_spans, overlaps_any
from vaults.markdown.scan import scan

NOTES = (
    note("people/Alice Smith.md", "Ali", "Al"),
    note("Kubernetes.md", "k8s"),
    note("C++.md"),
    note("NET.md", ".NET"),
    note("C#.md", "csharp"),
    note("a/Dup.md", "First Dup"),
    note("b/Dup.md"),
    note("a/Own.md", "Owner"),
    note("東京.md"),
    note("Straße.md"),
    note("Caf\u00e9.md"),
    note("API/global.md", "API/global"),
    note("Foo [x].md", "Fool"),
    note("O'Reilly.md"),
    note("Go.md"),
    note("IT.md"),
    note("Foo.md"),
    note("foo/Foo Bar.md"),
    note("a`b.md", "Tick"),
    note("50%% x.md", "Percent"),
    note("$5.md", "Fiver"),
    note("A|B.md"),
    note("x^y.md", "Caret"),
)
KNOWN = gazetteer(*NOTES)
CANDIDATES = [LinkTarget(path, title, aliases) for path, title, aliases in NOTES]

NAMES = [name for path, title, aliases in NOTES for name in (title, *aliases)]
SPELLED = [*NAMES, *(name.lower() for name in NAMES), *(name.upper() for name in NAMES), "Cafe\u0301", "straſse"]
MARKUP = [
    *"[]()|\\`!#*_~<>{}$^%@:/'\"-+=.,&",
    "[[",
    "]]",
    "](",
    "][",
    "![[",
    "\\[",
    "``",
    "```\n",
    "~~~\n",
    "%%",
    "$$",
    "{{",
    "}}",
    "<!--",
    "-->",
    "<a>",
    "</a>",
    "<b>",
    "<div>\n",
    "</div>\n",
    "---\n",
    "***\n",
    "# ",
    "## ",
    "> ",
    "- ",
    "1. ",
    "- [ ] ",
    "[^1]",
    "[^1]: ",
    "[x]: ",
    "https://",
    "www.",
    "a@",
    "#tag",
    ":: ",
    " ^id",
    "|a|b|\n|-|-|\n",
    "| ",
    " | ",
    "    ",
    "\t",
    "[[Foo]]",
    "[[Foo|k8s]]",
    "![[Go]]",
    "[t](Foo.md)",
    "[t](https://x.y/Foo)",
    "[Foo][x]",
]
BLANKS = [" ", " ", " ", "\n", "\n\n", "\r\n", "\r\n\r\n", "\r", "\u00a0", "", ". ", ", "]
PIECE = st.sampled_from(SPELLED) | st.sampled_from(SPELLED) | st.sampled_from(MARKUP) | st.sampled_from(BLANKS)
FRONT = st.sampled_from(["", "", "", "---\na: Foo\n---\n", "---\r\nx: [[Go]]\r\n---\r\n", "---\naliases: [Foo]\n---\n"])
WORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=4)
TEXT = st.tuples(FRONT, st.lists(PIECE | st.sampled_from(BLANKS) | WORDS, max_size=30).map("".join)).map("".join)
WISH = st.builds(AutolinkOptions, st.sampled_from(["a/Own.md", "new.md", "b/Foo.md"]), every=st.booleans(),
                 implicit=st.sampled_from([(), PATTERNS]))  # fmt: skip


def is_old(found: Link, shift: int, before: dict[int, Link]) -> bool:
    old = before.get(found.start - shift)
    return old is not None and old.end + shift == found.end and old.target == found.target


def taken_out(before: str, done: AutolinkedText) -> tuple[str, list[tuple[int, int]], list[Link]]:
    """The text without the links that were not there before; where each stood in the old text; those links."""
    old = {each.start: each for each in find_links(scan(before), before)}
    parts, spans, new = [], [], []
    at = shift = 0
    for each in find_links(scan(done.text), done.text):
        if is_old(each, shift, old):
            continue
        whole = done.text[each.start : each.end]
        words = whole[2:-2].partition("|")[2] or whole[2:-2]
        parts += (done.text[at : each.start], words)
        spans.append((each.start - shift, each.start - shift + len(words)))
        at, shift = each.end, shift + len(whole) - len(words)
        new.append(each)
    return "".join((*parts, done.text[at:])), spans, new


@settings(max_examples=examples(300), deadline=None)
@given(TEXT, WISH)
@example("[[ Foo", AutolinkOptions("new.md"))
@example("!Foo \\Foo Foo(x) Foo[x] [Foo Foo] Foo", AutolinkOptions("new.md", every=True))
@example("|a|b|\n|-|-|\n|k8s|Kubernetes|\n", AutolinkOptions("new.md", every=True))
@example("Foo\r\n---\r\nFoo\r\n", AutolinkOptions("new.md"))
def test_any_text_is_what_it_was_but_for_links(text: str, wish: AutolinkOptions) -> None:
    done = add_links(text, KNOWN, wish)
    without, spans, new = taken_out(text, done)
    assert without == text
    zones = find_protected(text)
    assert not any(overlaps_any(zones, start, end) for start, end in spans)
    assert len(new) == len(done.linked)
    own = LinkTarget(wish.path, None, ())
    for link, said in zip(new, done.linked, strict=True):
        assert link.line == said.line
        if said.target != said.term:
            assert resolve_link(link, wish.path, [*CANDIDATES, own]) == said.target != wish.path
    if not wish.every:
        assert len({each.target for each in done.linked}) == len(done.linked)
    again = add_links(done.text, KNOWN, wish)
    assert (again.text, again.linked) == (done.text, [])


@settings(max_examples=examples(200), deadline=None)
@given(TEXT, st.integers(0, 200), st.integers(0, 200))
def test_nothing_outside_of_what_was_written_changes(text: str, one: int, other: int) -> None:
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    done = add_links(text, KNOWN, AutolinkOptions("new.md", within=((start, end),), every=True))
    assert done.text.startswith(text[:start])
    assert done.text.endswith(text[end:])


@settings(max_examples=examples(200), deadline=None)
@given(TEXT, st.lists(st.tuples(st.integers(0, 200), st.integers(0, 60)), max_size=4), WISH)
def test_what_is_linked_in_parts_is_what_is_linked_there_in_the_whole(
    text: str, parts: list[tuple[int, int]], wish: AutolinkOptions
) -> None:
    within = tuple((min(start, len(text)), min(start + size, len(text))) for start, size in parts)
    every = replace(wish, every=True, implicit=())
    whole, _, _ = taken_out(text, add_links(text, KNOWN, every))
    assert whole == text
    all_of_it = taken_out(text, add_links(text, KNOWN, every))[1]
    spans = taken_out(text, add_links(text, KNOWN, replace(every, within=within)))[1]
    united_ones = merge_spans(within, len(text))
    inside = [each for each in all_of_it if any(start <= each[0] and each[1] <= end for start, end in united_ones)]
    assert spans == inside
