"""Settings of authentication and limits: frozen sections, composed and read from outside by ``server.settings``."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Annotated, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, Field, field_validator, model_validator

from vaults.durations import parse_duration, parse_size
from vaults.listed_hosts import parse_pattern
from vaults.settings import SettingsSection

ASYMMETRIC = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
"""What an issuer may sign with. Never HS*: a shared secret next to public keys invites key confusion."""


def _ttl(text: str) -> str:
    if not 1 <= parse_duration(text) <= parse_duration("3650d"):
        raise ValueError("must lie between 1s and 3650d")
    return text


def _ttl_or_none(text: str) -> str:
    return text if text == "none" else _ttl(text)


def _host_patterns(patterns: tuple[str, ...]) -> tuple[str, ...]:
    for each in patterns:
        parse_pattern(each)
    return patterns


def _size(text: str | None) -> str | None:
    if text is not None:
        parse_size(text)
    return text


def is_loopback(host: str) -> bool:
    """Whether ``host`` is an address of this machine only. Names other than ``localhost`` are not looked up."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _asymmetric(algorithms: tuple[str, ...]) -> tuple[str, ...]:
    if wrong := [name for name in algorithms if name not in ASYMMETRIC]:
        raise ValueError(f"may not hold {wrong[0]}; allowed: {', '.join(sorted(ASYMMETRIC))}")
    return algorithms


class IssuerSettings(SettingsSection):
    """One outside authorization server. Only ``jwks_url`` is ever contacted, whatever a token says."""

    issuer: Annotated[str, Field(min_length=1, description="its iss claim, compared byte for byte")]
    jwks_url: Annotated[str, Field(description="its public keys; https, no redirects followed")]
    audiences: Annotated[
        tuple[str, ...], Field(description="aud values accepted; empty: this server's own URL and its vaults' URLs")
    ] = ()
    algorithms: Annotated[tuple[str, ...], Field(min_length=1, description="signatures accepted; asymmetric only")] = (
        "RS256",
        "ES256",
        "EdDSA",
    )
    groups_claim: Annotated[str, Field(min_length=1, description="claim that lists the caller's groups")] = "groups"
    require_scope: Annotated[
        bool, Field(description="tokens must carry vault:read, vault:write or vault:admin; false: grants alone decide")
    ] = True
    jwks_timeout_s: Annotated[float, Field(gt=0, le=30, description="seconds for the whole fetch of the keys")] = 5.0
    ca_file: Annotated[str | None, Field(description="PEM of the authority that signed the issuer's TLS")] = None
    allow_loopback_http: Annotated[
        bool, Field(description="allow http for jwks_url on a loopback address (tests, a sidecar)")
    ] = False

    @field_validator("issuer")
    @classmethod
    def _issuer_is_url(cls, issuer: str) -> str:
        if urlsplit(issuer).scheme not in {"https", "http"}:
            raise ValueError("must be the issuer's URL")
        return issuer

    @field_validator("algorithms")
    @classmethod
    def _only_asymmetric(cls, algorithms: tuple[str, ...]) -> tuple[str, ...]:
        return _asymmetric(algorithms)

    @field_validator("audiences")
    @classmethod
    def _no_blank(cls, audiences: tuple[str, ...]) -> tuple[str, ...]:
        if any(not audience.strip() for audience in audiences):
            raise ValueError("may not hold an empty value")
        return audiences

    @model_validator(mode="after")
    def _keys_over_tls(self) -> IssuerSettings:
        url = urlsplit(self.jwks_url)
        loopback = self.allow_loopback_http and url.scheme == "http" and is_loopback(url.hostname or "")
        if not (loopback or url.scheme == "https") or not url.hostname or url.username or url.fragment:
            raise ValueError("jwks_url must be an https URL without user or fragment")
        return self


_PROVIDER_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}", re.ASCII)


class GroupGrantSettings(SettingsSection):
    """What the members of one group may do."""

    group: Annotated[str, Field(min_length=1, max_length=255, description="as the provider calls it")]
    vault: Annotated[str, Field(min_length=1, description="a vault, or * for every one")]
    role: Annotated[Literal["reader", "writer", "admin"], Field(description="what they may do there")]


