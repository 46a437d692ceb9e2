"""Guesses what kind of thing a note is about from its folder, if the note does not say so. Pure."""

from __future__ import annotations

from vaults.graph.note_graph import Node
from vaults.markdown.link_resolution import fold_name

_FOLDERS = {
    "person": "people person persons contacts contact team crm authors family friends",
    "project": "projects project work",
    "organization": "companies company organizations organisations orgs clients customers vendors",
    "place": "places place locations location cities countries travel",
    "meeting": "meetings meeting",
    "event": "events event",
    "book": "books book reading",
    "article": "articles article papers literature references sources clippings",
    "journal": "journal journals daily dailies weekly diary daily-notes dailynotes",
    "concept": "concepts concept ideas definitions glossary zettelkasten",
    "decision": "decisions decision adr adrs",
    "recipe": "recipes recipe",
    "product": "products product",
    "tool": "tools tool software apps",
}
_CATEGORY_OF_FOLDER = {folder: category for category, folders in _FOLDERS.items() for folder in folders.split()}


def infer_category(node: Node) -> str:
    """The category the note states, else that of the innermost known folder, else its folder's name; '' for none."""
    return node.category or guess_category(node.path)


def guess_category(path: str) -> str:
    """The category that the folders of a path suggest."""
    folders = [fold_name(each).strip() for each in path.split("/")[-2::-1]]
    known = (_CATEGORY_OF_FOLDER[each] for each in folders if each in _CATEGORY_OF_FOLDER)
    named = (each[:100] for each in folders if any(sign.isalpha() for sign in each))  # no years and months
    return next(known, next(named, ""))
