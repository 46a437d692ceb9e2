"""Judged texts as files, one to a text: plain text, a page of a site, or a PDF; ``strongroom ingest`` reads them in."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from textwrap import fill
from typing import Any

from bench import servers, typeset_pdfs
from bench.quality.sets import FileKind, JudgedDocument, JudgedTask
from bench.run import ROOT
from bench.wire import VaultEndpoint

SITE = "Readers' Library"

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>{title} | {site}</title>
  <link rel="canonical" href="https://library.example.org/texts/{id}">
  <style>.card {{ margin: 1em; }}</style>
  <script>window.stats = {{ page: "{id}", at: Date.now() }};</script>
</head>
<body>
  <div class="cookie-banner" role="dialog"><p>We use cookies to count our readers.</p><button>Accept all</button></div>
  <header class="top">
    <a class="logo" href="/">{site}</a>
    <nav><ul><li><a href="/new">New texts</a></li><li><a href="/subjects">Subjects</a></li>
      <li><a href="/account">Your account</a></li></ul></nav>
  </header>
  <main>
    <nav class="breadcrumb"><a href="/">Home</a> &rsaquo; <a href="/texts">Texts</a></nav>
    <article>
      <h1>{title}</h1>
      <div class="share"><a href="#">Share</a> <a href="#">Print</a></div>
      <p>
{text}
      </p>
    </article>
    <aside><h2>Others read</h2><ul><li><a href="/texts/1">The text of the month</a></li></ul></aside>
  </main>
  <footer><p>&copy; 2026 {site}. All rights reserved. <a href="/privacy">Privacy policy</a></p></footer>
</body>
</html>
"""


def write_files(folder: Path, kind: FileKind, documents: Sequence[JudgedDocument]) -> None:
    """A file for each text, named by its id; the folder must exist."""
    ending, make = _KINDS[kind]
    for each in documents:
        (folder / f"{each.id}.{ending}").write_bytes(make(each.id, each.arguments["title"], each.arguments["content"]))


def _to_plain(_: str, title: str, text: str) -> bytes:
    return f"# {title}\n\n{text}\n".encode()


def _to_page(name: str, title: str, text: str) -> bytes:
    indent = " " * 8
    lines = fill(escape(text, quote=False), 110, initial_indent=indent, subsequent_indent=indent, **_WHOLE_WORDS)
    return _PAGE.format(id=name, title=escape(title), site=SITE, text=lines).encode()


def _to_pdf(_: str, title: str, text: str) -> bytes:
    return typeset_pdfs.to_pdf(title, text)


_WHOLE_WORDS: Mapping[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
_KINDS: Mapping[FileKind, tuple[str, Callable[[str, str, str], bytes]]] = {
    "text": ("md", _to_plain),
    "html": ("html", _to_page),
    "pdf": ("pdf", _to_pdf),
}
"""The ending of each kind, and what makes a file of an id, a title and a text."""


def push_files(endpoint: VaultEndpoint, task: JudgedTask, documents: Sequence[JudgedDocument]) -> None:
    """Read the texts of one vault in, as somebody with a folder of files would. Raises ``RuntimeError`` where a file is
    not taken."""
    assert task.as_files is not None
    with tempfile.TemporaryDirectory(prefix="strongroom-bench-files-") as made:
        folder, token = Path(made) / "files", Path(made) / "token"
        folder.mkdir()
        write_files(folder, task.as_files, documents)
        token.write_text(endpoint.token, encoding="utf-8")
        address = f"http://{servers.HOST}:{endpoint.port}"
        to = ["--vault", endpoint.vault, "--url", address, "--token-file", str(token)]
        done = subprocess.run(
            [sys.executable, "-m", "server", "ingest", str(folder), *to, "--json"],
            cwd=ROOT,
            env=servers.server_environment(Path(made) / "data", {}),
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode or json.loads(done.stdout)["counts"] != {"new": len(documents)}:
        raise RuntimeError(f"{endpoint.vault}: {done.stdout[-500:]}{done.stderr[-500:]}")


def name_place(place: str) -> str:
    """The id of the text at a hit's place, ``4983.pdf, page 1``."""
    return place.partition(",")[0].rpartition(".")[0]