class ProviderSettings(SettingsSection):
    """An outside provider (OpenID Connect) by which people sign in with a browser. Only its issuer's address and
    ``hosts`` are ever contacted, whatever it says."""

    name: Annotated[str, Field(description="what its people's names end with, and its addresses here: a-z 0-9 -")]
    label: Annotated[str, Field(max_length=60, description="what the button says; default: the name")] = ""
    issuer: Annotated[str, Field(description="its address, as its tokens say it, byte for byte; https")]
    client_id: Annotated[str, Field(min_length=1, description="what it calls this server")]
    client_secret_file: Annotated[
        str | None, Field(description="file with the client's secret; none: a public client, with PKCE alone")
    ] = None
    scopes: Annotated[tuple[str, ...], Field(description="what is asked for")] = ("openid", "profile", "email")
    hosts: Annotated[
        tuple[str, ...], Field(description="hosts its discovery may name besides the issuer's, host or host:port")
    ] = ()
    people: Annotated[
        tuple[str, ...], Field(description="who may come, as email:ann@example.org (verified) or sub:…")
    ] = ()
    grants: Annotated[
        tuple[GroupGrantSettings, ...], Field(description="groups whose members may come, and what they may do")
    ] = ()
    groups_claim: Annotated[str, Field(min_length=1, description="claim that lists somebody's groups")] = "groups"
    name_claim: Annotated[str, Field(min_length=1, description="claim with the name they are known by here")] = (
        "preferred_username"
    )
    email_claim: Annotated[str, Field(min_length=1, description="claim with the e-mail")] = "email"
    algorithms: Annotated[tuple[str, ...], Field(min_length=1, description="signatures accepted; asymmetric only")] = (
        "RS256",
        "ES256",
        "EdDSA",
    )
    timeout_s: Annotated[float, Field(gt=0, le=30, description="seconds for each question to it")] = 5.0
    ca_file: Annotated[str | None, Field(description="PEM of the authority that signed its TLS")] = None
    allow_loopback_http: Annotated[bool, Field(description="allow http on a loopback address (tests, a sidecar)")] = (
        False
    )

    @field_validator("algorithms")
    @classmethod
    def _only_asymmetric(cls, algorithms: tuple[str, ...]) -> tuple[str, ...]:
        return _asymmetric(algorithms)

    @field_validator("scopes")
    @classmethod
    def _asks_who(cls, scopes: tuple[str, ...]) -> tuple[str, ...]:
        if "openid" not in scopes:
            raise ValueError("must hold openid: without it the provider does not say who somebody is")
        return scopes

    @field_validator("people")
    @classmethod
    def _pinned(cls, people: tuple[str, ...]) -> tuple[str, ...]:
        if wrong := [each for each in people if not each.startswith(("email:", "sub:")) or each.endswith(":")]:
            raise ValueError(f"must be email:… or sub:…, not {wrong[0][:80]}")
        return people

    @field_validator("name")
    @classmethod
    def _slug(cls, name: str) -> str:
        if not _PROVIDER_NAME.fullmatch(name):
            raise ValueError("must be 1 to 32 of a-z 0-9 - and begin with a letter")
        return name

    @model_validator(mode="after")
    def _over_tls(self) -> ProviderSettings:
        if not self.is_safe(self.issuer) or urlsplit(self.issuer).query:
            raise ValueError("issuer must be an https URL without user, query or fragment")
        return self

    def is_safe(self, url: str) -> bool:
        """Whether an address is one to speak to: https, or http on this machine where that is allowed."""
        try:
            parts = urlsplit(url)
            _ = parts.port
        except ValueError:
            return False
        loopback = self.allow_loopback_http and parts.scheme == "http" and is_loopback(parts.hostname or "")
        return bool((loopback or parts.scheme == "https") and parts.hostname and "@" not in parts.netloc) and (
            "#" not in url and all("!" <= each <= "~" and each != "\\" for each in url)
        )


class AuthSettings(SettingsSection):
    mode: Annotated[
        Literal["token", "none"], Field(description="none: everybody is the owner; refused unless bound to loopback")
    ] = "token"
    public_url: Annotated[
        str | None, Field(description="URL clients use, without a path of a vault; default: from host and port")
    ] = None
    login: Annotated[
        Literal["local", "off"] | None,
        Field(
            description="local: people sign in here and let programs in; default: local on https or loopback without"
            " outside issuers"
        ),
    ] = None
    client_hosts: Annotated[
        tuple[str, ...],
        AfterValidator(_host_patterns),
        Field(description="hosts whose documents may describe clients that sign people in, such as claude.ai"),
    ] = ()
    token_ttl: Annotated[
        str, AfterValidator(_ttl), Field(description="life of a token when token create names none")
    ] = "30d"  # noqa: S105  a duration
    first_token_ttl: Annotated[
        str,
        AfterValidator(_ttl_or_none),
        Field(
            description="life of the token for vault main that the first start makes and prints; none: it makes none"
        ),
    ] = "90d"  # noqa: S105  a duration
    leeway_s: Annotated[float, Field(ge=0, le=60, description="seconds clocks may differ when times are checked")] = (
        30.0
    )
    key_passphrase_file: Annotated[
        str | None, Field(description="file with the passphrase that the keys are encrypted with")
    ] = None
    issuers: Annotated[tuple[IssuerSettings, ...], Field(description="outside authorization servers")] = ()
    providers: Annotated[
        tuple[ProviderSettings, ...], Field(description="outside providers by which people sign in with a browser")
    ] = ()

    @property
    def issuer_urls(self) -> tuple[str, ...]:
        """The outside issuers, as grants call them."""
        return tuple(each.issuer for each in self.issuers)

    @field_validator("public_url")
    @classmethod
    def _canonical(cls, url: str | None) -> str | None:
        if url is None:
            return None
        parts: SplitResult = urlsplit(url)
        if (
            parts.scheme not in {"https", "http"}
            or not parts.hostname
            or parts.query
            or parts.fragment
            or parts.username
        ):
            raise ValueError("must be http(s)://host[:port][/path] without query, fragment or user")
        if any(not 0x21 <= ord(character) <= 0x7E or character in '"\\' for character in url):
            raise ValueError("must be plain ASCII without blanks or quotes")
        return url.rstrip("/")

    @field_validator("issuers")
    @classmethod
    def _issuers_differ(cls, issuers: tuple[IssuerSettings, ...]) -> tuple[IssuerSettings, ...]:
        if len({each.issuer for each in issuers}) != len(issuers):
            raise ValueError("name the same issuer twice")
        return issuers

    @field_validator("providers")
    @classmethod
    def _providers_differ(cls, providers: tuple[ProviderSettings, ...]) -> tuple[ProviderSettings, ...]:
        names, issuers = {each.name for each in providers}, {each.issuer for each in providers}
        if len(names) != len(providers) or len(issuers) != len(providers):
            raise ValueError("name the same provider, or the same issuer, twice")
        return providers


