import jwt
import pytest

from auth.grants import list_grants, set_grant
from auth.keys import KeyRing
from auth.principal import LOCAL
from auth.roles import Role
from auth.tokens import TokenRequest, create_token, has_local_tokens, list_tokens, revoke_token
from vaults.db.connection import Database
from vaults.db.transactions import Transactions
from vaults.errors import InvalidArgument, NotFound

ALICE = TokenRequest("alice", ("v1",), Role.WRITER, 3600)


async def test_a_token_carries_exactly_what_was_asked(control: Transactions, ring: KeyRing) -> None:
    request = TokenRequest("alice", ("v1", "v2", "v1"), Role.WRITER, 3600, preset="notes")
    issued = await control.write(lambda w: create_token(w, ring, "abc", request))
    header = jwt.get_unverified_header(issued.token)
    claims = jwt.decode(issued.token, ring.newest.public, algorithms=["EdDSA"], audience="urn:strongroom:abc")
    assert header == {"alg": "EdDSA", "typ": "at+jwt", "kid": ring.newest.kid}
    assert (claims["iss"], claims["sub"], claims["jti"]) == ("urn:strongroom:abc", "alice", issued.id)
    assert (claims["vaults"], claims["role"], claims["preset"]) == (["v1", "v2"], "writer", "notes")
    assert claims["exp"] - claims["iat"] == 3600
    assert issued.expires_at.endswith("Z")


async def test_the_token_itself_is_stored_nowhere(control_file: Database, ring: KeyRing) -> None:
    issued = await control_file.write(lambda w: create_token(w, ring, "abc", ALICE))
    await control_file.checkpoint()
    signature = issued.token.rsplit(".", 1)[1].encode()
    assert signature not in control_file.path.read_bytes()
    (record,) = await control_file.read(list_tokens)
    assert (record.id, record.subject, record.vaults, record.role) == (issued.id, "alice", ("v1",), Role.WRITER)
    assert record.revoked_at is None


async def test_the_grants_a_token_needs_come_with_it_and_are_never_lowered(
    control: Transactions, ring: KeyRing
) -> None:
    await control.write(lambda w: set_grant(w, "alice", LOCAL, "v1", Role.ADMIN))
    await control.write(lambda w: create_token(w, ring, "abc", TokenRequest("alice", ("v1", "v2"), Role.WRITER, 60)))
    grants = {(g.vault, g.issuer): g.role for g in await control.read(list_grants)}
    assert grants == {("v1", LOCAL): Role.ADMIN, ("v2", LOCAL): Role.WRITER}


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (TokenRequest("", ("v1",), Role.READER, 60), "subject"),
        (TokenRequest("group:a", ("v1",), Role.READER, 60), "subject"),
        (TokenRequest("*", ("v1",), Role.READER, 60), "subject"),
        (TokenRequest("a\n", ("v1",), Role.READER, 60), "subject"),
        (TokenRequest("a", (), Role.READER, 60), "vault"),
        (TokenRequest("a", ("v1", "*"), Role.READER, 60), "vault"),
        (TokenRequest("a", ("v1", ""), Role.READER, 60), "vault"),
        (TokenRequest("a", tuple(f"{'v' * 60}{n}" for n in range(200)), Role.READER, 60), "vault"),
        (TokenRequest("a", ("v1",), Role.READER, 0), "ttl"),
        (TokenRequest("a", ("v1",), Role.READER, 10**12), "ttl"),
    ],
)
async def test_a_bad_request_names_the_field_and_writes_nothing(control, ring, request_, field) -> None:
    with pytest.raises(InvalidArgument, match=f"Validation error: {field} "):
        await control.write(lambda w: create_token(w, ring, "abc", request_))
    assert await control.read(list_tokens) == []
    assert await control.read(list_grants) == []


async def test_revoking_is_idempotent_and_an_unknown_id_is_not_found(control: Transactions, ring: KeyRing) -> None:
    issued = await control.write(lambda w: create_token(w, ring, "abc", ALICE))
    first = await control.write(lambda w: revoke_token(w, issued.id))
    assert first.revoked_at is not None
    assert await control.write(lambda w: revoke_token(w, issued.id)) == first
    with pytest.raises(NotFound):
        await control.write(lambda w: revoke_token(w, "01a20055-8fea-705e-8558-83e20445ce73"))


async def test_who_was_ever_given_a_token_counts_as_local(control: Transactions, ring: KeyRing) -> None:
    assert not await control.read(lambda r: has_local_tokens(r, "alice"))
    await control.write(lambda w: create_token(w, ring, "abc", ALICE))
    assert await control.read(lambda r: has_local_tokens(r, "alice"))
    assert not await control.read(lambda r: has_local_tokens(r, "alic"))
