"""The chain against stolen, stale and forged tokens (faults F 65-72 and 74).

Covers auth.external_issuer.
"""

import base64
import hashlib
import hmac
import json
import socket
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from auth.errors import TokenInvalid
from auth.external_issuer import vaults_of_audience
from auth.roles import Role
from tests.auth.forge import (
    CURVE,
    IDP,
    OTHER,
    PEM,
    PUBLIC_URL,
    RSA,
    URN,
    Door,
    claims,
    local_claims,
    local_token,
    raw_token,
    segment,
    signed,
)

# --- 65: algorithms


@pytest.mark.parametrize(
    "algorithm", ["none", "None", "nOnE", "NONE", "", None, 0, ["RS256"], {"RS256": 1}, "RS256 ", "EdDSA", "ES256"]
)
async def test_65_an_unsigned_token_or_another_algorithm_is_refused(door: Door, algorithm: Any) -> None:
    good = signed()
    for signature in (b"", base64.urlsafe_b64decode(good.rsplit(".", 1)[1] + "==")):
        assert await door.reason(raw_token({"alg": algorithm, "kid": "rsa"}, claims(), signature)) in {
            "key",
            "malformed",
        }
        header = {"alg": algorithm, "kid": door.ring.newest.kid, "typ": "at+jwt"}
        assert await door.reason(raw_token(header, claims(iss=URN, aud=URN), signature)) in {
            "key",
            "signature",
            "malformed",
        }
    header = segment({"kid": "rsa"})
    assert await door.reason(f"{header}.{segment(claims())}.") == "key"


async def test_65_a_public_key_is_never_a_shared_secret(door: Door) -> None:
    raw = door.ring.newest.public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    for secret in (PEM, PEM.strip(), b"", raw):
        for kid, iss in (("rsa", IDP), (door.ring.newest.kid, URN)):
            start = f"{segment({'alg': 'HS256', 'kid': kid, 'typ': 'at+jwt'})}.{segment(claims(iss=iss, aud=iss))}"
            signature = hmac.new(secret, start.encode(), hashlib.sha256).digest()
            assert await door.reason(f"{start}.{segment(signature)}") == "key"


async def test_65_a_key_verifies_only_with_its_own_algorithm(door: Door) -> None:
    assert await door.reason(signed(algorithm="PS256")) == "key"
    assert await door.reason(signed(key=CURVE, algorithm="ES256", kid="rsa")) == "key"
    assert await door.reason(signed(kid="ec")) == "key"


# --- 66, 67: kid, jku


@pytest.mark.parametrize(
    "kid",
    [
        "../../etc/passwd",
        "/dev/null",
        "x' UNION SELECT 1;--",
        "http://127.0.0.1/k",
        "0001.pem",
        "rsa\x00",
        "RSA",
        "unknown",
    ],
)
async def test_66_an_unknown_kid_is_compared_and_refused(door: Door, kid: str) -> None:
    assert await door.reason(signed(kid=kid)) == "key"
    issued = await local_token(door)
    assert await door.reason(local_claims(door, issued.token, header={"kid": kid})) == "key"
    assert door.keys.asked == [kid]


async def test_66_a_kid_of_a_megabyte_reaches_nobody(door: Door) -> None:
    assert await door.reason(signed(kid="k" * 1_000_000)) == "too_large"
    assert await door.reason(signed(kid="k" * 5_000)) == "key"
    assert door.keys.asked == []


async def test_67_addresses_and_keys_inside_a_token_are_ignored(door: Door) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/keys"
    mine = json.loads(jwt.algorithms.OKPAlgorithm.to_jwk(OTHER.public_key()))
    for header in (
        {"jku": url},
        {"x5u": url},
        {"jwk": mine},
        {"x5c": ["MII="]},
        {"jku": url, "jwk": mine, "kid": "nobody"},
    ):
        token = jwt.encode(claims(), OTHER, algorithm="EdDSA", headers={"kid": "rsa", **header})
        assert await door.reason(token) == "key"
        assert (await door(signed(**{**header, "kid": "rsa"}))).subject == "alice"  # signed with the right key
    with pytest.raises(BlockingIOError):
        listener.accept()
    listener.close()


# --- 69, 74: aud, iss, sub


@pytest.mark.parametrize(
    "aud", [..., None, "", "other", "me", "memo", "MEM", " mem", [], ["other"], [None], {"mem": 1}, URN, PUBLIC_URL]
)
async def test_69_a_token_for_someone_else_is_refused(door: Door, aud: Any) -> None:
    assert await door.reason(signed(claims(aud=aud))) in {"audience", "claims", "malformed"}


async def test_69_an_audience_list_must_name_us(door: Door) -> None:
    assert (await door(signed(claims(aud=["other", "mem"])))).subject == "alice"


