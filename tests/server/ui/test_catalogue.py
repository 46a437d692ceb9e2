"""Pages take every text from the catalogue, and the catalogue holds none that no page takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from server.ui.admin_view import DONE as ADMIN_DONE
from server.ui.admin_view import PLACES
from server.ui.catalogue import load_catalogue
from server.ui.memory_forms import FORMS
from server.ui.vault_view import DONE
from tests.server.http.test_sign_in_door import ROOT

TEMPLATES = sorted((ROOT / "server" / "ui" / "templates").glob("*.html"))
MODULES = sorted((ROOT / "server" / "ui").glob("*.py"))
TAKEN = re.compile(r'(t|counted|has_text)\("([a-z_.]+)"( ~)?')
SPOKEN_BY_CODE = re.compile(r'\bsay\("([a-z_.]+)"\)')
SAID = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<[^>]*>", re.DOTALL)
SPOKEN = re.compile(r'(?:placeholder|title|alt|aria-label)="(?!\{\{)[^"]*[A-Za-z]')


def taken() -> tuple[set[str], set[str]]:
    """The keys templates and modules name whole, and the beginnings of those they put together."""
    whole, begun = set(), set()
    for template in TEMPLATES:
        for how, key, joined in TAKEN.findall(template.read_text(encoding="utf-8")):
            if joined:
                begun.add(key)
            else:
                whole |= {f"{key}.one", f"{key}.other"} if how == "counted" else {key}
    for module in MODULES:
        whole |= {*SPOKEN_BY_CODE.findall(module.read_text(encoding="utf-8"))}
    return whole, begun


def test_every_text_a_page_takes_is_there() -> None:
    texts = load_catalogue().texts
    whole, begun = taken()
    assert whole
    assert whole - texts.keys() == set()
    assert {each for each in begun if not any(key.startswith(each) for key in texts)} == set()


def test_every_text_is_taken() -> None:
    whole, begun = taken()
    assert [key for key in load_catalogue().texts if key not in whole and not key.startswith(tuple(begun))] == []


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_a_template_says_nothing_of_its_own(template: Path) -> None:
    text = template.read_text(encoding="utf-8")
    assert re.findall(r"[A-Za-z]{2,}", SAID.sub(" ", text)) == []
    assert SPOKEN.findall(text) == []


def test_what_is_put_together_from_names_has_its_texts() -> None:
    catalogue = load_catalogue()
    assert all(catalogue.has(f"done.{each}") for each in DONE)
    assert all(catalogue.has(f"done.{each}") for each in ADMIN_DONE)
    assert all(catalogue.has(f"places.{each}") for each, _ in PLACES)
    for form in FORMS:
        assert all(catalogue.has(f"agree.{form.name}.{part}") for part in ("title", "text", "yes"))


def test_numbers_choose_their_form() -> None:
    catalogue = load_catalogue()
    assert catalogue.count("search.found", 1) == "1 hit"
    assert catalogue.count("search.found", 12_000) == "12,000 hits"
