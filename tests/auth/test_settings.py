from typing import Any

import pytest
from pydantic import ValidationError

from auth.settings import AuthSettings, IssuerSettings, LimitSettings, has_local_login, refuse_open_bind

GOOD = {"issuer": "https://id.example", "jwks_url": "https://id.example/keys"}


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost", "LOCALHOST"])
def test_no_authentication_is_allowed_on_this_machine(host: str) -> None:
    refuse_open_bind(AuthSettings(mode="none"), host)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "10.0.0.1", "example.com", "", "127.0.0.1.evil.example", "localhost."]
)
def test_no_authentication_on_another_address_stops_the_start(host: str) -> None:
    with pytest.raises(ValueError, match="loopback"):
        refuse_open_bind(AuthSettings(mode="none"), host)
    refuse_open_bind(AuthSettings(mode="token"), host)


@pytest.mark.parametrize(
    "url",
    [
        "http://id.example/keys",
        "http://127.0.0.1/keys",
        "file:///etc/passwd",
        "ftp://id.example/keys",
        "https://",
        "https://user:pw@id.example/keys",
        "//id.example/keys",
        "keys.json",
    ],
)
def test_keys_come_over_https_only(url: str) -> None:
    with pytest.raises(ValidationError, match="https"):
        IssuerSettings(**{**GOOD, "jwks_url": url})


def test_plain_http_needs_both_the_flag_and_a_loopback_address() -> None:
    IssuerSettings(**{**GOOD, "jwks_url": "http://127.0.0.1:9/k", "allow_loopback_http": True})
    with pytest.raises(ValidationError, match="https"):
        IssuerSettings(**{**GOOD, "jwks_url": "http://10.0.0.1/k", "allow_loopback_http": True})


@pytest.mark.parametrize("algorithm", ["HS256", "hs256", "none", "None", "", "rs256", "ES256K"])
def test_only_known_asymmetric_algorithms_can_be_configured(algorithm: str) -> None:
    with pytest.raises(ValidationError, match="may not hold"):
        IssuerSettings(**GOOD, algorithms=("RS256", algorithm))


@pytest.mark.parametrize("bad", [{"issuer": ""}, {"issuer": "stdio"}, {"issuer": "local"}, {"audiences": (" ",)}])
def test_an_issuer_must_be_a_url_and_audiences_not_blank(bad: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        IssuerSettings(**{**GOOD, **bad})


def test_one_issuer_cannot_be_configured_twice() -> None:
    with pytest.raises(ValidationError, match="twice"):
        AuthSettings(issuers=(IssuerSettings(**GOOD), IssuerSettings(**GOOD)))


def test_the_public_url_is_kept_without_trailing_slash() -> None:
    assert AuthSettings(public_url="https://mem.example/team/").public_url == "https://mem.example/team"


@pytest.mark.parametrize(
    "url", ["mem.example", "ftp://x", "https://x/?q", "https://u@x", 'https://x/"a', "https://x/\n", "https://x/ü"]
)
def test_a_public_url_that_cannot_stand_in_a_header_is_refused(url: str) -> None:
    with pytest.raises(ValidationError):
        AuthSettings(public_url=url)


@pytest.mark.parametrize(
    "bad", [{"leeway_s": 61}, {"leeway_s": -1}, {"token_ttl": "0s"}, {"token_ttl": "30"}, {"mode": "x"}]
)
def test_out_of_bounds_settings_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        AuthSettings(**bad)


def test_a_vault_size_must_be_a_size() -> None:
    assert LimitSettings(vault_size="500MB").vault_size == "500MB"
    with pytest.raises(ValidationError):
        LimitSettings(vault_size="lots")


def test_every_setting_has_a_description() -> None:
    for section in (AuthSettings, IssuerSettings, LimitSettings):
        assert [name for name, field in section.model_fields.items() if not field.description] == []


@pytest.mark.parametrize(
    ("settings", "url", "signs_in"),
    [
        ({}, "https://mem.example", True),
        ({}, "http://127.0.0.1:8700", True),
        ({}, "http://mem.example", False),
        ({"mode": "none"}, "http://127.0.0.1:8700", False),
        ({"login": "off"}, "https://mem.example", False),
        ({"issuers": [{"issuer": "https://id", "jwks_url": "https://id/keys"}]}, "https://mem.example", False),
        (
            {"login": "local", "issuers": [{"issuer": "https://id", "jwks_url": "https://id/keys"}]},
            "https://mem.example",
            True,
        ),
    ],
)
def test_people_sign_in_where_nothing_is_in_the_clear(settings: dict[str, Any], url: str, signs_in: bool) -> None:
    assert has_local_login(AuthSettings.model_validate(settings), url) is signs_in


@pytest.mark.parametrize(("mode", "url"), [("token", "http://mem.example"), ("none", "http://127.0.0.1")])
def test_sign_in_that_cannot_be_stops_the_start(mode: str, url: str) -> None:
    with pytest.raises(ValueError, match="local needs"):
        has_local_login(AuthSettings.model_validate({"mode": mode, "login": "local"}), url)


PROVIDER = {"name": "keycloak", "issuer": "https://id.example/realms/a", "client_id": "x"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"issuer": "http://id.example"}, "https"),
        ({"issuer": "http://127.0.0.1:1"}, "https"),
        ({"issuer": "https://user@id.example"}, "https"),
        ({"issuer": "https://id.example?a=b"}, "https"),
        ({"issuer": "https://id.example#a"}, "https"),
        ({"issuer": "https://id.example:99999"}, "https"),
        ({"name": "Key cloak"}, "a-z"),
        ({"name": "../x"}, "a-z"),
        ({"scopes": ["email"]}, "openid"),
        ({"people": ["ann@example.org"]}, "email:"),
        ({"people": ["email:"]}, "email:"),
        ({"people": ["group:a"]}, "email:"),
        ({"algorithms": ["HS256"]}, "HS256"),
        ({"algorithms": ["none"]}, "none"),
        ({"grants": [{"group": "a", "vault": "main", "role": "owner"}]}, "reader"),
    ],
    ids=str,
)
def test_a_provider_is_https_and_names_whom_it_means(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        AuthSettings(providers=[{**PROVIDER, **change}])


@pytest.mark.parametrize(
    ("more", "url"),
    [
        ({"login": "off"}, "https://mem.example"),
        ({"mode": "none"}, "http://127.0.0.1:8700"),
        ({"issuers": [GOOD]}, "https://mem.example"),
        ({}, "http://mem.example"),
    ],
)
def test_providers_without_a_place_to_sign_in_stop_the_start(more: dict[str, Any], url: str) -> None:
    with pytest.raises(ValueError, match=r"auth\.providers"):
        has_local_login(AuthSettings(**more, providers=[PROVIDER]), url)
    assert has_local_login(AuthSettings(login="local", issuers=[GOOD], providers=[PROVIDER]), "https://mem.example")


def test_no_two_providers_have_one_name_or_one_issuer() -> None:
    for change in ({"name": "other"}, {"issuer": "https://other.example"}):
        with pytest.raises(ValidationError, match="twice"):
            AuthSettings(providers=[PROVIDER, {**PROVIDER, **change}])
    AuthSettings(providers=[PROVIDER, {**PROVIDER, "name": "other", "issuer": "https://other.example"}])
