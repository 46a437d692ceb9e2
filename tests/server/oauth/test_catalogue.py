"""Pages of sign-in say everything in the language of their reader, errors of forms too, and English as ever."""

from __future__ import annotations

import html
import re
from pathlib import Path

import httpx2
import pytest

from auth.oauth.device_codes import OWN_CLIENT
from auth.people.attempts import ACCOUNT
from auth.people.passwords import find_weakness
from auth.roles import Role
from server.languages import LANGUAGES
from server.oauth.catalogue import TEXTS
from tests.server.oauth.authenticator import Authenticator, asked
from tests.server.oauth.desk import PASSWORD, URL, Browser, Desk, authorize_address

HOME = Path(__file__).resolve().parents[3] / "server" / "oauth"
TEMPLATES = sorted((HOME / "templates").glob("*.html"))
MODULES = sorted(HOME.glob("*.py"))
TAKEN = re.compile(r'\b(t|counted|pieced|say|count)\(\s*f?"([a-z_.]+)("( ~)?|\{)')
SAID = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<[^>]*>", re.DOTALL)
ATTRIBUTE = re.compile(r'[a-z-]+="[^"]*"|\bhidden\b')
SPOKEN = re.compile(r'(?:placeholder|title|alt|aria-label|data-stopped|data-known)="(?!\{\{)[^"]*[A-Za-z]')
SENTENCE = re.compile(r'(?:error=|message\(|text=)f?"[A-Z]')


def taken() -> tuple[set[str], set[str]]:
    """The keys that templates and modules name whole, and the beginnings of those they put together."""
    whole, begun = set(), set()
    for file in (*TEMPLATES, *MODULES):
        text = file.read_text(encoding="utf-8")
        for how, key, end, joined in TAKEN.findall(text):
            if joined or end == "{":
                begun.add(key)
            else:
                whole |= {f"{key}.one", f"{key}.other"} if how in ("counted", "count") else {key}
    return whole, begun


