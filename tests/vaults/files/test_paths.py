"""Faults 84, 86, 87 and 64: what a path may say, what may be created, which names are one."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.errors import InvalidArgument
from vaults.files.paths import check_creatable, collision_key, conflict_path, is_note, normalize_path, to_note_path

CLIMBING = [
    "..",
    "../a.md",
    "a/../b.md",
    "a/..",
    "./a.md",
    "a/./b.md",
    ".",
    "%2e%2e/a.md",
    "a/%2E%2E/b.md",
    "..%2fa.md",
    "a%2f..%2f..%2fb.md",
    "%252e%252e/a.md",
    "%25252e%25252e%25252fa.md",
    "..%5ca.md",
    "..\\a.md",
    "a\\b.md",
    "/etc/passwd",
    "/",
    "//a.md",
    "a//b.md",
    "a//",
    "~",
    "~/a.md",
    "~root/a.md",
    "C:\\a.md",
    "\\\\server\\share",
    "a\x00.md",
    "a\n.md",
    "a\r.md",
    "a\x1b[31m.md",
    "a\x7f.md",
    "a\x85.md",
    "a\u2028.md",
    "\ud800.md",
    "",
    ".git/config",
    "a/.git/hooks/x",
    ".md",
    "a/.md",
    "\uff0e\uff0e/a.md",
    "a/\uff0e/b.md",
    "a/\u2025/b.md",
    "git~1/config",
    "a/GIT~2/hooks/x",
    "strong~1/x.md",
    "a/" * 64 + "b.md",
    "x" * 1025,
    "é" * 513,
]

ODD_BUT_READABLE = [
    "a:b?.md",
    "CON.md",
    "a .md",
    " a.md",
    "-a.md",
    "~a.md",
    "a..md",
    "a...b/c.md",
    "100%.md",
    "x" * 300,
]
UNCREATABLE = [
    "draft~1.md",
    "PROGRA~1/a.md",
    "\uff0egit/a.md",
    "a\uff0e/b.md",
    "a]]b.md",
    "[[a/b.md",
    "CON",
    "con.md",
    "a/Nul.txt.md",
    "COM1.md",
    "lpt¹.md",
    "aux .md",
    "CONIN$",
    "a./b.md",
    "a.md.",
    "a.md ",
    " a.md",
    "folder /a.md",
    "\u00a0a.md",
    "a:b.md",
    "a?.md",
    "a*.md",
    'a".md',
    "<a>.md",
    "a|b.md",
    "-rf.md",
    "a/-b.md",
    "x" * 253 + ".md",
    "é" * 127 + ".md",
    "a\u202eb.md",
    "a\u200bb.md",
    "a\u2066b.md",
    "\ufeffa.md",
    "a\u00adb.md",
    "a\u200db.md",
    "a\u200cb.md",
    "x\u200d.md",
    "a\U000e0041.md",
]
CREATABLE = [
    "note.md",
    "a/b c/note.md",
    "console.md",
    "com10.md",
    "x" * 252 + ".md",
    "日本語/ノート.md",
    "عربي.md",
    "می\u200cخواهم.md",
    "क\u094d\u200dष.md",
    "👨\u200d👩\u200d👧 family.md",
    "❤\ufe0f\u200d🔥.md",
    "C#, C++ & co (1).md",
    "2026-11-21.md",
    "cafe\u0301.md",
]


@pytest.mark.parametrize("text", CLIMBING, ids=ascii)
def test_a_path_that_could_mean_another_place_is_refused(text: str) -> None:
    for rule in (normalize_path, to_note_path, check_creatable):
        with pytest.raises(InvalidArgument) as caught:
            rule(text)
        assert caught.value.details["field"] == "path"


@pytest.mark.parametrize("text", ODD_BUT_READABLE, ids=ascii)
def test_names_that_exist_elsewhere_can_be_read_but_not_made(text: str) -> None:
    assert normalize_path(text) == text


@pytest.mark.parametrize("text", UNCREATABLE, ids=ascii)
def test_a_name_that_some_system_refuses_or_hides_is_not_creatable(text: str) -> None:
    with pytest.raises(InvalidArgument):
        check_creatable(text)


@pytest.mark.parametrize("text", CREATABLE, ids=ascii)
def test_ordinary_names_of_any_language_are_creatable(text: str) -> None:
    check_creatable(text)
    assert to_note_path(text) == text


def test_a_notes_suffix_is_appended_once() -> None:
    assert to_note_path("a/b") == "a/b.md"
    assert to_note_path("2024.10") == "2024.10.md"
    assert to_note_path("a.MD") == "a.MD"
    assert to_note_path("a.markdown") == "a.markdown"
    assert normalize_path("folder/") == "folder"
    with pytest.raises(InvalidArgument):
        to_note_path("folder/")
    with pytest.raises(InvalidArgument):
        to_note_path("x" * 1023)
    assert is_note("a.Md")
    assert not is_note("a.mdx")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Note.md", "note.MD", True),
        ("caf\u00e9.md", "cafe\u0301.md", True),
        ("CAF\u00c9.md", "cafe\u0301.md", True),
        ("straße.md", "STRASSE.md", True),
        ("\u212angstrom.md", "kngstrom.md", True),
        ("Σίσυφος.md", "ΣΊΣΥΦΟΣ.md", True),
        ("İ.md", "i\u0307.md", True),
        ("İ.md", "i.md", False),  # no locale: the Turkish dotless and dotted letters are four
        ("ı.md", "i.md", False),
        ("a b.md", "ab.md", False),
    ],
)
def test_names_are_one_whatever_their_case_and_normal_form(one: str, other: str, same: bool) -> None:
    assert (collision_key(one) == collision_key(other)) is same


@given(st.text())
def test_identity_is_stable(text: str) -> None:
    assert collision_key(collision_key(text)) == collision_key(text)
    for form in ("NFC", "NFD"):
        assert collision_key(unicodedata.normalize(form, text)) == collision_key(text)
    assert collision_key(text.casefold()) == collision_key(text)


@given(st.text(alphabet=st.sampled_from("./\\~%2eEfF5cC aé\x00\n\u202e-"), max_size=30))
def test_whatever_is_let_through_stays_inside(text: str) -> None:
    try:
        path = normalize_path(text)
    except InvalidArgument:
        return
    assert path == normalize_path(path)
    assert not set(path.split("/")) & {"", ".", ".."}
    assert "\\" not in path


@given(st.text(min_size=1, max_size=300))
def test_the_copy_of_a_conflict_has_a_name_that_fits(text: str) -> None:
    moment = datetime(2026, 11, 21, 22, 43, 48, tzinfo=UTC)
    name = text.replace("/", "").replace("\0", "") or "x"
    for suffix in (".md", ""):
        try:
            copy = conflict_path(f"folder/{name}{suffix}", moment, 2)
        except UnicodeEncodeError:
            continue
        assert copy.startswith("folder/")
        assert ".conflict-20261121T224348Z-2" in copy
        if len(name.encode(errors="replace")) < 200:
            assert len(copy.removeprefix("folder/").encode(errors="replace")) <= 255
    assert conflict_path("a/plan.md", moment) == "a/plan.conflict-20261121T224348Z.md"
