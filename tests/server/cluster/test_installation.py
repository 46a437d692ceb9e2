"""What all servers of an installation share besides vaults: who is known, with which keys, and by which licence.

Covers server.cluster.installation_files, vaults.cluster.control.file_rows.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from auth import key_rotation
from auth.access_cache import AccessCache
from auth.grants import remove_grant, set_grant
from auth.kept_secrets import open_secret
from auth.keys import KEYS_FOLDER, KeyRing, add_key, open_key_ring, remove_key
from auth.passphrase_change import change_passphrase
from auth.people import accounts, browser_sessions, invites
from auth.principal import LOCAL, Principal
from auth.roles import Role
from auth.tokens import TokenRequest, create_token
from server.cluster.installation import MARKER, SharedInstallation, open_installation
from server.cluster_settings import ClusterSettings
from tests.cluster.cut_proxy import CutProxy
from tests.cluster.laid_out_databases import INSTALLATION
from tests.cluster.postgres_server import PostgresServer
from tests.vaults.cluster.conftest import proxy
from vaults import registry
from vaults.cluster.failures import LogUnavailable
from vaults.db.connection import Database
from vaults.db.migration import migrate
from vaults.errors import Conflict, InvalidArgument, VaultUnavailable
from vaults.settings import StorageSettings

__all__ = ["proxy"]

LICENCE = "licence.jwt"
NOW = 1_800_000_000.0


class Servers:
    """Two of one installation, each with a folder of its own."""

    def __init__(self, url: str, folder: Path, stack: AsyncExitStack) -> None:
        self.settings = ClusterSettings(url=url, connections=4)
        self._folder, self._stack = folder, stack

    def data(self, name: str) -> Path:
        return self._folder / name

    async def open(self, name: str) -> SharedInstallation:
        return await self._stack.enter_async_context(open_installation(self.settings, self.data(name)))


@pytest.fixture
async def servers(url: str, tmp_path: Path) -> AsyncIterator[Servers]:
    async with AsyncExitStack() as stack:
        yield Servers(url, tmp_path, stack)


def keys_of(servers: Servers, name: str) -> dict[str, bytes]:
    folder = servers.data(name) / KEYS_FOLDER
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def ring_of(servers: Servers, name: str) -> KeyRing:
    return open_key_ring(servers.data(name) / KEYS_FOLDER)


async def test_a_fresh_folder_becomes_one_of_the_installation(servers: Servers) -> None:
    one = await servers.open("one")
    assert one.id == INSTALLATION == await registry.instance_id(one.control)
    assert (servers.data("one") / MARKER).read_text().strip() == INSTALLATION
    assert not (servers.data("one") / "control.db").exists()


async def test_a_folder_of_another_installation_is_refused_by_name(servers: Servers) -> None:
    servers.data("one").mkdir()
    db = Database(servers.data("one") / "control.db", StorageSettings())
    await migrate(db, "control")
    other = await registry.instance_id(db)
    await db.close()
    with pytest.raises(InvalidArgument, match=other):
        await servers.open("one")
    servers.data("two").mkdir()
    (servers.data("two") / MARKER).write_text("somebody-else\n")
    with pytest.raises(InvalidArgument, match="somebody-else"):
        await servers.open("two")


async def test_a_folder_with_keys_of_its_own_is_refused_and_keeps_them(servers: Servers) -> None:
    ring = ring_of(servers, "one")
    with pytest.raises(InvalidArgument, match=r"0001\.pem"):
        await servers.open("one")
    assert ring_of(servers, "one").newest.kid == ring.newest.kid


async def test_a_database_without_tables_is_refused(postgres: PostgresServer, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="no tables"):
        async with open_installation(ClusterSettings(url=postgres.create_database()), tmp_path):
            pass


async def test_servers_that_start_at_once_sign_with_one_key_and_seal_with_one_secret(servers: Servers) -> None:
    await servers.open("one")
    await servers.open("two")
    names = ("one", "two")
    rings = await asyncio.gather(*(asyncio.to_thread(ring_of, servers, name) for name in names))
    assert rings[0].newest.kid == rings[1].newest.kid
    folders = [servers.data(name) / KEYS_FOLDER for name in names]
    sealed = await asyncio.gather(*(asyncio.to_thread(open_secret, each, "social.key", None) for each in folders))
    assert sealed[0] == sealed[1]
    assert keys_of(servers, "one") == keys_of(servers, "two")


async def test_a_server_that_comes_later_has_the_keys(servers: Servers) -> None:
    await servers.open("one")
    kid = ring_of(servers, "one").newest.kid
    await servers.open("two")
    assert ring_of(servers, "two").newest.kid == kid


async def test_a_rotation_on_one_server_is_followed_by_the_others(servers: Servers) -> None:
    one, two = await servers.open("one"), await servers.open("two")
    here, there = ring_of(servers, "one"), ring_of(servers, "two")
    old = here.newest
    new = await key_rotation.rotate(one.control, here)
    two.files.follow()
    there.refresh()
    assert there.newest.kid == new.kid
    remove_key(here, old)
    two.files.follow()
    there.refresh()
    assert there.find(old.kid) is None
    assert keys_of(servers, "one") == keys_of(servers, "two")
    assert set(keys_of(servers, "two")) == {"0001.pub", "0002.pem"}


async def test_of_two_rotations_at_once_one_is_made(servers: Servers) -> None:
    await servers.open("one")
    await servers.open("two")
    here, there = ring_of(servers, "one"), ring_of(servers, "two")
    add_key(here)
    with pytest.raises(Conflict):
        add_key(there)


async def test_another_passphrase_holds_on_all_servers(servers: Servers, tmp_path: Path) -> None:
    await servers.open("one")
    two = await servers.open("two")
    kid = ring_of(servers, "one").newest.kid
    ring_of(servers, "two")
    change_passphrase(servers.data("one") / KEYS_FOLDER, None, b"a long passphrase")
    two.files.follow()
    assert b"ENCRYPTED" in keys_of(servers, "two")["0001.pem"]
    passphrase = tmp_path / "passphrase"
    passphrase.write_text("a long passphrase")
    passphrase.chmod(0o600)
    assert open_key_ring(servers.data("two") / KEYS_FOLDER, str(passphrase)).newest.kid == kid


async def test_a_file_that_is_lost_here_is_laid_out_again(servers: Servers) -> None:
    one = await servers.open("one")
    ring_of(servers, "one")
    kept = keys_of(servers, "one")
    (servers.data("one") / KEYS_FOLDER / "0001.pem").unlink()
    one.files.follow()
    assert keys_of(servers, "one") == kept


async def test_a_key_that_was_removed_while_a_server_was_off_goes_when_it_is_back(servers: Servers) -> None:
    one = await servers.open("one")
    async with open_installation(servers.settings, servers.data("two")):
        ring = ring_of(servers, "one")
        old = ring.newest
        add_key(ring)
    remove_key(ring, old)
    await servers.open("two")
    assert keys_of(servers, "two") == keys_of(servers, "one")
    assert one.files.keep_all() == []


async def test_a_licence_put_on_one_server_holds_on_all_and_goes_from_all(servers: Servers) -> None:
    one, two = await servers.open("one"), await servers.open("two")
    here, there = servers.data("one") / LICENCE, servers.data("two") / LICENCE
    for text in ("first", "second"):
        here.write_text(text)
        one.files.follow()
        two.files.follow()
        assert there.read_text() == text
    there.unlink()
    two.files.follow()
    one.files.follow()
    assert not here.exists()


async def test_what_is_made_without_the_database_is_not_made(
    postgres: PostgresServer, url: str, proxy: CutProxy, tmp_path: Path
) -> None:
    through = url.replace(f":{postgres.port}/", f":{proxy.port}/")
    async with open_installation(ClusterSettings(url=through, lease_s=2), tmp_path):
        proxy.refuse()
        with pytest.raises(LogUnavailable):
            open_secret(tmp_path / KEYS_FOLDER, "social.key", None)
        assert not (tmp_path / KEYS_FOLDER / "social.key").exists()
        proxy.flow()
        open_secret(tmp_path / KEYS_FOLDER, "social.key", None)


async def test_grants_and_revocations_made_on_one_server_hold_on_the_other_at_its_next_look(servers: Servers) -> None:
    one, two = await servers.open("one"), await servers.open("two")
    here, there = AccessCache(one.control), AccessCache(two.control)
    ann = Principal("ann", LOCAL, frozenset({"ann"}))
    await here.write(lambda tx: set_grant(tx, "ann", LOCAL, "main", Role.READER))
    assert (await there.refresh()).role_in(ann, "main") == Role.READER
    await here.write(lambda tx: remove_grant(tx, "ann", LOCAL, "main"))
    assert (await there.refresh()).role_in(ann, "main") is None


async def test_a_token_made_on_one_server_is_known_on_the_other(servers: Servers) -> None:
    one, two = await servers.open("one"), await servers.open("two")
    ring = ring_of(servers, "one")
    request = TokenRequest("ann", ("main",), Role.READER, 3600)
    issued = await one.control.write(lambda tx: create_token(tx, ring, one.id, request))
    assert issued.id in (await AccessCache(two.control).refresh()).live_tokens


async def test_a_link_made_on_one_server_opens_on_the_other_and_the_session_is_known_on_both(servers: Servers) -> None:
    one, two = await servers.open("one"), await servers.open("two")
    link = await one.control.write(lambda tx: accounts.invite(tx, "ann", NOW))
    assert await two.control.read(lambda tx: invites.invited(tx, link, NOW)) == "ann"
    secret = await two.control.write(lambda tx: browser_sessions.start(tx, "ann", "a browser", NOW))
    assert await one.control.read(lambda tx: browser_sessions.find(tx, secret, NOW)) is not None
    await one.control.write(lambda tx: accounts.disable(tx, "ann", NOW))
    assert await two.control.read(lambda tx: browser_sessions.find(tx, secret, NOW)) is None


async def test_without_the_database_everybody_is_refused_in_the_end_and_served_again_after(
    postgres: PostgresServer, url: str, proxy: CutProxy, tmp_path: Path
) -> None:
    through, now = url.replace(f":{postgres.port}/", f":{proxy.port}/"), [0.0]
    async with open_installation(ClusterSettings(url=through, lease_s=2), tmp_path) as shared:
        cache = AccessCache(shared.control, clock=lambda: now[0])
        await cache.refresh()
        proxy.refuse()
        with pytest.raises(LogUnavailable):
            await cache.refresh()
        for _ in range(12):
            now[0] += 0.5
            cache._awake.beat()
        with pytest.raises(VaultUnavailable):
            _ = cache.current
        proxy.flow()
        await cache.refresh()
        assert cache.current is not None
