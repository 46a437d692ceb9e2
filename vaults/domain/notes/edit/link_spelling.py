"""Spelling a link's target so that it means a note elsewhere, in the style of the old target. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from urllib.parse import quote

from vaults.files.paths import join_path
from vaults.markdown.link import Link
from vaults.markdown.link_resolution import SUFFIXES, fold_name

_NO_WIKI = re.compile(r"[\[\]|#\n\0]|^\s|\s$|\\$")
_ESCAPED_LETTERS = re.compile(r"%[89A-Fa-f][0-9A-Fa-f]")

# Characters a destination holds unescaped. Left out are those that this server, CommonMark or browsers interpret.
_BARE_CHARACTERS = "!$&'*+,-./;=@_~"
_BRACKETED_CHARACTERS = _BARE_CHARACTERS + ' ()"{}[]^'


def without_suffix(path: str) -> str:
    """A path or page without a note's suffix."""
    lower = path.lower()
    return next((path[: -len(each)] for each in SUFFIXES if lower.endswith(each) and len(path) > len(each)), path)


def note_name(path: str) -> str:
    """A note's file name without its suffix."""
    return without_suffix(path.rpartition("/")[2])


def resolve_relative(page: str, folder: str) -> str | None:
    """The path a relative page leads to from a folder; None if it is absolute, empty or outside the vault."""
    path = posixpath.normpath(join_path(folder, page))
    return None if page.startswith("/") or path in (".", "..") or path.startswith("../") else path


def is_link_to(page: str, folder: str, path: str) -> bool:
    """Whether a page, taken as relative to a folder, leads to the note at ``path``."""
    found = resolve_relative(page, folder)
    return found is not None and fold_name(without_suffix(found)) == fold_name(without_suffix(path))


def to_relative(page: str, folder: str, path: str) -> str:
    """``path`` relative to ``folder``, with a leading ``./`` if the page has one."""
    found = posixpath.relpath(path, folder or ".")
    return f"./{found}" if page.startswith("./") and not found.startswith("../") else found


def list_spellings(link: Link, folder: str, before: str, to: str, now_in: str) -> Iterator[str]:
    """Candidate targets for ``to`` from folder ``now_in``, closest to the old style first, for a link that meant
    ``before`` from ``folder``. The caller checks which of them resolve; the last ones are unambiguous."""
    whole = without_suffix(link.page) != link.page
    written = to if whole else without_suffix(to)
    if link.kind == "markdown":
        for page in (*_markdown_pages(link.page, folder, before, written, now_in), to, f"/{to}"):
            yield page
        return
    for page in (
        *_wiki_pages(link.page, folder, before, written, now_in),
        without_suffix(to),
        f"/{without_suffix(to)}",
        to,
        f"/{to}",
    ):
        if not _NO_WIKI.search(page):
            yield page


def _markdown_pages(page: str, folder: str, before: str, to: str, now_in: str) -> Iterator[str]:
    if page.startswith("/"):
        yield f"/{to}"
    elif not is_link_to(page, folder, before):
        yield to
    yield to_relative(page, now_in, to)
    yield to_relative("./", now_in, to)


def _wiki_pages(page: str, folder: str, before: str, to: str, now_in: str) -> Iterator[str]:
    parts = to.split("/")
    if page.startswith("/"):
        yield f"/{to}"
    elif page.startswith(("./", "../")):
        yield to_relative(page, now_in, to)
    elif "/" in page and fold_name(without_suffix(page)) == fold_name(without_suffix(before)):
        yield to
    elif "/" in page and is_link_to(page, folder, before):
        yield to_relative(page, now_in, to)
    else:
        least = min(2, len(parts)) if "/" in page else 1
        yield from ("/".join(parts[-count:]) for count in range(least, len(parts) + 1))


def encode_destination(page: str, written: str, *, bracketed: bool) -> str:
    """A page as a Markdown destination, between ``<`` and ``>`` or bare, percent-encoded as far as ``written`` was."""
    kept = _BRACKETED_CHARACTERS if bracketed else _BARE_CHARACTERS
    if not _ESCAPED_LETTERS.search(written):
        return "".join(each if each > "\x7f" and not each.isspace() else quote(each, safe=kept) for each in page)
    return quote(page, safe=kept)