@pytest.mark.parametrize(
    "iss", [..., None, 7, [IDP], "", f"{IDP}/", f"{IDP}.evil.example", IDP.upper(), f" {IDP}", "local", "stdio", "cli"]
)
async def test_69_an_issuer_alike_is_nobody(door: Door, iss: Any) -> None:
    payload = json.dumps(claims(iss=iss)).encode()
    signing = f"{segment({'alg': 'RS256', 'kid': 'rsa'})}.{segment(payload)}"
    signature = jwt.algorithms.RSAAlgorithm(jwt.algorithms.RSAAlgorithm.SHA256).sign(signing.encode(), RSA)
    assert await door.reason(f"{signing}.{segment(signature)}") == "issuer"


async def test_69_an_issuer_written_twice_gains_nothing(door: Door) -> None:
    body = json.dumps(claims())[:-1] + f', "iss": "{URN}"}}'
    signing = f"{segment({'alg': 'RS256', 'kid': 'rsa'})}.{segment(body.encode())}"
    signature = jwt.algorithms.RSAAlgorithm(jwt.algorithms.RSAAlgorithm.SHA256).sign(signing.encode(), RSA)
    assert await door.reason(f"{signing}.{segment(signature)}") in {"key", "malformed"}


@pytest.mark.parametrize("sub", [..., None, "", 7, ["alice"], {"a": 1}, "a\nb", "a\x00", "x" * 300, " alice"])
async def test_69_a_subject_that_is_no_name_is_refused(door: Door, sub: Any) -> None:
    signing = f"{segment({'alg': 'RS256', 'kid': 'rsa'})}.{segment(claims(sub=sub))}"
    signature = jwt.algorithms.RSAAlgorithm(jwt.algorithms.RSAAlgorithm.SHA256).sign(signing.encode(), RSA)
    assert await door.reason(f"{signing}.{segment(signature)}") == "claims"


async def test_69_a_lone_surrogate_in_the_subject_is_refused(door: Door) -> None:
    signing = f"{segment({'alg': 'RS256', 'kid': 'rsa'})}.{segment(claims(sub=chr(0xD800)))}"
    signature = jwt.algorithms.RSAAlgorithm(jwt.algorithms.RSAAlgorithm.SHA256).sign(signing.encode(), RSA)
    assert await door.reason(f"{signing}.{segment(signature)}") == "claims"


@pytest.mark.parametrize("typ", ["logout+jwt", "dpop+jwt", "secevent+jwt", "id+jwt", "JWE", ""])
async def test_74_a_token_made_for_something_else_is_refused(door: Door, typ: str) -> None:
    assert await door.reason(raw_token({"alg": "RS256", "kid": "rsa", "typ": typ}, claims(), b"x")) == "malformed"


async def test_74_an_id_token_of_the_same_issuer_is_refused_by_its_audience(door: Door) -> None:
    assert await door.reason(signed(claims(aud="client-1", nonce="n", azp="client-1"))) == "audience"


async def test_74_a_token_bound_to_a_key_is_no_bearer_token(door: Door) -> None:
    assert await door.reason(signed(claims(cnf={"jkt": "x"}))) == "claims"


@pytest.mark.parametrize(
    ("audiences", "expected"),
    [
        (["https://mem.example"], None),
        (["https://mem.example/mcp"], None),
        (["https://mem.example/v/a/mcp"], frozenset({"a"})),
        (["https://mem.example/v/a/mcp", "https://mem.example/v/b/mcp"], frozenset({"a", "b"})),
        (["https://mem.example/v/a/mcp", "https://mem.example"], None),
        (["https://mem.example/"], "audience"),
        (["https://mem.example/v/a/mcp/"], "audience"),
        (["https://mem.example/v/a/b/mcp"], "audience"),
        (["https://mem.example/v//mcp"], "audience"),
        (["https://memXexample/v/a/mcp"], "audience"),
        (["https://mem.example.evil/v/a/mcp"], "audience"),
        (["http://mem.example/v/a/mcp"], "audience"),
        (["https://mem.example/v/a/mcp?x"], "audience"),
    ],
)
def test_without_configured_audiences_the_url_a_token_was_asked_for_says_which_vaults(audiences, expected) -> None:
    if expected == "audience":
        with pytest.raises(TokenInvalid):
            vaults_of_audience(audiences, (), PUBLIC_URL)
    else:
        assert vaults_of_audience(audiences, (), PUBLIC_URL) == expected


# --- 70: times (edges are in test_verify)


@pytest.mark.parametrize(
    "change",
    [
        {"exp": 1},
        {"exp": ...},
        {"exp": "9999999999"},
        {"iat": ...},
        {"iat": 9999999999},
        {"nbf": 9999999999},
        {"exp": 1e300},
        {"nbf": "x"},
    ],
)
async def test_70_times_out_of_bounds_or_of_the_wrong_type_are_refused(door: Door, change: Any) -> None:
    assert await door.reason(signed(claims(**change))) in {"expired", "not_yet_valid", "claims"}
    issued = await local_token(door)
    assert await door.reason(local_claims(door, issued.token, **change)) in {"expired", "not_yet_valid", "claims"}