def test_every_text_that_is_taken_is_there_and_no_other() -> None:
    texts = TEXTS.read_texts(LANGUAGES[0])
    whole, begun = taken()
    assert whole - texts.keys() == set()
    assert {each for each in begun if not any(key.startswith(each) for key in texts)} == set()
    left = {key for key in texts if key not in whole and not key.startswith((*begun, "format."))}
    assert left == set()


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_every_language_says_every_text_with_the_same_values(language: str) -> None:
    english, texts = TEXTS.read_texts(LANGUAGES[0]), TEXTS.read_texts(language)
    assert english.keys() == texts.keys()
    values = re.compile(r"\{[a-z]+\}")
    for key, text in english.items():
        if key.startswith("passwords."):  # which number is said there is the sentence's own
            assert {*values.findall(texts[key])} == {*values.findall(text)}, key
        else:
            assert sorted(values.findall(texts[key])) == sorted(values.findall(text)), key


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda path: path.stem)
def test_a_template_says_nothing_of_its_own(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert re.findall(r"[A-Za-z]{2,}", ATTRIBUTE.sub(" ", SAID.sub(" ", text))) == []
    assert SPOKEN.findall(text) == []


@pytest.mark.parametrize("file", MODULES, ids=lambda path: path.stem)
def test_code_gives_no_page_a_sentence_of_its_own(file: Path) -> None:
    assert SENTENCE.findall(file.read_text(encoding="utf-8")) == []


def english_pieces() -> set[str]:
    """What stands between the values of English texts and in no German one."""
    english, german = TEXTS.read_texts("en"), "\n".join(TEXTS.read_texts("de").values())
    pieces = {piece.strip(" .,:()") for text in english.values() for piece in re.split(r"\{[a-z]+\}", text)}
    return {piece for piece in pieces if len(piece) > 3 and piece not in german}


ENGLISH = english_pieces()


def is_german(page: httpx2.Response) -> httpx2.Response:
    """That no English is left on a page, nor in what its script may say."""
    assert '<html lang="de">' in page.text
    said = html.unescape(" ".join([re.sub(r"<[^>]*>", "\n", page.text), *re.findall(r'data-\w+="([^"]*)"', page.text)]))
    left = {each for each in ENGLISH if re.search(rf"(?<![\w-]){re.escape(each)}(?![\w-])", said)}
    assert left == set()
    return page


def german(desk: Desk) -> Browser:
    browser = desk.browser()
    browser.http.headers["accept-language"] = "de-AT,de;q=0.9,en;q=0.5"
    return browser


async def test_signing_in_and_what_is_wrong_with_it_are_in_german(desk: Desk) -> None:
    await desk.person()
    browser = german(desk)
    is_german(await browser.open("/oauth/sign-in"))
    assert "gehören nicht zusammen" in is_german(await browser.sign_in(password="wrong")).text
    stale = await browser.http.post("/oauth/sign-in", data={"name": "ann", "password": PASSWORD})
    assert "zu lange offen" in is_german(stale).text
    is_german(await browser.http.post("/oauth/sign-out", data={}))
    is_german(await browser.http.post("/oauth/sign-in", data={str(each): "x" for each in range(1001)}))
    is_german(await browser.http.post("/oauth/sign-in", files={"name": b"x"}))
    is_german(await browser.send(await browser.open("/oauth/sign-in"), "/oauth/sign-in/passkey", passkey="{}"))
    while not desk.parts.attempts.wait(ACCOUNT, "ann"):
        pass
    assert "Minuten geht es wieder" in is_german(await browser.sign_in()).text
    for provider in ("begin", "nobody/done"):
        is_german(await browser.open(f"/oauth/with/{provider}"))


async def test_a_link_and_passwords_it_does_not_take_are_in_german(desk: Desk) -> None:
    browser = german(desk)
    page = is_german(await browser.open(f"/oauth/invite?link={await desk.invite('ann')}"))
    for password in ("short", "x" * 257, "aaaaaaaaaaaaaaaa", "ann and so on"):
        answer = is_german(await browser.send(page, "/oauth/invite", password=password, again=password))
        assert answer.status_code == 422, find_weakness(password, "ann")
        assert "Das Passwort" in answer.text
    assert "unterscheiden" in is_german(await browser.send(page, "/oauth/invite", password="a", again="b")).text
    is_german(await browser.send(page, "/oauth/invite/passkey", passkey="{}"))
    is_german(await browser.open("/oauth/invite?link=none"))


async def test_an_account_is_in_german(desk: Desk) -> None:
    await desk.person()
    browser = german(desk)
    await browser.sign_in()
    await desk.login(browser, (await desk.client())["client_id"])
    device = Authenticator(URL)
    for label in ("phone", "key"):
        page = await browser.open("/oauth/account")
        await browser.send(page, "/oauth/account/passkeys", do="add", label=label, passkey=device.make(asked(page)))
    page = is_german(await browser.open("/oauth/account"))
    assert "zuletzt erneuert" in page.text
    assert re.search(r"seit \d\d\.\d\d\.\d{4}", page.text)
    is_german(await browser.send(page, "/oauth/account", current="wrong", password=PASSWORD, again=PASSWORD))
    is_german(await browser.http.post("/oauth/account", data={"do": "password"}))
    desk.clock[0] += 3600
    page = is_german(await browser.open("/oauth/account"))
    is_german(await browser.send(page, "/oauth/account/passkeys", do="remove", id="x"))


async def test_letting_a_program_in_is_in_german(desk: Desk) -> None:
    await desk.person("ann", Role.ADMIN, "main", "other")
    browser, client = german(desk), (await desk.client())["client_id"]
    await browser.sign_in()
    page = is_german(await browser.open(authorize_address(client, resource="-")))
    assert "möchte in Ihrem Namen" in page.text
    is_german(await browser.send(page, "/oauth/authorize", decision="allow", vault="third"))
    await desk.allow(browser, client)
    assert "Zuletzt haben Sie es am" in is_german(await browser.open(authorize_address(client))).text
    is_german(await browser.open(authorize_address(client, resource=f"{URL}/v/third/mcp")))
    is_german(await browser.open(authorize_address("nobody")))
    is_german(await browser.open(f"{authorize_address(client)}&state=again"))


async def test_letting_a_terminal_in_is_in_german(desk: Desk) -> None:
    await desk.person()
    browser = german(desk)
    await browser.sign_in()
    is_german(await browser.open("/oauth/device"))
    is_german(await browser.open("/oauth/device?code=BBBB-BBBB"))
    for decision in ("allow", "deny"):
        async with desk.http() as http:
            begun = (await http.post("/oauth/device/start", data={"client_id": OWN_CLIENT})).json()
        page = is_german(await browser.open(f"/oauth/device?code={begun['user_code']}"))
        is_german(await browser.send(page, "/oauth/device", decision="allow", vault="third"))
        is_german(await browser.send(page, "/oauth/device", decision=decision))


async def test_a_choice_made_in_the_console_counts_before_what_the_browser_asks_for(desk: Desk) -> None:
    browser = german(desk)
    browser.http.cookies.set("__Host-strongroom-language", "en")
    assert '<html lang="en">' in (await browser.open("/oauth/sign-in")).text
    browser.http.cookies.set("__Host-strongroom-language", "xx")
    is_german(await browser.open("/oauth/sign-in"))


async def test_what_is_put_into_a_text_stays_text(desk: Desk) -> None:
    await desk.person()
    browser = german(desk)
    await browser.sign_in()
    client = (await desk.client(client_name="{back} <b>bold</b> {0.__class__}"))["client_id"]
    page = await browser.open(authorize_address(client))
    assert "<b><bdi>{back} &lt;b&gt;bold&lt;/b&gt; {0.__class__}</bdi></b>" in page.text
