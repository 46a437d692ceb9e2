"""Covers auth.authorize, auth.principal, auth.roles."""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auth.access import AccessSnapshot
from auth.authorize import Allowed, Denied, decide
from auth.principal import LOCAL, Principal, external_names, is_name, local_names, owner
from auth.roles import Role, parse_role, role_of_label, role_of_scopes
from vaults.errors import InvalidArgument

IDP = "https://id.example"


def picture(
    *grants: tuple[str, str, str, Role], live: Mapping[str, frozenset[str] | None] = MappingProxyType({"t1": None})
) -> AccessSnapshot:
    found: dict[str, dict[str, dict[str, Role]]] = {}
    for subject, issuer, vault, role in grants:
        found.setdefault(issuer, {}).setdefault(subject, {})[vault] = role
    return AccessSnapshot(found, live)


def local(subject: str = "alice", **caps: object) -> Principal:
    return Principal(subject, LOCAL, local_names(subject), **{"token_id": "t1", **caps})


def outside(subject: str = "alice", **rest: object) -> Principal:
    return Principal(subject, IDP, external_names(subject, "a@b.c", ("team",)), **rest)


def test_without_a_grant_nobody_may_do_anything() -> None:
    assert picture().role_in(local(), "v1") is None
    assert picture(("bob", LOCAL, "v1", Role.ADMIN)).role_in(local(), "v1") is None


def test_a_grant_counts_for_its_vault_alone() -> None:
    access = picture(("alice", LOCAL, "v1", Role.WRITER))
    assert access.role_in(local(), "v1") is Role.WRITER
    for other in ("v2", "V1", "v1 ", "", "v", "*", "v11"):
        assert access.role_in(local(), other) is None


def test_a_grant_counts_for_its_issuer_alone() -> None:
    access = picture(("alice", IDP, "v1", Role.ADMIN))
    assert access.role_in(local(), "v1") is None
    assert access.role_in(outside(), "v1") is Role.ADMIN
    assert access.role_in(dataclasses.replace(outside(), issuer=f"{IDP}/"), "v1") is None


@pytest.mark.parametrize("name", ["alice", "sub:alice", "a@b.c", "email:a@b.c", "team", "group:team"])
def test_a_grant_may_name_subject_mail_or_group(name: str) -> None:
    assert picture((name, IDP, "v1", Role.READER)).role_in(outside(), "v1") is Role.READER


@pytest.mark.parametrize("name", ["email:alice", "group:alice", "sub:a@b.c", "sub:team", "group:a@b.c"])
def test_a_pinned_grant_means_only_that_kind_of_name(name: str) -> None:
    assert picture((name, IDP, "v1", Role.READER)).role_in(outside(), "v1") is None


@pytest.mark.parametrize("claim", ["group:admins", "email:boss@x", "sub:root"])
def test_a_name_that_looks_pinned_does_not_match_the_pin(claim: str) -> None:
    access = picture((claim, IDP, "v1", Role.ADMIN))
    assert access.role_in(Principal(claim, IDP, external_names(claim, None, ())), "v1") is None
    assert access.role_in(Principal("x", IDP, external_names("x", claim, ())), "v1") is None
    assert access.role_in(Principal("x", IDP, external_names("x", None, (claim,))), "v1") is None


def test_grants_add_up_over_names_and_the_star() -> None:
    access = picture(("alice", IDP, "*", Role.READER), ("group:team", IDP, "v1", Role.ADMIN))
    assert access.role_in(outside(), "v1") is Role.ADMIN
    assert access.role_in(outside(), "v2") is Role.READER


def test_a_token_takes_away_from_the_grant_and_never_adds() -> None:
    grants = ("alice", LOCAL, "v1", Role.WRITER), ("alice", LOCAL, "v2", Role.WRITER)
    access = picture(*grants, live={"t1": frozenset({"v1", "v3"}), "t2": None})
    capped = local(token_role=Role.READER)
    assert [access.role_in(capped, vault) for vault in ("v1", "v2", "v3")] == [Role.READER, None, None]
    assert access.role_in(local(token_id="t2", token_role=Role.ADMIN), "v1") is Role.WRITER


def test_a_token_issued_here_opens_what_the_table_says_now_not_what_was_signed() -> None:
    access = picture(("alice", LOCAL, "*", Role.WRITER), live={"t1": frozenset({"new"})})
    signed = local(token_vaults=frozenset({"old"}))
    assert [access.role_in(signed, vault) for vault in ("old", "new")] == [None, Role.WRITER]
    assert access.vaults_of(signed, {"old", "new"}) == {"new": Role.WRITER}


def test_a_revoked_or_unknown_token_id_has_no_role_even_with_a_grant() -> None:
    assert picture(("alice", LOCAL, "v1", Role.ADMIN), live={}).role_in(local(), "v1") is None


def test_scopes_cap_and_a_token_without_any_may_do_nothing() -> None:
    access = picture(("alice", IDP, "v1", Role.ADMIN))
    assert access.role_in(outside(scope_role=Role.READER), "v1") is Role.READER
    assert access.role_in(outside(lacks_scope=True), "v1") is None