# --- 71: crit, nesting, odd signatures


@pytest.mark.parametrize("crit", [["exp"], ["b64"], [], "exp", None, [7], ["http://x/unknown"]])
async def test_71_a_critical_extension_is_refused(door: Door, crit: Any) -> None:
    assert await door.reason(raw_token({"alg": "RS256", "kid": "rsa", "crit": crit}, claims(), b"x")) == "malformed"


async def test_71_nested_and_encrypted_tokens_are_refused(door: Door) -> None:
    assert (
        await door.reason(jwt.api_jws.encode(signed().encode(), RSA, "RS256", headers={"kid": "rsa", "cty": "JWT"}))
        == "malformed"
    )
    assert (
        await door.reason(
            f"{segment({'alg': 'dir', 'enc': 'A256GCM'})}..{segment(b'iv')}.{segment(b'c')}.{segment(b't')}"
        )
        == "malformed"
    )


async def test_71_a_bent_signature_is_refused(door: Door) -> None:
    for good in (signed(), signed(key=CURVE, algorithm="ES256")):
        start, signature = good.rsplit(".", 1)
        raw = base64.urlsafe_b64decode(signature + "==")
        zeros, der = (
            b"\0" * len(raw),
            CURVE.sign(start.encode(), ec.ECDSA(__import__("cryptography").hazmat.primitives.hashes.SHA256())),
        )
        for bent in (b"", raw[:-1], raw + b"\0", zeros, der, bytes(reversed(raw)), raw[:-1] + bytes([raw[-1] ^ 1])):
            assert await door.reason(f"{start}.{segment(bent)}") == "signature"
        for text in (signature + "=", signature + "!", signature[:-1] + "\n", signature + ".x", f"{signature} "):
            assert await door.reason(f"{start}.{text}") in {"malformed", "signature"}


async def test_71_changed_claims_break_the_signature(door: Door) -> None:
    header, _, signature = signed().split(".")
    assert await door.reason(f"{header}.{segment(claims(sub='root'))}.{signature}") == "signature"
    issued = await local_token(door, role=Role.READER)
    header, payload, signature = issued.token.split(".")
    raised = {**json.loads(base64.urlsafe_b64decode(payload + "==")), "role": "admin"}
    assert await door.reason(f"{header}.{segment(raised)}.{signature}") == "signature"


# --- 72: size


@pytest.mark.parametrize("size", [8_193, 50_000])
async def test_72_a_large_token_is_refused_even_when_it_is_good(door: Door, size: int) -> None:
    assert await door.reason(signed(claims(padding="x" * size))) == "too_large"


# --- parts in another encoding than UTF-8: one reader would see claims where another sees none


@pytest.mark.parametrize(
    "encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "latin-1"]
)
async def test_a_well_signed_token_in_another_encoding_is_malformed(door: Door, encoding: str) -> None:
    local = await local_token(door)
    header, payload, _ = (base64.urlsafe_b64decode(part + "==") for part in local.token.split("."))
    private = door.ring.newest.private
    for head, body in ((header, recoded(payload, encoding)), (recoded(header, encoding), payload)):
        start = f"{segment(head)}.{segment(body)}"
        assert await door.reason(f"{start}.{segment(private.sign(start.encode()))}") == "malformed"


def recoded(part: bytes, encoding: str) -> bytes:
    return json.dumps({**json.loads(part), "name": "é"}, ensure_ascii=False).encode(encoding)


@pytest.mark.parametrize(
    "part",
    [b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\x00", b"null", b'"a"', b"[]", b"{", b'{"iss":"\xff"}', b"NaN", b"\xc0\x80"],
)
async def test_a_part_that_is_no_json_object_is_malformed(door: Door, part: bytes) -> None:
    for token in (f"{segment(part)}.{segment(claims())}.AAAA", f"{segment({'kid': 'rsa'})}.{segment(part)}.AAAA"):
        assert await door.reason(token) == "malformed"


async def test_lone_surrogates_and_nulls_in_a_token_are_refused_and_never_an_error(door: Door) -> None:
    for change in ({"iss": "\ud800"}, {"sub": "\ud800"}, {"sub": "a\x00b"}, {"aud": "\udfff"}):
        assert await door.reason(signed(claims(**change))) in {"issuer", "claims", "audience"}
    for header in ({"kid": "\ud800"}, {"kid": "rsa", "typ": "\ud800"}):
        assert await door.reason(raw_token(header, claims())) in {"key", "malformed"}