PLAN_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}", re.ASCII)


def _plan_name(name: str) -> str:
    if not PLAN_NAME.fullmatch(name):
        raise ValueError("a plan is called by 1 to 32 of a-z 0-9 - and begins with a letter")
    return name


PlanName = Annotated[str, AfterValidator(_plan_name)]


class PlanSettings(SettingsSection):
    """What a vault or a caller on this plan may do and hold. What is left out has no bound."""

    stores_per_day: Annotated[int | None, Field(ge=0, description="memories stored per UTC day")] = None
    memories: Annotated[int | None, Field(ge=0, description="living memories; of a caller: in each vault")] = None
    size: Annotated[
        str | None,
        AfterValidator(_size),
        Field(description="size of a vault's database, such as 500MB; of a caller: of its texts in each vault"),
    ] = None
    calls_per_minute: Annotated[int | None, Field(ge=1, description="calls per minute")] = None


class LimitSettings(SettingsSection):
    """Each process of one machine counts for itself: a caller spread over N workers may reach N times as much. Servers
    of a cluster tell each other what they counted."""

    plan: Annotated[
        PlanName, Field(description="plan of vaults and callers that are on none: unlimited, free or one of yours")
    ] = "unlimited"

    calls_per_minute: Annotated[int, Field(ge=1, description="calls per minute of one caller")] = 600_000
    vault_calls_per_minute: Annotated[int, Field(ge=1, description="calls per minute of one caller on one vault")] = (
        600_000
    )
    in_flight: Annotated[int, Field(ge=1, description="calls of one caller running at once")] = 128
    stores_per_day: Annotated[
        int | None, Field(ge=1, description="memories one caller may store per UTC day; default: the plan's")
    ] = None
    memories: Annotated[
        int | None, Field(ge=1, description="living memories a vault may hold; default: the plan's")
    ] = None
    vault_size: Annotated[
        str | None,
        AfterValidator(_size),
        Field(description="size of a vault's database, such as 500MB; default: the plan's"),
    ] = None
    licence_file: Annotated[
        str | None, Field(description="signed licence; default: licence.jwt in the data folder")
    ] = None
    licence_key_file: Annotated[
        str | None, Field(description="PEM of the public key licences are signed with; without it none holds")
    ] = None


def has_local_login(settings: AuthSettings, url: str) -> bool:
    """Whether people sign in here, where clients find the server at ``url``. Raises ``ValueError`` where that was asked
    for and cannot be: everybody is the owner, or passwords would cross a network in the clear; or where providers are
    named that would lead nobody in."""
    parts = urlsplit(url)
    is_safe = parts.scheme == "https" or is_loopback(parts.hostname or "")
    if settings.login == "local" and settings.mode == "none":
        raise ValueError("local needs auth.mode token: with none, everybody is the owner")
    if settings.login == "local" and not is_safe:
        raise ValueError(f"local needs https or a loopback address, not {url}: set auth.public_url")
    by_itself = settings.login is None and settings.mode == "token" and not settings.issuers and is_safe
    if settings.providers and settings.login != "local" and not by_itself:
        raise ValueError(
            f"must be local where auth.providers are named, and the server at https or loopback, not {url}"
        )
    return settings.login == "local" or by_itself


def refuse_open_bind(settings: AuthSettings, host: str) -> None:
    """Raise ``ValueError`` when everybody would be the owner and the address is not this machine's alone."""
    if settings.mode == "none" and not is_loopback(host):
        raise ValueError(f"none needs a loopback address, not {host}: anyone who reaches it owns every vault")
