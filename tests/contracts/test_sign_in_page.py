"""The page on signing in is true: its settings are taken, and an ID token as it shows them lets somebody in."""

from __future__ import annotations

import json
import re
import time
import tomllib
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519

from auth.outside.id_tokens import Expected, check_id_token
from auth.outside.identities import Arrival, arrive
from auth.settings import AuthSettings, ProviderSettings
from auth.token_claims import VerifyKey, peek
from vaults.db.connection import Database
from vaults.db.migration import migrate
from vaults.settings import StorageSettings

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "sign-in.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```\n\n```json\n(.*?)```", PAGE, re.DOTALL)
KEY = ed25519.Ed25519PrivateKey.generate()


def settings_of(text: str) -> ProviderSettings:
    (found,) = AuthSettings(**tomllib.loads(text)["auth"]).providers
    return found


@pytest.mark.parametrize(("text", "token"), EXAMPLES, ids=lambda each: each[:30])
async def test_a_token_of_the_shape_shown_lets_somebody_in(tmp_path: Path, text: str, token: str) -> None:
    settings = settings_of(text)
    now = int(time.time())
    claims: dict[str, Any] = {**json.loads(token), "iat": now, "exp": now + 60, "nonce": "n"}
    signed = jwt.encode(claims, KEY, "EdDSA", headers={"kid": "one"})
    expected = Expected("n", now, 0)
    identity = check_id_token(settings, peek(signed), VerifyKey(KEY.public_key(), ("EdDSA",)), expected)
    control = Database(tmp_path / "control.db", StorageSettings(reserve_mb=0))
    try:
        await migrate(control, "control")
        arrival = await control.write(lambda tx: arrive(tx, settings, identity, now))
        assert isinstance(arrival, Arrival)
        assert arrival.person in PAGE or settings.name == "entra"
        assert arrival.grants_changed == bool(settings.grants)
    finally:
        await control.close()


def test_there_is_one_for_each_provider_of_the_page() -> None:
    assert [settings_of(text).name for text, _ in EXAMPLES] == ["keycloak", "entra", "google"]


def test_the_table_names_every_setting_of_a_provider() -> None:
    table = PAGE.partition("| setting of `auth.providers` |")[2].partition("\n\n")[0]
    named = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE))))
    assert named == set(ProviderSettings.model_fields) - {"allow_loopback_http"}
