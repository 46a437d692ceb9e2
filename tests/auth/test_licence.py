"""Covers auth.licence_check, auth.licence_file, auth.licence_sign."""

import os
import time
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from hypothesis import given
from hypothesis import strategies as st

from auth.licence import LicenceVerdict
from auth.licence_check import check_licence, public_key
from auth.licence_file import LicenceFile
from auth.licence_sign import LicenceRequest, make_keys, sign_licence
from auth.settings import LimitSettings, PlanSettings
from vaults.errors import InvalidArgument

PRIVATE, PUBLIC = make_keys()
STRANGER = make_keys()[0]
RSA = rsa.generate_private_key(65537, 2048)
HERE = "0191-here"
FREE = {"free": PlanSettings(stores_per_day=500, memories=None)}
PUBLIC_FORMAT = (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
PRIVATE_FORMAT = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def wanted(**changed: Any) -> LicenceRequest:
    return LicenceRequest(**{"subject": "acme", "ttl_s": 3600, "plans": FREE, **changed})


def judged(text: str, *, now: float | None = None, public: bytes = PUBLIC) -> LicenceVerdict:
    key = public_key(public)
    assert key is not None
    return check_licence(text, key, HERE, time.time() if now is None else now)


def forged(private: bytes = PRIVATE, algorithm: str = "EdDSA", **changed: Any) -> str:
    claims = {"aud": "strongroom-licence", "jti": "1", "sub": "acme", "kind": "admin", "iat": 1, "exp": 2**40}
    claims = {name: value for name, value in {**claims, **changed}.items() if value != "absent"}
    return jwt.encode(claims, private, algorithm=algorithm)


def test_a_signed_licence_lifts_what_it_says() -> None:
    verdict = judged(sign_licence(PRIVATE, wanted()))
    assert verdict.state == "valid"
    assert verdict.licence is not None
    assert verdict.licence.lifts == {"free": {"stores_per_day": 500, "memories": None}}


def test_an_admin_licence_and_one_for_this_machine_hold() -> None:
    verdict = judged(sign_licence(PRIVATE, wanted(plans={}, admin=True, machine=HERE)))
    assert verdict.licence is not None
    assert verdict.licence.kind == "admin"


def test_an_rsa_key_signs_too() -> None:
    text = sign_licence(RSA.private_bytes(*PRIVATE_FORMAT), wanted())
    assert judged(text, public=RSA.public_key().public_bytes(*PUBLIC_FORMAT)).state == "valid"


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (sign_licence(STRANGER, wanted()), "signature"),
        (sign_licence(PRIVATE, wanted(machine="another")), "machine"),
        (forged(exp=int(time.time()) - 3600), "expired"),
        (forged(iat=int(time.time()) + 3600), "early"),
        (forged(nbf=int(time.time()) + 3600), "early"),
        (forged(exp="absent"), "malformed"),
        (forged(exp="2099-01-01"), "malformed"),
        (forged(exp=True), "malformed"),
        (forged(exp=1e400), "malformed"),
        (forged(aud="urn:strongroom:here"), "malformed"),
        (forged(aud=["strongroom-licence"]), "malformed"),
        (forged(kind="root"), "malformed"),
        (forged(kind="plan"), "malformed"),
        (forged(kind="plan", plans={"free": {"memories": -1}}), "malformed"),
        (forged(kind="plan", plans={"free": {"seats": 3}}), "malformed"),
        (forged(sub="two\nlines"), "malformed"),
        (forged(RSA, "RS256"), "signature"),
        (forged("a secret that is at least as long as it has to be", "HS256"), "signature"),
        (jwt.encode({"sub": "x"}, None, algorithm="none"), "signature"),
        ("", "malformed"),
        ("a.b.c", "malformed"),
    ],
)  # fmt: skip
def test_a_licence_that_does_not_hold_says_why(text: str, state: str) -> None:
    verdict = judged(text)
    assert verdict.state == state
    assert verdict.licence is None
    assert verdict.message
    assert "\n" not in verdict.message


def test_a_public_key_is_no_shared_secret() -> None:
    public = public_key(RSA.public_key().public_bytes(*PUBLIC_FORMAT))
    assert public is not None
    assert public.algorithms == ("RS256",)


@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda raw: raw.decode("latin-1")))
def test_any_text_is_judged_without_an_error(text: str) -> None:
    assert judged(text).licence is None


