"""A client asks, a person decides; and what others try on the way.

Covers server.oauth.authorize_route, server.oauth.provider, server.oauth.resources, server.oauth.pages,
server.oauth.parts, server.oauth.application, auth.oauth.codes, auth.oauth.consents and auth.oauth.redirects.
"""

from __future__ import annotations

import httpx2
import jwt
import pytest

from auth.grants import remove_grant
from auth.principal import LOCAL
from auth.roles import Role
from tests.server.oauth.desk import CALLBACK, URL, VAULT, Desk, authorize_address, forms_of, query_of


async def test_a_person_lets_a_client_in_and_its_token_is_for_that_vault(desk: Desk) -> None:
    await desk.person("ann", Role.WRITER, "main", "other")
    client, browser = await desk.client(), desk.browser()
    asking = await browser.open(authorize_address(client["client_id"]))
    page = await browser.follow(asking)
    assert "Sign in" in page.text
    page = await browser.follow(
        await browser.send(page, "/oauth/sign-in", name="ann", password="wooden boats cross slowly")
    )
    assert "Tester" in page.text
    assert "http://127.0.0.1:4321" in page.text
    assert forms_of(page)[-1].choices["vault"] == ["main"]
    assert forms_of(page)[-1].choices["role"] == ["reader", "writer"]
    answer = await browser.send(page, "/oauth/authorize", decision="allow")
    assert answer.headers["location"].startswith(f"{CALLBACK}?")
    given = query_of(answer)
    assert (given["state"], given["iss"]) == ("xyz", URL)
    tokens = (await desk.exchange(client["client_id"], given["code"], resource=VAULT)).json()
    assert tokens["scope"] == "vault:read vault:write"
    principal = await desk.principal(tokens["access_token"])
    assert principal.subject == "ann"
    claims = jwt.decode(tokens["access_token"], options={"verify_signature": False})
    assert claims["aud"] == [claims["iss"], VAULT]
    assert dict(desk.parts.access_cache.current.vaults_of(principal, {"main", "other"})) == {"main": Role.WRITER}


async def test_letting_a_client_in_gives_nobody_a_grant(desk: Desk) -> None:
    await desk.person("ann", Role.READER)
    client, browser = (await desk.client())["client_id"], desk.browser()
    await browser.sign_in()
    code = await desk.allow(browser, client, {"role": "admin"})
    tokens = (await desk.exchange(client, code)).json()
    assert tokens["scope"] == "vault:read"
    principal = await desk.principal(tokens["access_token"])
    assert desk.parts.access_cache.current.role_in(principal, "main") is Role.READER


async def test_a_vault_somebody_has_no_grant_for_looks_like_one_that_is_not_there(desk: Desk) -> None:
    await desk.person("ann")
    client, browser = (await desk.client())["client_id"], desk.browser()
    await browser.sign_in()
    pages = [
        await browser.open(authorize_address(client, resource=f"{URL}/v/{vault}/mcp")) for vault in ("other", "none")
    ]
    assert [page.status_code for page in pages] == [404, 404]
    assert pages[0].text.replace("other", "none").splitlines()[5:20] == pages[1].text.splitlines()[5:20]
    answer = await browser.send(pages[0], "/oauth/authorize", decision="allow", vault="other", role="reader", days="1")
    assert answer.status_code == 403
    assert "location" not in answer.headers


async def test_without_a_resource_the_person_chooses_one_vault(desk: Desk) -> None:
    await desk.person("ann", Role.WRITER, "main", "other")
    client, browser = (await desk.client())["client_id"], desk.browser()
    await browser.sign_in()
    code = await desk.allow(browser, client, {"vault": "other"}, resource="-")
    assert (await desk.exchange(client, code, resource=VAULT)).json()["error"] == "invalid_target"
    tokens = (await desk.exchange(client, code)).json()
    principal = await desk.principal(tokens["access_token"])
    assert list(desk.parts.access_cache.current.vaults_of(principal, {"main", "other"})) == ["other"]


@pytest.mark.parametrize("resource", ["https://evil.example/v/main/mcp", f"{URL}.evil/v/main/mcp", f"{URL}/v/a/b/mcp"])
async def test_a_token_for_another_server_is_not_made(desk: Desk, resource: str) -> None:
    client = (await desk.client())["client_id"]
    answer = await desk.browser().open(authorize_address(client, resource=resource))
    assert query_of(answer)["error"] == "invalid_target"
    assert query_of(answer)["iss"] == URL


@pytest.mark.parametrize(
    "redirect",
    [
        "http://127.0.0.1:4321/other",
        "http://127.0.0.1:4321/callback/",
        "http://127.0.0.1:4321/callback?next=1",
        "http://user@127.0.0.1:4321/callback",
        "http://127.0.0.1:4321@evil.example/callback",
        "http://127.0.0.1.evil.example:4321/callback",
        "http://localhost.evil:4321/callback",
        "http://localhost:4321/callback",
        "https://127.0.0.1:4321/callback",
        "http://127.0.0.1:4321/callback#here",
        "https://app.example.evil/cb",
        "https://app.example/cb/../../x",
        "https://app.example:444/cb",
        "javascript:alert(1)",
        "//app.example/cb",
    ],
)
async def test_nobody_is_sent_to_an_address_that_was_not_registered(desk: Desk, redirect: str) -> None:
    client = (await desk.client(CALLBACK, "https://app.example/cb"))["client_id"]
    answer = await desk.browser().open(authorize_address(client, redirect_uri=redirect))
    assert answer.status_code == 400
    assert "location" not in answer.headers


