"""Every link that means a note before a move means it after, and nothing else of any text changes.

Covers vaults.domain.notes.edit.link_spelling.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.work import examples
from vaults.domain.notes.edit.link_rewrites import LinkRewriter, NoteMove
from vaults.domain.notes.edit.link_spelling import note_name
from vaults.errors import InvalidArgument
from vaults.files.paths import collision_key
from vaults.markdown.link_resolution import LinkTarget, resolve_link
from vaults.markdown.parser import parse

FOLDERS = ("", "a", "b", "a/b", "c d", "Ünï")
NAMES = ("One", "Two", "Index", "x (1)", "50% & more", "It's", "ü", "note.v2")
SUFFIXES = (".md", ".md", ".md", ".MD", ".markdown")

paths = st.builds(
    lambda folder, stem, suffix: f"{folder}/{stem}{suffix}".lstrip("/"),
    st.sampled_from(FOLDERS),
    st.sampled_from(NAMES),
    st.sampled_from(SUFFIXES),
)
prefixes = st.sampled_from(("", "", "", "./", "../", "/", "a/", "b/", "a/b/", "../a/", "c d/"))
endings = st.sampled_from(("", "", ".md", ".markdown"))
names = st.sampled_from((*NAMES, "one", "A title", "Also", "TWO", "absent"))
anchors = st.sampled_from(("", "#Part", "#^id", "#"))


def _wiki(prefix: str, called: str, ending: str, anchor: str, alias: str) -> str:
    return f"[[{prefix}{called}{ending}{anchor}{alias}]]"


def _markdown(prefix: str, called: str, ending: str, anchor: str, alias: str) -> str:
    plain = f"{prefix}{called}{ending}".replace("%", "%25")
    if alias:
        return f"[text](<{plain}{anchor}>)"
    return f"[text]({plain.replace(' ', '%20').replace('(', '%28').replace(')', '%29')}{anchor})"


def _definition(prefix: str, called: str, ending: str, anchor: str, _: str) -> str:
    return f"\n\n[label]: <{prefix}{called.replace('%', '%25')}{ending}{anchor}>\n\n"


aliases = st.sampled_from(("", "", "|words", "|a [b] c"))
links = st.builds(
    lambda make, *parts: make(*parts),
    st.sampled_from((_wiki, _wiki, _markdown, _definition)),
    prefixes, names, endings, anchors, aliases,
)  # fmt: skip
heads = st.sampled_from(
    (
        "",
        "# A title\n",
        "# Two\n\n",
        '---\naliases: [Also]\nup: "[[One]]"\n---\n',
        '---\ntitle: Index\nup: "[[a/Two|t]]"\n---\n',
        "\r\n",
    )
)
fillers = st.sampled_from(
    (" ", "\n", "\r\n", "\n- ", "\n> ", " `[[One]]` ", "\n```\n[[One]]\n```\n", "| a |\n", "ß é ")
)
bodies = st.builds(
    lambda head, parts: head + "".join(f"{filler}{link}" for filler, link in parts),
    heads,
    st.lists(st.tuples(fillers, links), max_size=6),
)


@st.composite
def vaults(draw: st.DrawFn) -> tuple[dict[str, str], str, str]:
    texts: dict[str, str] = {}
    for path in draw(st.lists(paths, min_size=2, max_size=7)):
        if collision_key(path) not in {collision_key(each) for each in texts}:
            texts[path] = draw(bodies)
    old, new = draw(st.sampled_from(sorted(texts))), draw(paths)
    assume(new != old and collision_key(new) not in {collision_key(each) for each in texts if each != old})
    return texts, old, new


def _candidates(texts: dict[str, str]) -> list[LinkTarget]:
    found = []
    for path, text in texts.items():
        read = parse(text)
        found.append(LinkTarget(path, read.title or note_name(path), read.aliases))
    return found


def _moved(texts: dict[str, str], old: str, new: str) -> dict[str, str]:
    before = {each.path: each for each in _candidates(texts)}
    read = parse(texts[old])
    relinking = LinkRewriter(
        NoteMove(before[old], LinkTarget(new, read.title or note_name(new), read.aliases)), list(before.values())
    )
    return {new if path == old else path: relinking.rewrite(text, path).text for path, text in texts.items()}


def _without_targets(text: str) -> str:
    parts, at = [], 0
    for link in parse(text).links:
        parts.append(text[at : link.target_start])
        at = link.target_end
    return "\0".join([*parts, text[at:]])


@settings(max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck))
@given(vaults())
def test_links_mean_after_a_move_what_they_meant_before(case: tuple[dict[str, str], str, str]) -> None:
    texts, old, new = case
    after = _moved(texts, old, new)
    was, now = _candidates(texts), _candidates(after)
    for path, text in texts.items():
        there = new if path == old else path
        assert _without_targets(after[there]) == _without_targets(text)
        for link, spelled in zip(parse(text).links, parse(after[there]).links, strict=True):
            meant = resolve_link(link, path, was)
            if meant is None:
                assert spelled.target == link.target
            else:
                wanted = new if meant == old else meant
                assert resolve_link(spelled, there, now) == wanted, (path, link.target, spelled.target)
            assert (spelled.heading, spelled.block, spelled.alias, spelled.embed) == (
                link.heading, link.block, link.alias, link.embed,
            )  # fmt: skip


CASES = [
    # what stands there, where, moved from → to, what stands there then
    ("[[Foo]]", "x.md", "a/Foo.md", "b/Foo.md", "[[Foo]]"),
    ("[[Foo]]", "x.md", "a/Foo.md", "a/Bar.md", "[[Bar]]"),
    ("[[foo|F]] ![[Foo#H]] [[Foo#^b|x]]", "x.md", "a/Foo.md", "Bar.md", "[[Bar|F]] ![[Bar#H]] [[Bar#^b|x]]"),
    ("| [[Foo\\|F]] |", "x.md", "Foo.md", "Bar.md", "| [[Bar\\|F]] |"),
    ("[[a/Foo]] [[a/Foo.md]]", "x.md", "a/Foo.md", "b/Bar.md", "[[b/Bar]] [[b/Bar.md]]"),
    ("[[b/Foo]]", "x.md", "a/b/Foo.md", "c/d/Foo.md", "[[d/Foo]]"),
    ("[[./Foo]] [[../a/Foo]]", "a/x.md", "a/Foo.md", "b/Foo.md", "[[../b/Foo]] [[../b/Foo]]"),
    ("[f](Foo.md) [f](<Foo.md>)", "x.md", "Foo.md", "a b/F o.md", "[f](a%20b/F%20o.md) [f](<a b/F o.md>)"),
    ("[f](Foo.md#a%20b)", "a/x.md", "a/Foo.md", "b/Foo.md", "[f](../b/Foo.md#a%20b)"),
    ("[f](../Foo.md 'title')", "a/x.md", "Foo.md", "a/Foo.md", "[f](Foo.md 'title')"),
    ("[f](Gr%C3%BC.md)", "x.md", "Grü.md", "Grö.md", "[f](Gr%C3%B6.md)"),
    ("[f](Grü.md)", "x.md", "Grü.md", "Grö.md", "[f](Grö.md)"),
    ("[f](Foo.md)", "a/x.md", "a/Foo.md", "Foo.md", "[f](../Foo.md)"),
    ("[f](Foo)", "x.md", "Foo.md", "a/Foo.md", "[f](a/Foo)"),
    ("[f](/Foo.md)", "a/x.md", "Foo.md", "b/Foo.md", "[f](/b/Foo.md)"),
    ("[f](./Foo.md)", "x.md", "Foo.md", "100%25.md", "[f](./100%2525.md)"),
    ("[f]: Foo.md", "x.md", "Foo.md", "Bar.md", "[f]: Bar.md"),
    ('---\nup: "[[Foo]]"\n---\n', "x.md", "Foo.md", "Bar.md", '---\nup: "[[Bar]]"\n---\n'),
    ("`[[Foo]]`\n```\n[[Foo]]\n```\n", "x.md", "Foo.md", "Bar.md", "`[[Foo]]`\n```\n[[Foo]]\n```\n"),
    ("%% [[Foo]] %% <!-- [[Foo]] -->", "x.md", "Foo.md", "Bar.md", "%% [[Bar]] %% <!-- [[Bar]] -->"),
    ("[[Foo]]", "x.md", "foo.md", "Foo.md", "[[Foo]]"),
    ("[[foo]] [f](foo.md)", "x.md", "foo.md", "Foo.md", "[[Foo]] [f](Foo.md)"),
]


@pytest.mark.parametrize(("text", "source", "old", "new", "wanted"), CASES)
def test_a_link_keeps_the_style_it_was_written_in(text: str, source: str, old: str, new: str, wanted: str) -> None:
    move = NoteMove(LinkTarget(old, note_name(old)), LinkTarget(new, note_name(new)))
    assert LinkRewriter(move, [LinkTarget(source, note_name(source))]).rewrite(text, source).text == wanted


def test_a_link_by_title_or_alias_stays() -> None:
    move = NoteMove(LinkTarget("a.md", "The Title", ("Nick",)), LinkTarget("b.md", "The Title", ("Nick",)))
    relinking = LinkRewriter(move, [])
    assert relinking.rewrite("[[The Title]] [[nick]] [[a]]", "x.md").text == "[[The Title]] [[nick]] [[b]]"


def test_a_link_by_file_name_follows_even_where_the_title_is_the_same() -> None:
    move = NoteMove(LinkTarget("Hub.md", "Hub"), LinkTarget("Centre.md", "Hub"))
    assert LinkRewriter(move, []).rewrite("[[Hub]]", "x.md").text == "[[Centre]]"


def test_a_bare_name_that_would_be_ambiguous_is_spelled_out() -> None:
    move = NoteMove(LinkTarget("a/Foo.md", "Foo"), LinkTarget("b/Bar.md", "Bar"))
    others = [LinkTarget("c/Bar.md", "Bar"), LinkTarget("c/b/Bar.md", "Bar")]
    assert LinkRewriter(move, others).rewrite("[[Foo]]", "x.md").text == "[[b/Bar]]"


def test_a_link_to_another_note_that_the_new_name_would_catch_is_spelled_out() -> None:
    move = NoteMove(LinkTarget("a/Foo.md", "Foo"), LinkTarget("b/Bar.md", "Bar"))
    relinking = LinkRewriter(move, [LinkTarget("c/Bar.md", "Bar")])
    assert relinking.rewrite("[[Bar]] and [[bar|B]]", "x.md").text == "[[c/Bar]] and [[c/Bar|B]]"


def test_files_beside_a_note_are_found_from_its_new_folder() -> None:
    move = NoteMove(LinkTarget("a/Foo.md", "Foo"), LinkTarget("b/c/Foo.md", "Foo"))
    relinking = LinkRewriter(move, [])
    there = {"a/img 1.png", "z.pdf", "a/sub/y.png"}
    text = "![i](img%201.png) [z](../z.pdf) [gone](nothing.png) ![[img 1.png]] ![[sub/y.png]] [w](https://a.b/c) [[#h]]"
    assert relinking.rewrite(text, "a/Foo.md", there.__contains__).text == (
        "![i](../../a/img%201.png) [z](../../z.pdf) [gone](nothing.png) ![[img 1.png]] ![[../../a/sub/y.png]]"
        " [w](https://a.b/c) [[#h]]"
    )


@pytest.mark.parametrize("new", ["a#b.md", "a[b.md", "a]b.md"])
def test_a_name_that_no_wiki_link_can_spell_is_refused(new: str) -> None:
    relinking = LinkRewriter(NoteMove(LinkTarget("Foo.md", "Foo"), LinkTarget(new, note_name(new))), [])
    with pytest.raises(InvalidArgument, match="to"):
        relinking.rewrite("[[Foo]]", "x.md")
    assert relinking.rewrite("[f](Foo.md)", "x.md").count == 1


def test_a_name_that_would_end_a_quoted_value_is_refused() -> None:
    relinking = LinkRewriter(NoteMove(LinkTarget("Foo.md", "Foo"), LinkTarget("It's.md", "It's")), [])
    with pytest.raises(InvalidArgument, match="frontmatter"):
        relinking.rewrite("---\nup: '[[Foo]]'\n---\n", "x.md")
