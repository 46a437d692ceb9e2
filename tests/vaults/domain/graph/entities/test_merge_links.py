"""When a note becomes part of another, every link that meant it means that one, and no other means anything else.

Covers vaults.markdown.link.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.vaults.domain.notes.edit.test_link_rewrites import bodies, paths
from tests.work import assert_linear, examples
from vaults.domain.graph.entities.merge_links import MergeRelinker
from vaults.domain.notes.edit.link_spelling import note_name
from vaults.files.paths import collision_key
from vaults.markdown.link import Link
from vaults.markdown.link_resolution import LinkTarget, resolve_link
from vaults.markdown.parser import parse


@st.composite
def vaults(draw: st.DrawFn) -> tuple[dict[str, str], str, str]:
    texts: dict[str, str] = {}
    for path in draw(st.lists(paths, min_size=3, max_size=7, unique_by=collision_key)):
        texts[path] = draw(bodies)
    gone, into = draw(st.lists(st.sampled_from(sorted(texts)), min_size=2, max_size=2, unique=True))
    return texts, gone, into


def _candidate(path: str, text: str) -> LinkTarget:
    read = parse(text)
    return LinkTarget(path, read.title or note_name(path), read.aliases)


def _joining(texts: dict[str, str], gone: str, into: str) -> MergeRelinker:
    notes = {path: _candidate(path, text) for path, text in texts.items()}
    going, staying = notes[gone], notes[into]
    after = replace(staying, aliases=(*staying.aliases, going.title or "", note_name(gone), *going.aliases))
    return MergeRelinker(going, staying, after, list(notes.values()))


def _rest(text: str) -> str:
    """The text but for the inside of its links."""
    parts, at = [], 0
    for link in sorted(parse(text).links, key=lambda each: each.target_start):
        stop = link.end if link.kind != "markdown" else link.target_end
        if link.target_start >= at:
            parts.append(text[at : link.target_start])
            at = stop
    return "\0".join([*parts, text[at:]])


def _shown(link: Link) -> str:
    return link.alias or (link.target if link.kind == "wiki" else "")


@settings(max_examples=examples(80), deadline=None, suppress_health_check=list(HealthCheck))
@given(vaults())
def test_links_mean_the_note_that_stays_and_all_else_is_as_it_was(case: tuple[dict[str, str], str, str]) -> None:
    texts, gone, into = case
    joining = _joining(texts, gone, into)
    was = [_candidate(path, text) for path, text in texts.items()]
    now = [each for each in was if each.path not in (gone, into)] + [joining.after]
    for path, text in texts.items():
        new = joining.rewrite(text, path)
        there = into if path == gone else path
        assert _rest(new.text) == _rest(text)
        for link, spelled in zip(parse(text).links, parse(new.text).links, strict=True):
            meant = resolve_link(link, path, was)
            if meant is None:
                assert spelled.target == link.target
                continue
            assert resolve_link(spelled, there, now) == (into if meant == gone else meant), (path, link, spelled)
            assert (spelled.heading, spelled.block, spelled.embed) == (link.heading, link.block, link.embed)
            if meant != gone and path != gone:
                assert text[link.start : link.end] == new.text[spelled.start : spelled.end]
            elif link.alias or link.kind != "wiki" or link.embed:
                assert spelled.alias == link.alias
            elif link.target and meant == gone:
                assert note_name(link.target) in _shown(spelled)


CASES = [
    # what stands there, where, and what stands there once a/Foo.md (title "The Foo", alias "fu") is part of b/Bar.md
    ("[[Foo]]", "x.md", "[[Bar|Foo]]"),
    ("[[foo]] [[THE FOO]] [[fu]]", "x.md", "[[Bar|foo]] [[Bar|THE FOO]] [[Bar|fu]]"),
    ("[[Foo|words]] [[Foo|]]", "x.md", "[[Bar|words]] [[Bar|]]"),
    ("![[Foo]] ![[Foo#Part]]", "x.md", "![[Bar]] ![[Bar#Part]]"),
    ("[[Foo#Part]] [[Foo#^id]]", "x.md", "[[Bar#Part|Foo > Part]] [[Bar#^id|Foo > ^id]]"),
    ("[[a/Foo]] [[a/Foo.md]]", "x.md", "[[b/Bar|Foo]] [[b/Bar.md|Foo]]"),
    ("[f](a/Foo.md) [f](<a/Foo.md#Part>)", "x.md", "[f](b/Bar.md) [f](<b/Bar.md#Part>)"),
    ("[see [[Foo]]](a/Foo.md)", "x.md", "[see [[Bar|Foo]]](b/Bar.md)"),
    ("| a | b |\n| - | - |\n| [[Foo]] | x |\n", "x.md", "| a | b |\n| - | - |\n| [[Bar\\|Foo]] | x |\n"),
    ('---\nup: "[[Foo]]"\n---\n', "x.md", '---\nup: "[[Bar]]"\n---\n'),
    ("`[[Foo]]` %% [[Foo]] %%", "x.md", "`[[Foo]]` %% [[Bar|Foo]] %%"),
    ("[[Foo]] [[Foo.", "b/Bar.md", "[[Bar|Foo]] [[Foo."),
    ("[[#Here]] [o](Other.md) ![p](pic.png)", "a/Foo.md", "[[#Here]] [o](../a/Other.md) ![p](../a/pic.png)"),
    ("[[Bar]] [[Other]] [[nowhere]]", "x.md", "[[Bar]] [[Other]] [[nowhere]]"),
]


@pytest.mark.parametrize(("before", "where", "after"), CASES)
def test_how_links_are_written(before: str, where: str, after: str) -> None:
    foo = LinkTarget("a/Foo.md", "The Foo", ("fu",))
    bar = LinkTarget("b/Bar.md", "Bar", ())
    there = replace(bar, aliases=("The Foo", "Foo", "fu"))
    joining = MergeRelinker(foo, bar, there, [foo, bar, LinkTarget("a/Other.md", "Other")])
    assert joining.rewrite(before, where, lambda path: path == "a/pic.png").text == after


def test_a_note_of_ten_thousand_links_is_rewritten_at_once() -> None:
    joining = _joining({"a/Foo.md": "", "b/Bar.md": "", "x.md": ""}, "a/Foo.md", "b/Bar.md")

    def rewritten(number: int) -> None:
        assert joining.rewrite("[[Foo]] and [[absent]]\n" * number, "x.md").count == number

    assert_linear(rewritten, lambda number: number, 1_250)