def test_the_owner_at_the_machine_may_do_everything() -> None:
    assert picture().role_in(owner("stdio"), "v1") is Role.ADMIN
    with pytest.raises(ValueError):
        owner("https://id.example")


def test_the_vaults_of_a_caller_are_the_known_and_granted_ones() -> None:
    access = picture(
        ("alice", LOCAL, "v2", Role.WRITER), ("alice", LOCAL, "v1", Role.READER), ("alice", LOCAL, "gone", Role.ADMIN),
        live={"t1": None, "t2": frozenset({"v2", "v3"})},
    )  # fmt: skip
    assert list(access.vaults_of(local(), {"v2", "v1", "v3"}).items()) == [("v1", Role.READER), ("v2", Role.WRITER)]
    assert access.vaults_of(local(token_id="t2"), {"v1", "v2", "v3"}) == {"v2": Role.WRITER}
    assert access.vaults_of(owner("cli"), {"v3"}) == {"v3": Role.ADMIN}
    starred = picture(("alice", LOCAL, "*", Role.READER))
    assert starred.vaults_of(local(), ["b", "a"]) == {"a": Role.READER, "b": Role.READER}


names = st.sampled_from(["alice", "sub:alice", "bob", "team", "group:team"])
vaults = st.sampled_from(["v1", "v2", "*"])
roles = st.sampled_from(list(Role))


@given(
    st.lists(st.tuples(names, st.sampled_from([LOCAL, IDP]), vaults, roles), max_size=8),
    st.none() | st.frozensets(st.sampled_from(["v1", "v2"])),
    roles,
    st.none() | roles,
)
def test_caps_only_ever_lower_a_role(
    grants: list, token_vaults: frozenset | None, token_role: Role, scope: Role | None
) -> None:
    access = picture(*grants)
    free = outside()
    capped = outside(token_vaults=token_vaults, token_role=token_role, scope_role=scope)
    for vault in ("v1", "v2"):
        before, after = access.role_in(free, vault), access.role_in(capped, vault)
        assert after is None or (before is not None and after <= min(before, token_role, scope or Role.ADMIN))
        assert after is None or token_vaults is None or vault in token_vaults
        named = {
            role
            for name, issuer, where, role in grants
            if issuer == IDP and name in free.names and where in (vault, "*")
        }
        assert before is None or before in named  # never a role nobody granted
    assert set(access.vaults_of(capped, {"v1", "v2"})) == {v for v in ("v1", "v2") if access.role_in(capped, v)}


@pytest.mark.parametrize(
    ("principal", "vault", "required", "expected"),
    [
        (local(), "v1", Role.WRITER, Allowed(Role.WRITER)),
        (local(), "v1", Role.ADMIN, Denied("role")),
        (local(), "v9", Role.READER, Denied("no_grant")),
        (outside(scope_role=Role.READER), "v1", Role.READER, Allowed(Role.READER)),
        (outside(scope_role=Role.READER), "v1", Role.WRITER, Denied("scope", "vault:read vault:write")),
        (outside(scope_role=Role.READER), "v1", Role.ADMIN, Denied("role")),
        (outside(scope_role=Role.READER), "v9", Role.WRITER, Denied("no_grant")),
        (outside(lacks_scope=True), "v1", Role.WRITER, Denied("scope", "vault:read")),
        (outside(lacks_scope=True), "v9", Role.WRITER, Denied("scope", "vault:read")),
    ],
)
def test_a_decision_speaks_of_scopes_only_where_the_grant_would_do(principal, vault, required, expected) -> None:
    access = picture(("alice", LOCAL, "v1", Role.WRITER), ("alice", IDP, "v1", Role.WRITER))
    assert decide(access, principal, vault, required) == expected


def test_the_key_of_a_principal_tells_issuers_and_subjects_apart() -> None:
    keys = {local("alice").key, local("bob").key, outside("alice").key}
    assert len(keys) == 3
    assert all(len(key) == 16 and "alice" not in key for key in keys)
    assert local("alice", token_id="other").key == local("alice").key


@pytest.mark.parametrize("text", ["", " a", "a ", "a\nb", "\x00", "\ud800", "a\u202eb", "x" * 256])
def test_what_cannot_stand_in_a_log_line_is_no_name(text: str) -> None:
    assert not is_name(text)


def test_roles_are_read_and_written_by_name() -> None:
    assert [(role.label, role.scope) for role in Role] == [
        ("reader", "vault:read"),
        ("writer", "vault:write"),
        ("admin", "vault:admin"),
    ]
    assert parse_role("writer") is Role.WRITER
    assert role_of_label(["writer"]) is None
    assert role_of_scopes(["openid", "vault:write", "vault:read"]) is Role.WRITER
    assert role_of_scopes(["vault:*", "VAULT:READ", "offline_access", ""]) is None
    with pytest.raises(InvalidArgument, match="role must be"):
        parse_role("owner")