async def test_a_program_on_the_machine_takes_whichever_port_is_free(desk: Desk) -> None:
    await desk.person()
    client, browser = (await desk.client())["client_id"], desk.browser()
    await browser.sign_in()
    other = "http://127.0.0.1:9999/callback"
    code = await desk.allow(browser, client, redirect_uri=other)
    assert (await desk.exchange(client, code)).json()["error"] == "invalid_request"  # the port of the request counts
    assert (await desk.exchange(client, code, redirect_uri=other)).status_code == 200


@pytest.mark.parametrize(
    "change",
    [
        {"code_challenge_method": "plain"},
        {"code_challenge": "-", "code_challenge_method": "-"},
        {"response_type": "token"},
    ],
)
async def test_only_a_code_with_a_hashed_challenge_can_be_asked_for(desk: Desk, change: dict[str, str]) -> None:
    client = (await desk.client())["client_id"]
    answer = await desk.browser().open(authorize_address(client, **change))
    assert answer.headers["location"].startswith(f"{CALLBACK}?")
    assert query_of(answer)["error"] in ("invalid_request", "unsupported_response_type")
    assert query_of(answer)["iss"] == URL


async def test_a_challenge_that_was_not_hashed_does_not_match(desk: Desk) -> None:
    await desk.person()
    client, browser = (await desk.client())["client_id"], desk.browser()
    await browser.sign_in()
    code = await desk.allow(browser, client, code_challenge="v" * 64, code_challenge_method="-")
    assert (await desk.exchange(client, code)).json()["error"] == "invalid_grant"


async def test_a_parameter_that_occurs_twice_is_refused(desk: Desk) -> None:
    client = (await desk.client())["client_id"]
    for more in ("redirect_uri=https://evil.example/", "state=xyz", f"client_id={client}"):
        answer = await desk.browser().open(f"{authorize_address(client)}&{more}")
        assert answer.status_code == 400
        assert "location" not in answer.headers


async def test_an_answer_without_the_form_of_the_page_allows_nothing(desk: Desk) -> None:
    await desk.person()
    client, browser, other = (await desk.client())["client_id"], desk.browser(), desk.browser()
    await browser.sign_in()
    await other.sign_in()
    page = await browser.open(authorize_address(client))
    theirs = forms_of(await other.open(authorize_address(client)))[-1].fields["form"]
    for form in ("", theirs, "0" * 64):
        answer = await browser.send(page, "/oauth/authorize", decision="allow", form=form)
        assert answer.status_code == 403
        assert "location" not in answer.headers


async def test_who_says_no_sends_the_client_back_with_that(desk: Desk) -> None:
    await desk.person()
    client, browser = (await desk.client())["client_id"], desk.browser()
    await browser.sign_in()
    page = await browser.open(authorize_address(client))
    answer = await browser.send(page, "/oauth/authorize", decision="deny")
    assert query_of(answer)["error"] == "access_denied"
    assert query_of(answer)["state"] == "xyz"


async def test_the_last_answer_is_filled_in_and_the_question_asked_again(desk: Desk) -> None:
    await desk.person("ann", Role.WRITER, "main", "other")
    client, browser = (await desk.client())["client_id"], desk.browser()
    await browser.sign_in()
    await desk.allow(browser, client, {"vault": "other", "role": "reader", "days": "7"}, resource="-")
    page = await browser.open(authorize_address(client, resource="-"))
    filled = forms_of(page)[-1].fields
    assert (filled["vault"], filled["role"], filled["days"]) == ("other", "reader", "7")
    assert "You last let it in on " in page.text


async def test_what_a_client_calls_itself_is_text_and_nothing_else(desk: Desk) -> None:
    await desk.person()
    name = "<script>x</script>\u202egood\n\x00"
    client, browser = (await desk.client(client_name=name))["client_id"], desk.browser()
    await browser.sign_in()
    page = await browser.open(authorize_address(client, state='"><script>y</script>'))
    assert "<script" not in page.text
    assert "&lt;script&gt;x&lt;/script&gt; good</bdi>" in page.text


async def test_pages_run_no_script_but_ours_and_are_framed_by_nobody(desk: Desk) -> None:
    await desk.person()
    client, browser = (await desk.client("http://[::1]:4321/callback", CALLBACK))["client_id"], desk.browser()
    page = await browser.open("/oauth/sign-in")
    sources = "default-src 'none'; style-src 'self'; script-src 'self'"
    policy = f"{sources}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    assert page.headers["content-security-policy"] == policy
    assert (page.headers["x-frame-options"], page.headers["cache-control"]) == ("DENY", "no-store")
    await browser.sign_in()
    policies = [
        (await browser.open(authorize_address(client, redirect_uri=uri))).headers["content-security-policy"]
        for uri in (CALLBACK, "http://[::1]:1/callback")
    ]
    assert all("script-src 'none';" in each for each in policies)
    assert "form-action 'self' http://127.0.0.1:4321;" in policies[0]
    assert "form-action 'self' http:;" in policies[1]


async def test_a_grant_that_was_taken_away_before_the_code_is_used_gives_no_token(desk: Desk) -> None:
    await desk.person()
    client, browser = (await desk.client())["client_id"], desk.browser()
    await browser.sign_in()
    code = await desk.allow(browser, client)
    await desk.parts.access_cache.write(lambda tx: remove_grant(tx, "ann", LOCAL, "main"))
    assert (await desk.exchange(client, code)).json()["error"] == "invalid_grant"


async def test_an_unknown_client_is_told_to_the_person_not_sent_back(desk: Desk) -> None:
    answer: httpx2.Response = await desk.browser().open(authorize_address("no-such-client"))
    assert answer.status_code == 400
    assert "location" not in answer.headers
