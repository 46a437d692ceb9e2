"""Where every page of the console is, from the lists it serves them by, so that a new page is looked at as well."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from server.ui.application import ADMIN_PAGES, VAULT_PAGES
from tests.browser.harbour import Harbour

ANYBODY = ("/ui/", "/oauth/account", "/oauth/device", "/oauth/sign-in", "/ui/v/nowhere/")
"""Pages that are not of a vault: the last says that there is none."""


NO_DOCUMENTS = ("events", "graph.json", "connect/calls")
"""What pages fetch, and nobody opens: a stream, data, and a part of a page."""


@dataclass(frozen=True)
class Filled:
    """What the addresses of pages need. ``paths``: for pages with names in braces; ``queries``: for pages that show
    nothing without one, and further views of a page."""

    paths: dict[str, tuple[str, ...]]
    queries: dict[str, tuple[dict[str, str], ...]]


def filled_with(harbour: Harbour) -> Filled:
    """For the vault and the people that tests of all pages have."""
    return Filled(
        paths={
            "memories/{id}": (harbour.memory, harbour.hostile),
            "sessions/{id:path}": (harbour.session,),
            "notes/{path:path}": ("", "Yard/", "Yard/Cranes.md", "Nowhere.md"),
            "vaults/{name}": ("main",),
            "vaults/{name}/delete": ("main",),
        },
        queries={
            "search": ({}, {"q": "crane"}, {"q": "nothing is called so", "mode": "keyword", "tag": "none"}),
            "graph": ({}, {"note": "Yard/Cranes.md"}),
            "items": ({"id": harbour.document},),
            "person": ({"name": "ann"},),
            "grant": ({"subject": "ann", "issuer": "local"},),
            "tokens": ({"show": "all"},),
            "clients": ({}, {"show": "registered"}),
        },
    )


def addresses(filled: Filled) -> Iterator[str]:
    """Of every page, once for each of what it is filled with. A page with a name in braces that nobody knows is a
    ``KeyError``: say above what that is to be."""
    yield from ANYBODY
    for place, pages in (("/ui/v/main/", VAULT_PAGES), ("/ui/admin/", ADMIN_PAGES)):
        for path in (page.path for page in pages if page.path not in NO_DOCUMENTS):
            named = re.search(r"\{\w+(:\w+)?\}", path)
            ways = [path.replace(named[0], each) for each in filled.paths[path]] if named else [path]
            for way in ways:
                for query in filled.queries.get(path, ({},)):
                    yield f"{place}{way}{'?' if query else ''}{urlencode(query)}"
