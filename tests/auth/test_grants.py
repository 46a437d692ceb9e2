import pytest

from auth.grants import check_subject, default_issuer, list_grants, raise_grant, remove_grant, set_grant
from auth.principal import LOCAL
from auth.roles import Role
from vaults.db.transactions import Transactions
from vaults.errors import InvalidArgument, NotFound


async def held(control: Transactions) -> list[tuple[str, str, str, Role]]:
    return [(g.subject, g.issuer, g.vault, g.role) for g in await control.read(list_grants)]


async def test_setting_a_grant_again_replaces_its_role(control: Transactions) -> None:
    await control.write(lambda w: set_grant(w, "alice", LOCAL, "v1", Role.ADMIN))
    await control.write(lambda w: set_grant(w, "alice", LOCAL, "v1", Role.READER))
    assert await held(control) == [("alice", LOCAL, "v1", Role.READER)]


async def test_raising_never_lowers(control: Transactions) -> None:
    for role, expected in ((Role.READER, Role.READER), (Role.ADMIN, Role.ADMIN), (Role.WRITER, Role.ADMIN)):
        await control.write(lambda w, role=role: raise_grant(w, "alice", LOCAL, "v1", role))
        assert await held(control) == [("alice", LOCAL, "v1", expected)]


async def test_raising_is_content_with_a_role_on_every_vault(control: Transactions) -> None:
    await control.write(lambda w: set_grant(w, "alice", LOCAL, "*", Role.WRITER))
    await control.write(lambda w: raise_grant(w, "alice", LOCAL, "v1", Role.WRITER))
    assert await held(control) == [("alice", LOCAL, "*", Role.WRITER)]
    await control.write(lambda w: raise_grant(w, "alice", LOCAL, "v1", Role.ADMIN))
    assert ("alice", LOCAL, "v1", Role.ADMIN) in await held(control)


async def test_removing_takes_one_grant_and_says_when_there_is_none(control: Transactions) -> None:
    await control.write(lambda w: set_grant(w, "alice", LOCAL, "v1", Role.ADMIN))
    await control.write(lambda w: set_grant(w, "alice", LOCAL, "v2", Role.ADMIN))
    await control.write(lambda w: remove_grant(w, "alice", LOCAL, "v1"))
    assert await held(control) == [("alice", LOCAL, "v2", Role.ADMIN)]
    with pytest.raises(NotFound):
        await control.write(lambda w: remove_grant(w, "alice", LOCAL, "v1"))
    with pytest.raises(NotFound):
        await control.write(lambda w: remove_grant(w, "alice", "https://other", "v2"))


@pytest.mark.parametrize("subject", ["alice", "a@b.c", "team a", "sub:x", "email:a@b.c", "group:ü", "group:sub:x"])
def test_a_subject_is_a_name_plain_or_pinned(subject: str) -> None:
    assert check_subject(subject) == subject


@pytest.mark.parametrize("subject", ["", " ", "*", "sub:", "group: x", "sub:*", "a\nb", "a\x00", "\ud800", "x" * 300])
async def test_a_subject_that_is_none_is_refused_and_nothing_written(control: Transactions, subject: str) -> None:
    with pytest.raises(InvalidArgument, match="subject"):
        await control.write(lambda w: set_grant(w, subject, LOCAL, "v1", Role.READER))
    assert await held(control) == []


async def test_hostile_names_are_data(control: Transactions) -> None:
    evil = "x'); DROP TABLE grants;--"
    await control.write(lambda w: set_grant(w, evil, LOCAL, evil, Role.READER))
    assert await held(control) == [(evil, LOCAL, evil, Role.READER)]


def test_an_unnamed_issuer_is_local_for_local_subjects_else_the_only_outside_one() -> None:
    assert default_issuer("a", [], has_local_tokens=False) == LOCAL
    assert default_issuer("a", ["https://i"], has_local_tokens=True) == LOCAL
    assert default_issuer("a", ["https://i"], has_local_tokens=False) == "https://i"
    with pytest.raises(InvalidArgument, match="https://i, https://j"):
        default_issuer("a", ["https://i", "https://j"], has_local_tokens=False)
