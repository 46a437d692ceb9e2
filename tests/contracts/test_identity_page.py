"""The page on identity providers is true: its settings parse, its tokens are let in, its reasons are the real ones."""

from __future__ import annotations

import json
import re
import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from auth.errors import TokenFault, TokenInvalid
from auth.external_issuer import ExternalAuthenticator
from auth.principal import Principal
from auth.roles import Role
from auth.settings import IssuerSettings
from auth.token_claims import VerifyKey, peek
from ops.refusals import HINTS, LINES_ALL, LINES_EACH, WINDOW_S
from server.settings import Settings, load

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "identity.md").read_text(encoding="utf-8")
KEY = rsa.generate_private_key(65537, 2048)
PROVIDERS = ("Keycloak", "Microsoft Entra ID", "Google", "Auth0")


@dataclass
class Section:
    """What the page says of one provider."""

    toml: str
    claims: dict[str, Any]
    grant: list[str]


def section(provider: str) -> Section:
    text = PAGE.split(f"\n## {provider}\n", 1)[1].split("\n## ", 1)[0]
    found = {
        language: re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        for language in ("toml", "json", "sh")
    }
    assert {language: len(blocks) for language, blocks in found.items()} == {"toml": 1, "json": 1, "sh": 1}
    return Section(found["toml"][0], json.loads(found["json"][0]), shlex.split(found["sh"][0]))


def settings(provider: str, folder: Path) -> Settings:
    (folder / "strongroom.toml").write_text(section(provider).toml)
    return load(folder, environment={}).settings


class Keys:
    async def find(self, kid: str) -> VerifyKey:
        return VerifyKey(KEY.public_key(), ("RS256",))


async def authenticated(issuer: IssuerSettings, url: str, claims: dict[str, Any], typ: str = "JWT") -> Principal:
    now = int(time.time())
    token = jwt.encode({**claims, "iat": now, "exp": now + 300}, KEY, "RS256", headers={"kid": "k", "typ": typ})
    found = await ExternalAuthenticator(issuer, Keys(), url, 30).authenticate(peek(token))  # type: ignore[arg-type]
    assert found is not None, "another issuer"
    return found


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_token_of_the_shape_shown_is_let_in_by_the_settings_shown(provider: str, tmp_path: Path) -> None:
    auth = settings(provider, tmp_path).auth
    (issuer,) = auth.issuers
    shown = section(provider)
    caller = await authenticated(issuer, auth.public_url or "", shown.claims)
    assert not caller.lacks_scope
    name, _, role = shown.grant[3:6]
    assert name in caller.names
    assert shown.grant[shown.grant.index("--issuer") + 1] == issuer.issuer == caller.issuer
    assert caller.scope_role is None or caller.scope_role >= {"reader": Role.READER, "writer": Role.WRITER}[role]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_what_the_settings_are_there_for_is_refused(provider: str, tmp_path: Path) -> None:
    auth = settings(provider, tmp_path).auth
    (issuer,) = auth.issuers
    claims = section(provider).claims
    with pytest.raises(TokenInvalid, match="audience") as caught:
        await authenticated(issuer, auth.public_url or "", {**claims, "aud": "account"})
    assert caught.value.found == "account"
    assert caught.value.principal is not None
    without = {name: value for name, value in claims.items() if name not in ("scope", "scp")}
    assert (await authenticated(issuer, auth.public_url or "", without)).lacks_scope is issuer.require_scope


async def test_the_other_shapes_the_page_speaks_of_are_let_in_too(tmp_path: Path) -> None:
    (auth0,) = settings("Auth0", tmp_path).auth.issuers
    await authenticated(auth0, "", section("Auth0").claims, typ="at+jwt")
    (entra,) = settings("Microsoft Entra ID", tmp_path).auth.issuers
    program = {
        name: value for name, value in section("Microsoft Entra ID").claims.items() if name not in ("scp", "groups")
    }
    alone = entra.model_copy(update={"require_scope": False, "groups_claim": "roles"})
    caller = await authenticated(alone, "", {**program, "roles": ["indexers"]})
    assert not caller.lacks_scope
    assert "group:indexers" in caller.names


def test_the_table_of_checks_has_every_reason_of_a_token() -> None:
    rows = dict(re.findall(r"^\| (?:\d{3}) \| `(\w+)` \| .* \| (.*) \|$", PAGE, re.MULTILINE))
    assert set(rows) == {*get_args(TokenFault), "missing", "scope", "grant", "which_vault", "vault_unavailable"}
    assert HINTS["audience"] in PAGE
    assert (LINES_EACH, LINES_ALL, WINDOW_S) == (5, 50, 10), "as the page says"


def test_every_setting_of_an_issuer_is_on_the_page() -> None:
    quiet = {"jwks_timeout_s", "allow_loopback_http"}
    assert [name for name in IssuerSettings.model_fields if f"| `{name}` |" not in PAGE and name not in quiet] == []
