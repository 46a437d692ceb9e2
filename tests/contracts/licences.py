"""Writes ``requirements/licences.md``: under which licence each installed package may be passed on, as its own metadata
says. ``make docs`` does it; a test holds the page against what is installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "requirements" / "licences.md"
LISTS = {"light": "What serving needs", "extras": "The extras documents, code, backup and cluster"}

PERMISSIVE = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "PSF-2.0", "Zlib",
}  # fmt: skip
RECIPROCAL = {
    "pathspec": "MPL-2.0",  # of its own files only, which are not changed
    "psycopg": "LGPL-3.0-only",  # a library of its own, unchanged, which anybody may replace by another version
    "psycopg-binary": "LGPL-3.0-only",
    "psycopg-pool": "LGPL-3.0-only",
    "pygit2": "GPL-2.0-only WITH GCC-exception-2.0",  # its exception: what only links it is not concerned
}
"""Packages whose licence asks more of whoever passes them on, each looked at."""

NAMED = {
    "pyasn1_modules": "BSD-2-Clause",
    "pysqlite3": "Zlib",
    "pyrage": "MIT",
    "pypdfium2": "BSD-3-Clause AND Apache-2.0",
    "PyStemmer": "MIT AND BSD-3-Clause",
}
"""Read in the packages' own licence files, where their metadata says nothing or nothing exact."""

_WORDS = {
    "MIT License": "MIT",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "ISC License": "ISC",
}

_HEAD = """# Licences

What an installation holds besides strongroom, which is under Apache-2.0. `make docs` writes the tables from the
packages' metadata; a test fails where one is stale, or where a licence is new that asks more than to be named.

- The wheel carries **all-MiniLM-L6-v2** (Apache-2.0, its page is among its files) and the vocabulary **cl100k_base**,
  which [tiktoken](https://github.com/openai/tiktoken) is published with (MIT).
- The wheel also carries **htmx** 2.0.11 (0BSD, `server/ui/assets/htmx.LICENSE`), unchanged; the console serves it.
- **pygit2** holds libgit2 and is under GPL-2.0 with the exception that programs may link it under any licence.
  strongroom does nothing else with it.
- **pathspec** is under MPL-2.0, which concerns changes of its own files. There are none.
- **psycopg** (`strongroom[cluster]`) is under LGPL-3.0: a library that is installed as a package of its own, unchanged,
  and loaded only where a cluster is configured. Its binary package carries PostgreSQL's libpq (PostgreSQL licence) and
  OpenSSL (Apache-2.0).
- PyTorch, sentence-transformers, onnx and what they need (`strongroom[models]`, `strongroom[rerank]`) are no part of a
  server's installation.
"""


def page() -> str:
    """The page as it is to be."""
    return "\n".join([_HEAD, *(f"## {title}\n\n{_table(name)}\n" for name, title in LISTS.items())])


def licences(name: str) -> Iterator[tuple[str, str, str]]:
    """Package, version and licence of what a list names."""
    text = (ROOT / "requirements" / f"{name}.in").read_text(encoding="utf-8")
    for package, version in re.findall(r"^([\w.-]+)==([\w.+]+)", text, re.MULTILINE):
        yield package, version, RECIPROCAL.get(package) or NAMED.get(package) or _declared(package)


def _declared(package: str) -> str:
    told = metadata.metadata(package)
    classes = [each for each in told.get_all("Classifier") or [] if each.startswith("License ::")]
    classified = " AND ".join(each.rpartition(" :: ")[2] for each in classes)
    said = told.get("License-Expression") or (told.get("License") or "").partition("\n")[0] or classified
    return _WORDS.get(said, said)


def _table(name: str) -> str:
    rows = (f"| {package} | {version} | {licence} |" for package, version, licence in licences(name))
    return "\n".join(["| package | version | licence |", "|---|---|---|", *rows])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