@pytest.mark.parametrize(
    "key",
    [
        ec.generate_private_key(ec.SECP256R1()).public_key().public_bytes(*PUBLIC_FORMAT),
        rsa.generate_private_key(65537, 1024).public_key().public_bytes(*PUBLIC_FORMAT),
        PRIVATE,
        b"",
        b"\xff",
    ],
)
def test_other_keys_check_nothing(key: bytes) -> None:
    assert public_key(key) is None


@pytest.mark.parametrize("request_", [wanted(plans={}), wanted(plans={"free": PlanSettings()})])
def test_a_licence_for_nothing_is_not_signed(request_: LicenceRequest) -> None:
    with pytest.raises(InvalidArgument):
        sign_licence(PRIVATE, request_)


@pytest.mark.parametrize("key", [PUBLIC, b"", ec.generate_private_key(ec.SECP256R1()).private_bytes(*PRIVATE_FORMAT)])
def test_what_is_no_signing_key_signs_nothing(key: bytes) -> None:
    with pytest.raises(InvalidArgument):
        sign_licence(key, wanted())


class Clock:
    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def file(tmp_path: Path, clock: Clock) -> LicenceFile:
    (tmp_path / "key.pem").write_bytes(PUBLIC)
    return LicenceFile(tmp_path, LimitSettings(licence_key_file="key.pem"), HERE, now=clock)


def test_a_file_that_comes_changes_and_goes_is_followed(file: LicenceFile, tmp_path: Path) -> None:
    file.refresh()
    assert file.verdict.state == "absent"
    (tmp_path / "licence.jwt").write_text(sign_licence(PRIVATE, wanted()) + "\n")
    file.refresh()
    assert file.current() is not None
    (tmp_path / "licence.jwt").write_text("nonsense")
    file.refresh()
    assert file.verdict.state == "malformed"
    (tmp_path / "licence.jwt").unlink()
    file.refresh()
    assert file.verdict.state == "absent"


def test_a_new_key_is_followed_too(file: LicenceFile, tmp_path: Path) -> None:
    (tmp_path / "licence.jwt").write_text(sign_licence(STRANGER, wanted()))
    file.refresh()
    assert file.verdict.state == "signature"
    (tmp_path / "key.pem").write_bytes(
        ed25519.Ed25519PrivateKey.from_private_bytes(
            serialization.load_pem_private_key(STRANGER, None).private_bytes_raw()  # type: ignore[union-attr]
        ).public_key().public_bytes(*PUBLIC_FORMAT)
    )  # fmt: skip
    file.refresh()
    assert file.current() is not None


def test_a_licence_ends_while_the_server_runs(file: LicenceFile, tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "licence.jwt").write_text(sign_licence(PRIVATE, wanted()))
    file.refresh()
    assert file.current() is not None
    clock.now += 3601
    assert file.current() is None
    assert file.verdict.state == "expired"


def test_one_that_does_not_hold_yet_holds_when_its_time_has_come(
    file: LicenceFile, tmp_path: Path, clock: Clock
) -> None:
    (tmp_path / "licence.jwt").write_text(sign_licence(PRIVATE, wanted()))
    clock.now -= 7200
    file.refresh()
    assert file.verdict.state == "early"
    clock.now += 7200
    file.refresh()
    assert file.current() is not None


def test_files_that_are_none_are_told_and_stop_nothing(file: LicenceFile, tmp_path: Path) -> None:
    (tmp_path / "licence.jwt").mkdir()
    file.refresh()
    assert file.verdict.state == "unreadable"
    (tmp_path / "licence.jwt").rmdir()
    os.mkfifo(tmp_path / "licence.jwt")
    file.refresh()
    assert file.verdict.state == "unreadable"
    (tmp_path / "licence.jwt").unlink()
    (tmp_path / "licence.jwt").write_bytes(b"x" * 100_000)
    file.refresh()
    assert file.verdict.state == "unreadable"
    (tmp_path / "key.pem").unlink()
    file.refresh()
    assert file.verdict.state == "bad_key"


def test_without_a_key_no_licence_holds(tmp_path: Path) -> None:
    (tmp_path / "licence.jwt").write_text(sign_licence(PRIVATE, wanted()))
    file = LicenceFile(tmp_path, LimitSettings(), HERE)
    file.refresh()
    assert file.verdict.state == "no_key"
    assert file.current() is None
