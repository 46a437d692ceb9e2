"""How a link that is set is written, and where none is."""

from __future__ import annotations

import pytest

from tests.vaults.graph.named import gazetteer, note
from tests.work import assert_linear
from vaults.graph.names.autolinks import AutolinkOptions, ChosenLink, add_chosen_links, add_links
from vaults.graph.names.gazetteer import Gazetteer

KNOWN = gazetteer(
    note("people/Alice Smith.md", "Ali"),
    ("slug-of-it.md", "The Long Title", ()),
    note("a/Same.md", "Premier"),
    note("b/Same.md", "Second"),
    note("C#.md", "Csharp"),
    ("self.md", "Me Myself", ("Moi",)),
    note("Kubernetes.md"),
    note("x/Kube Pod.md"),
    note("new/Kube Pod.md", "Pod of new"),
)


def done(text: str, path: str = "new.md") -> str:
    return add_links(text, KNOWN, AutolinkOptions(path)).text


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("Kubernetes", "[[Kubernetes]]"),
        ("kubernetes", "[[Kubernetes|kubernetes]]"),
        ("Ali's", "[[Alice Smith|Ali]]'s"),
        ("the long title", "[[slug-of-it|the long title]]"),
        ("Premier and Second", "[[a/Same|Premier]] and [[b/Same|Second]]"),
        ("Same", "Same"),
        ("Csharp", "Csharp"),  # no link can name the file
        ("- Kubernetes\n> Ali", "- [[Kubernetes]]\n> [[Alice Smith|Ali]]"),
        ("**Kubernetes**, _Ali_", "**[[Kubernetes]]**, _[[Alice Smith|Ali]]_"),
        ("|a|\n|-|\n| Ali, Kubernetes |", "|a|\n|-|\n| [[Alice Smith\\|Ali]], [[Kubernetes]] |"),
        ("a | Ali\n", "a | [[Alice Smith|Ali]]\n"),
        ("!Ali \\Ali Ali(x) Ali[x] [Ali] [x Ali", "!Ali \\Ali Ali(x) Ali[x] [Ali] [x [[Alice Smith|Ali]]"),
    ],
)
def test_the_text_reads_as_before_and_the_link_leads_to_the_note(text: str, linked: str) -> None:
    assert done(text) == linked


def test_a_note_links_neither_itself_nor_a_name_it_goes_by() -> None:
    assert done("Me Myself, moi, self", "self.md") == "Me Myself, moi, self"
    assert done("# Kubernetes\n\nKubernetes", "other.md") == "# Kubernetes\n\nKubernetes"
    assert done("---\naliases: [Ali]\n---\nAli") == "---\naliases: [Ali]\n---\nAli"


def test_a_target_is_spelled_out_where_the_new_note_shares_its_name() -> None:
    assert done("Pod of new", "y/Kube Pod.md") == "[[new/Kube Pod|Pod of new]]"
    assert done("Ali", "z/Alice Smith.md") == "[[people/Alice Smith|Ali]]"


@pytest.mark.parametrize("said", ["auto_link: false", "auto_link: no", 'auto_link: "Off"'])
def test_a_note_that_says_so_is_left_alone(said: str) -> None:
    text = f"---\n{said}\n---\nKubernetes"
    assert done(text) == text
    assert done("---\nauto_link: true\n---\nKubernetes").endswith("[[Kubernetes]]")


def test_what_is_linked_by_any_of_its_names_is_linked_already() -> None:
    for link in ("[[Ali]]", "[x](people/Alice%20Smith.md)", "![[people/alice smith]]", "<!-- [[Alice Smith]] -->"):
        assert done(f"{link} Alice Smith") == f"{link} Alice Smith"


def test_chosen_places_are_linked_once_each_and_only_where_they_may() -> None:
    text = "pods run in kube and `kube`, kube"
    wanted = [
        ChosenLink(12, 16, "Kubernetes.md"),
        ChosenLink(22, 26, "Kubernetes.md"),
        ChosenLink(29, 33, "Kubernetes.md"),
        ChosenLink(0, 4, "x/Kube Pod.md"),
        ChosenLink(2, 7, "slug-of-it.md"),
        ChosenLink(5, 8, "gone.md"),
    ]
    made = add_chosen_links(text, KNOWN, AutolinkOptions("new.md"), wanted)
    assert made.text == "[[x/Kube Pod|pods]] run in [[Kubernetes|kube]] and `kube`, kube"
    assert [each.target for each in made.linked] == ["x/Kube Pod.md", "Kubernetes.md"]


def test_suppressed_names_get_no_link() -> None:
    wish = AutolinkOptions("new.md", suppressed=frozenset({"alice smith"}))
    assert add_links("Ali, Kubernetes", KNOWN, wish).text == "Ali, [[Kubernetes]]"


SHAPES = {
    "brackets": lambda n: "[" * n,
    "nested": lambda n: "[a [b " * n,
    "long line": lambda n: "Ali " * n,
    "links": lambda n: "[[Ali]] " * n,
    "tables": lambda n: "|a|b|\n|-|-|\n" * n,
    "rows": lambda n: "| Ali | x |\n|-|-|\n" + "| Kubernetes |\n" * n,
    "urls": lambda n: "://Ali" * n,
    "mail": lambda n: "Ali@" * n,
    "anchors": lambda n: "<a>Ali " * n,
    "quotes": lambda n: '"Ali Foo' * n,
    "capitals": lambda n: "Ali Foo " * n,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_hostile_texts_take_linear_time(shape: str) -> None:
    wish = AutolinkOptions("new.md", every=True, implicit=("proper-nouns", "quoted-terms", "single-caps"))
    assert_linear(lambda text: add_links(text, KNOWN, wish), SHAPES[shape], 2_000)


def test_many_notes_of_one_name_are_linked_by_their_paths_in_linear_time() -> None:
    def known(chapters: int) -> Gazetteer:
        return gazetteer(*((f"{n}/index.md", f"Chapter {n}x", ()) for n in range(chapters)))

    def text(chapters: int) -> str:
        return ", ".join(f"Chapter {n}x" for n in range(0, chapters, 10))

    few, many = text(400), known(3_200)
    assert_linear(lambda names: add_links(few, names, AutolinkOptions("new.md")), known, 400)
    assert_linear(lambda of: add_links(of, many, AutolinkOptions("new.md")), text, 400)
    made = add_links(text(3_000), many, AutolinkOptions("new.md"))
    assert made.text.startswith("[[0/index|Chapter 0x]], [[10/index|Chapter 10x]]")
    assert len(made.linked) == 300
