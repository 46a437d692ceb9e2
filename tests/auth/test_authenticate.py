"""The chain against real, stolen, stale and forged tokens of both kinds (faults F 65-74)."""

import base64
import hashlib
import hmac
import json
import socket
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from auth.authenticate import REMEMBERED, Authenticator
from auth.board import AccessBoard
from auth.errors import TokenInvalid
from auth.grants import set_grant
from auth.keys import KeyRing
from auth.local import LocalAuthenticator
from auth.outside import OutsideAuthenticator, vaults_of_audience
from auth.principal import LOCAL
from auth.roles import Role
from auth.settings import IssuerSettings
from auth.tokens import TokenRequest, create_token, revoke_token
from auth.verify import VerifyKey
from vaults.db.connection import Database
from vaults.errors import VaultUnavailable

INSTANCE = "abc"
URN = "urn:strongroom:abc"
IDP = "https://id.example"
PUBLIC_URL = "https://mem.example"
RSA = rsa.generate_private_key(65537, 2048)
CURVE = ec.generate_private_key(ec.SECP256R1())
OTHER = ed25519.Ed25519PrivateKey.generate()
PEM = RSA.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


class HeldKeys:
    """What ``IssuerKeys`` holds once fetched; fetching has its own tests."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def find(self, kid: str) -> VerifyKey | None:
        self.asked.append(kid)
        held = {"rsa": VerifyKey(RSA.public_key(), ("RS256",)), "ec": VerifyKey(CURVE.public_key(), ("ES256",))}
        return held.get(kid)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Door:
    """One installation with an outside issuer, and a mint for its tokens."""

    def __init__(self, control: Database, ring: KeyRing, **issuer: Any) -> None:
        self.control, self.ring, self.keys, self.clock = control, ring, HeldKeys(), Clock()
        self.board = AccessBoard(control)
        settings = IssuerSettings(**{"issuer": IDP, "jwks_url": f"{IDP}/keys", "audiences": ("mem",), **issuer})
        self.chain = [
            LocalAuthenticator(ring, INSTANCE, 30),
            OutsideAuthenticator(settings, self.keys, PUBLIC_URL, 30),  # type: ignore[arg-type]
        ]
        self.authenticator = Authenticator(self.chain, self.board, clock=self.clock)

    async def __call__(self, token: str) -> Any:
        return await self.authenticator.authenticate(token)

    async def reason(self, token: str) -> str:
        with pytest.raises(TokenInvalid) as caught:
            await self(token)
        return caught.value.reason


@pytest.fixture
async def door(control: Database, ring: KeyRing) -> Door:
    made = Door(control, ring)
    await made.board.refresh()
    return made


def claims(**change: Any) -> dict[str, Any]:
    now = int(time.time())
    usual = {"iss": IDP, "aud": "mem", "sub": "alice", "iat": now, "exp": now + 600, "scope": "vault:read vault:write"}
    return {name: value for name, value in {**usual, **change}.items() if value is not ...}


def signed(payload: dict[str, Any] | None = None, key: Any = RSA, algorithm: str = "RS256", **header: Any) -> str:
    header = {"kid": "ec" if algorithm == "ES256" else "rsa", **header}
    return jwt.encode(payload or claims(), key, algorithm=algorithm, headers=header)


def segment(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def raw_token(header: dict[str, Any], payload: dict[str, Any], signature: bytes = b"") -> str:
    return f"{segment(header)}.{segment(payload)}.{segment(signature)}"


async def local_token(door: Door, **request: Any) -> Any:
    wanted = TokenRequest(**{"subject": "alice", "vaults": ("v1",), "role": Role.WRITER, "ttl_s": 600, **request})
    return await door.board.write(lambda w: create_token(w, door.ring, INSTANCE, wanted))


def local_claims(door: Door, token: str, **change: Any) -> str:
    """A token signed by our own key with other claims: what a bug in issuing could bring about."""
    payload = jwt.decode(token, options={"verify_signature": False})
    header = {"kid": door.ring.newest.kid, "typ": "at+jwt", **change.pop("header", {})}
    payload = {name: value for name, value in {**payload, **change}.items() if value is not ...}
    return jwt.encode(payload, door.ring.newest.private, algorithm="EdDSA", headers=header)


# --- good ones


async def test_a_local_token_gives_its_principal_and_caps(door: Door) -> None:
    issued = await local_token(door, vaults=("v1", "v2"), role=Role.READER, preset="notes")
    principal = await door(issued.token)
    assert (principal.subject, principal.issuer, principal.token_id) == ("alice", LOCAL, issued.id)
    assert (principal.token_vaults, principal.token_role, principal.preset) == ({"v1", "v2"}, Role.READER, "notes")
    assert (principal.scope_role, principal.lacks_scope) == (None, False)
    assert door.board.current.role_in(principal, "v1") is Role.READER


async def test_a_star_token_has_no_cap_on_vaults(door: Door) -> None:
    assert (await door((await local_token(door, vaults=("*",))).token)).token_vaults is None


@pytest.mark.parametrize("typ", ["at+jwt", "AT+JWT", "application/at+jwt", "JWT", "jwt", None])
@pytest.mark.parametrize(("key", "algorithm"), [(RSA, "RS256"), (CURVE, "ES256")])
async def test_an_outside_token_gives_its_names_and_scopes(
    door: Door, key: Any, algorithm: str, typ: str | None
) -> None:
    payload = claims(email="a@b.c", email_verified=True, groups=["team", 7, "bad\n"])
    principal = await door(signed(payload, key, algorithm, typ=typ))
    assert (principal.issuer, principal.scope_role, principal.token_vaults) == (IDP, Role.WRITER, None)
    assert principal.names == {"alice", "sub:alice", "a@b.c", "email:a@b.c", "team", "group:team"}


@pytest.mark.parametrize("verified", [False, "true", 1, None, ...])
async def test_an_email_counts_only_when_the_issuer_says_it_is_verified(door: Door, verified: Any) -> None:
    principal = await door(signed(claims(email="boss@b.c", email_verified=verified)))
    assert principal.names == {"alice", "sub:alice"}


@pytest.mark.parametrize(
    ("change", "role", "lacks"),
    [
        ({"scope": "vault:read"}, Role.READER, False),
        ({"scope": "openid vault:admin"}, Role.ADMIN, False),
        ({"scope": ..., "scp": ["vault:write"]}, Role.WRITER, False),
        ({"scope": ..., "scp": "vault:read"}, Role.READER, False),
        ({"scope": "openid"}, None, True),
        ({"scope": ...}, None, True),
        ({"scope": ["vault:read", 7]}, Role.READER, False),
        ({"scope": {"vault:read": 1}}, None, True),
        ({"scope": "vault:*"}, None, True),
    ],
)
async def test_scopes_cap_and_their_absence_is_marked(door: Door, change: Any, role: Role | None, lacks: bool) -> None:
    principal = await door(signed(claims(**change)))
    assert (principal.scope_role, principal.lacks_scope) == (role, lacks)


async def test_scopes_need_not_be_there_where_the_operator_says_so(control: Database, ring: KeyRing) -> None:
    door = Door(control, ring, require_scope=False, groups_claim="roles")
    principal = await door(signed(claims(scope=..., roles="team")))
    assert (principal.scope_role, principal.lacks_scope) == (None, False)
    assert "group:team" in principal.names


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
    assert await door.reason(signed(claims(**change))) in {"time", "claims"}
    issued = await local_token(door)
    assert await door.reason(local_claims(door, issued.token, **change)) in {"time", "claims"}


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


# --- local tokens


@pytest.mark.parametrize(
    "change",
    [
        {"iss": "urn:strongroom:abd"},
        {"aud": "urn:strongroom:abd"},
        {"aud": [URN, "other"]},
        {"aud": ...},
        {"jti": ...},
        {"jti": 7},
        {"jti": ""},
        {"role": "owner"},
        {"role": ...},
        {"role": ["admin"]},
        {"vaults": ...},
        {"vaults": "v1"},
        {"vaults": [1]},
        {"preset": 7},
        {"sub": ...},
        {"header": {"typ": "JWT"}},
        {"header": {"typ": None}},
    ],
)
async def test_a_local_token_must_be_exactly_what_we_issue(door: Door, change: Any) -> None:
    issued = await local_token(door)
    assert await door.reason(local_claims(door, issued.token, **change)) in {
        "issuer",
        "audience",
        "claims",
        "malformed",
    }
    assert (await door(local_claims(door, issued.token))).token_id == issued.id


async def test_a_token_of_another_installation_is_refused(door: Door) -> None:
    issued = await local_token(door)
    payload = jwt.decode(issued.token, options={"verify_signature": False})
    assert (
        await door.reason(jwt.encode(payload, OTHER, "EdDSA", headers={"kid": door.ring.newest.kid, "typ": "at+jwt"}))
        == "signature"
    )


# --- 73: revocation


async def test_73_a_revoked_token_is_refused_on_the_next_request_although_remembered(door: Door) -> None:
    issued = await local_token(door)
    await door(issued.token)
    await door.board.write(lambda w: revoke_token(w, issued.id))
    assert await door.reason(issued.token) == "revoked"


async def test_73_a_token_another_process_just_made_is_good_at_once(door: Door) -> None:
    request = TokenRequest("bob", ("v1",), Role.READER, 600)
    issued = await door.control.write(lambda w: create_token(w, door.ring, INSTANCE, request))
    assert (await door(issued.token)).subject == "bob"


async def test_73_a_lowered_role_holds_for_the_token_already_in_use(door: Door) -> None:
    issued = await local_token(door, role=Role.ADMIN)
    principal = await door(issued.token)
    await door.board.write(lambda w: set_grant(w, "alice", LOCAL, "v1", Role.READER))
    assert door.board.current.role_in(principal, "v1") is Role.READER


async def test_73_a_token_whose_row_is_gone_is_refused(door: Door) -> None:
    issued = await local_token(door)
    await door.board.write(lambda w: w.run("DELETE FROM tokens"))
    assert await door.reason(issued.token) == "revoked"


async def test_when_grants_cannot_be_read_local_tokens_are_refused_as_unavailable(
    control: Database, ring: KeyRing
) -> None:
    door = Door(control, ring)
    issued = await control.write(lambda w: create_token(w, ring, INSTANCE, TokenRequest("a", ("v1",), Role.READER, 60)))
    with pytest.raises(VaultUnavailable):
        await door(issued.token)


# --- remembering


async def test_a_verified_token_is_remembered_for_thirty_seconds(door: Door) -> None:
    token = signed()
    for _ in range(3):
        await door(token)
    assert door.keys.asked == ["rsa"]
    door.clock.now += 30
    await door(token)
    assert door.keys.asked == ["rsa", "rsa"]


async def test_a_token_is_not_remembered_beyond_its_own_end(door: Door) -> None:
    now = int(time.time())
    short = signed(claims(exp=now + 10))
    await door(short)
    door.clock.now += 10
    await door(short)
    within_leeway = signed(claims(exp=now - 5, iat=now - 60))
    for _ in range(2):
        await door(within_leeway)
    assert door.keys.asked == ["rsa"] * 4
    assert len(door.authenticator._verified) == 1


async def test_refused_tokens_push_nobody_out_and_the_memory_is_bounded(door: Door) -> None:
    for number in range(5):
        await door.reason(raw_token({"alg": "RS256", "kid": "rsa"}, claims(sub=f"s{number}"), b"x"))
    assert not door.authenticator._verified
    principal = await door(signed())
    for number in range(REMEMBERED + 5):
        door.authenticator._remember(number.to_bytes(32, "big"), principal)
    assert len(door.authenticator._verified) == REMEMBERED


async def test_no_token_is_kept_as_text(door: Door) -> None:
    token = signed()
    await door(token)
    assert all(isinstance(key, bytes) and len(key) == 32 for key in door.authenticator._verified)
