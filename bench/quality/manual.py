"""A manual in five languages, cut into the sections it has in each: what the judged sets by language are made of.

The Debian Reference is fetched as packages of one version and kept under ``bench/out/``; nothing of it enters the
repository. Its sections have the same ids in every language, so one judgement holds for all of them.
"""

from __future__ import annotations

import hashlib
import io
import re
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lxml.html

VERSION = "2.100"
PACKAGES: Mapping[str, tuple[str, str]] = {
    "en": ("en", "9f31d3a17df505de09689ca255512ea58c1fc47c59bb1b0c7bf1c23362e9743f"),
    "de": ("de", "3b0ce65fd63e75ddf8eb07ca36293425135080e690a07e06a6ac8bc8040ef0aa"),
    "fr": ("fr", "01424cba9bfa2e13166da22d3d692d33a22ec7d8ef935ec81fd8802746087f65"),
    "ja": ("ja", "f67140e0b994409413bd5fcc8dfcce832445c99d724401f0275fa238daf30325"),
    "zh": ("zh-cn", "6d2d8d9a646397e28b04cdff23d2e4374101ebf9be348e35961af62c8a2d0977"),
}
"""What each language is called in the names of packages and pages, and the SHA-256 of its package."""

PAGES = "./usr/share/debian-reference/"
FETCH_S = 300
_PARTS = '//div[@class="section" or @class="chapter" or @class="preface" or @class="appendix"]'
_NUMBER = re.compile(r"^(\d+|[A-Z](?=\.\d))(\.\d+)*\.?\s+")


class NoManualError(Exception):
    """Why the manual cannot be had; a sentence without its full stop."""


@dataclass(frozen=True, slots=True)
class ManualSection:
    """A section without those inside it, under the id it has in every language."""

    id: str
    title: str
    text: str


def read_manual(folder: Path, language: str) -> list[ManualSection]:
    """The sections that hold text, in the order of the book. Fetches the package into ``folder`` where it is not there.
    Raises ``NoManualError``."""
    name, digest = PACKAGES[language]
    package = folder.resolve() / f"debian-reference-{name}_{VERSION}_all.deb"
    if not package.is_file():
        _fetch(f"debian-reference-{name}", folder)
    if not package.is_file() or hashlib.sha256(package.read_bytes()).hexdigest() != digest:
        raise NoManualError(f"{package} is not the one that was judged")
    pages = _unpack(package, f".{name}.html")
    return [section for page in sorted(pages) for section in read_sections(pages[page])]


def read_sections(page: bytes) -> Iterator[ManualSection]:
    """The sections of an HTML page of the manual."""
    for part in lxml.html.fromstring(page).xpath(_PARTS):
        heading = next(
            iter(part.xpath('./div[@class="titlepage"]//*[self::h1 or self::h2 or self::h3 or self::h4]')), None
        )
        inner = [child for child in part if child.get("class") not in {"titlepage", "toc", "section"}]
        text = "\n".join(filter(None, map(_plain, inner)))
        if heading is not None and text:
            yield ManualSection(heading.xpath(".//@id")[0], _NUMBER.sub("", _plain(heading)), text)


def _plain(element: Any) -> str:
    return " ".join(element.text_content().split())


def _fetch(name: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    command = ["apt-get", "download", "-o", "APT::Sandbox::User=root", f"{name}={VERSION}"]
    _run(command, folder, f"{name} {VERSION} cannot be had with apt-get (or put its file into {folder})")


def _unpack(package: Path, ending: str) -> Mapping[str, bytes]:
    """The chapters and parts of a package by their names."""
    archive = _run(["dpkg-deb", "--fsys-tarfile", str(package)], package.parent, f"{package} cannot be unpacked")
    pages = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        for member in members:
            name = member.name.removeprefix(PAGES)
            if member.isfile() and name.endswith(ending) and not name.startswith("index"):
                file = members.extractfile(member)
                pages[name] = file.read() if file else b""
    return pages


def _run(command: list[str], folder: Path, otherwise: str) -> bytes:
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, check=True, timeout=FETCH_S).stdout
    except subprocess.CalledProcessError as failed:
        last = failed.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise NoManualError(": ".join([otherwise, *last])) from None
    except (OSError, subprocess.TimeoutExpired) as failed:
        raise NoManualError(f"{otherwise}: {failed}") from None
