"""Who is meant by an address."""

from __future__ import annotations

import pytest

from auth.handoff_addresses import addresses_of, is_handoff_address
from auth.principal import Principal, external_names, local_names, owner
from auth.roles import Role


def test_a_role_is_answered_to_by_those_who_have_it_at_least() -> None:
    ann = Principal("ann", "local", local_names("ann"))
    assert addresses_of(ann, Role.READER) == ("ann", "sub:ann", "role:reader")
    assert addresses_of(ann, Role.ADMIN)[2:] == ("role:reader", "role:writer", "role:admin")
    assert "owner" in addresses_of(owner("cli"), Role.ADMIN)


def test_an_outside_identity_answers_to_its_groups_and_verified_e_mail() -> None:
    names = external_names("8f3", "ann@example.org", ("team-a",))
    found = addresses_of(Principal("8f3", "https://idp.example", names), Role.WRITER)
    assert {"8f3", "ann@example.org", "group:team-a", "team-a"} <= set(found)


def test_a_name_that_looks_like_a_role_is_no_role() -> None:
    sly = Principal("role:admin", "local", local_names("role:admin"))
    assert "role:admin" not in addresses_of(sly, Role.WRITER)
    assert "sub:role:admin" in addresses_of(sly, Role.WRITER)


@pytest.mark.parametrize("text", ["ann", "role:reader", "email:ann@example.org", "sub:role:admin"])
def test_addresses(text: str) -> None:
    assert is_handoff_address(text)


@pytest.mark.parametrize("text", ["", " ann", "role:owner", "role:", "two\nlines", "x" * 256])
def test_no_addresses(text: str) -> None:
    assert not is_handoff_address(text)
