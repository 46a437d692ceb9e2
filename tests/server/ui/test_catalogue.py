"""Pages take every text from the catalogue, which holds none that no page takes; every language says the same.

Covers server.catalogue, server.ui.catalogue, server.languages and server.ui.language_page.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from server.languages import LANGUAGES, choose_language
from server.ui.admin_view import DONE as ADMIN_DONE
from server.ui.admin_view import PLACES
from server.ui.catalogue import TEXTS, load_catalogue
from server.ui.memory_forms import FORMS
from server.ui.vault_view import DONE
from tests.server.http.test_sign_in_door import ROOT
from tests.server.ui.stage import Stage, forms_of

TEMPLATES = sorted((ROOT / "server" / "ui" / "templates").glob("*.html"))
MODULES = [ROOT / "server" / "catalogue.py", *sorted((ROOT / "server" / "ui").glob("*.py"))]
OTHERS = LANGUAGES[1:]
TAKEN = re.compile(r'(t|counted|has_text)\("([a-z_.]+)"( ~)?')
SPOKEN_BY_CODE = re.compile(r"""\bsay\(["']([a-z_.]+)["'][,)]""")
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


@pytest.mark.parametrize("language", OTHERS)
def test_every_language_says_every_text_with_the_same_values(language: str) -> None:
    english, texts = TEXTS.read_texts(LANGUAGES[0]), TEXTS.read_texts(language)
    assert english.keys() - texts.keys() == set(), f"add these to {language}.toml"
    assert texts.keys() - english.keys() == set(), f"take these out of {language}.toml"
    values = re.compile(r"\{[a-z]+\}")
    for key, text in english.items():
        if not key.endswith(".one"):  # "the only hit" may do without its number
            assert sorted(values.findall(texts[key])) == sorted(values.findall(text)), key


def test_languages_write_numbers_and_days_their_own_way() -> None:
    english, german = load_catalogue("en"), load_catalogue("de")
    assert english.count("search.found", 12_000) == "12,000 hits"
    assert german.count("search.found", 12_000) == "12.000 Treffer"
    assert (english.digits(0.5, 2), german.digits(1234.5, 2)) == ("0.50", "1.234,50")
    assert english.moment("2026-03-09T08:07:06.543Z") == "2026-03-09 08:07"
    assert german.moment("2026-03-09T08:07:06.543Z") == "09.03.2026 08:07"
    assert german.moment("2026-03-09") == "09.03.2026"


@pytest.mark.parametrize(
    ("chosen", "accepted", "language"),
    [
        ("", "", "en"),
        ("", "de-AT,de;q=0.9,en;q=0.8", "de"),
        ("", "fr, en;q=0.5, de;q=0.7", "de"),
        ("", "fr,en,de", "en"),
        ("", "de;q=0, en;q=0.1", "en"),
        ("", "de;q=much, DE", "de"),
        ("en", "de", "en"),
        ("../../secret", "de", "de"),
    ],
)
def test_a_reader_gets_what_they_chose_else_what_their_browser_asks_for(
    chosen: str, accepted: str, language: str
) -> None:
    assert choose_language(chosen, accepted) == language


@pytest.mark.asyncio(loop_scope="module")
async def test_the_choice_at_the_foot_of_a_page_is_kept_and_leads_back(stage: Stage) -> None:
    guest = await stage.person("anna")
    guest.http.headers["accept-language"] = "de"
    page = await guest.open("/ui/v/main/sessions?status=active")
    assert '<html lang="de">' in page.text
    assert "Sitzungen" in page.text
    form = forms_of(page)[-1]
    came = {"referer": str(page.url)}
    answer = await guest.http.post(form.action, data={**form.fields, "language": "en"}, headers=came)
    assert answer.headers["location"] == "/ui/v/main/sessions?status=active"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-strongroom-language=en;")
    assert {"HttpOnly", "Path=/", "SameSite=lax", "Secure"} <= set(cookie.split("; "))
    assert '<html lang="en">' in (await guest.follow(answer)).text
    for language, referer in (("xx", "https://evil.example//evil.example/"), ("de", "https://mem.example:bad/ui/v/")):
        answer = await guest.http.post(
            form.action, data={**form.fields, "language": language}, headers={"referer": referer}
        )
        assert answer.headers["location"].startswith("/ui/")
    assert (await guest.http.post(form.action, data={"form": "x", "language": "de"})).status_code == 403
