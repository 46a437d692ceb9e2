"""Snapshots in a folder: what goes in comes out, what is damaged is found, what did not change is not sent.

Covers ops.backup.chunk_collection, ops.backup.chunks, ops.backup.sealing, ops.backup.snapshot_file,
ops.backup.snapshot_writer, ops.backup.sent_pieces, ops.backup.transfers, ops.backup.store.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ops.backup import transfers
from ops.backup.archive_reader import NO_KEYS, Opener
from ops.backup.archive_writer import OPEN, Seal
from ops.backup.chunk_collection import rotate
from ops.backup.chunks import CHUNK_BYTES, SMALL_BYTES, cut, group_small
from ops.backup.folder_store import FolderStore
from ops.backup.manifest import ManifestMember
from ops.backup.pace import Pace
from ops.backup.rotation import parse_plan
from ops.backup.sealing import close
from ops.backup.sent_pieces import remember_sent
from ops.backup.snapshot_file import unpack_head
from ops.backup.snapshot_writer import SnapshotCourse, WrittenSnapshot, write_snapshot
from ops.backup.snapshots import folder_key, list_snapshots, open_snapshot, snapshot_key, stored_chunks
from tests.ops.backup.staged import VAULT_ID, contents, staged
from tests.work import PATIENCE_S, examples
from vaults.errors import AlreadyExists, InvalidArgument, NotFound, StrongroomError, VaultQuarantined, VaultUnavailable

LARGE = random.Random(3).randbytes(3 * CHUNK_BYTES + 77)
FILES = {"vault.db": LARGE, "settings.json": b"{}", "notes/empty.md": b"", "notes/a.md": b"a\n", "notes/in/b.md": b"b"}


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    (tmp_path / "to").mkdir()
    return FolderStore(tmp_path / "to")


@pytest.fixture
def write(tmp_path: Path, store: FolderStore):
    """Write a snapshot of these files."""
    count = iter(range(99))

    def _write(files: dict[str, bytes], seal: Seal = OPEN, names: bytes | None = None) -> WrittenSnapshot:
        with store.hold(folder_key(VAULT_ID)):
            return write_snapshot(store, VAULT_ID, staged(tmp_path / f"s{next(count)}", files), seal=seal, names=names)

    return _write


def all_of(store: FolderStore, into: Path, name: str = "latest", opener: Opener = NO_KEYS) -> dict[str, bytes]:
    open_snapshot(store, VAULT_ID, name, opener).extract(into)
    return contents(into)


def test_what_was_backed_up_comes_out_byte_for_byte(tmp_path: Path, store: FolderStore, write) -> None:
    write(FILES)
    assert all_of(store, tmp_path / "out") == FILES
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "out").rglob("*") if path.is_file()} == {0o600}


def test_a_member_alone_can_be_taken_out(tmp_path: Path, store: FolderStore, write) -> None:
    write(FILES)
    open_snapshot(store, VAULT_ID, "latest").extract(tmp_path / "out", lambda path: path == "notes/in/b.md")
    assert contents(tmp_path / "out") == {"notes/in/b.md": b"b"}


def test_the_second_backup_of_what_did_not_change_sends_its_list_alone(store: FolderStore, write) -> None:
    first, second = write(FILES), write(FILES)
    assert first.sent == first.chunks > 3
    assert second.sent == 0
    assert second.moved < 2_000 < len(LARGE) < first.moved


def test_a_changed_page_sends_one_piece(store: FolderStore, write) -> None:
    write(FILES)
    changed = bytearray(LARGE)
    changed[CHUNK_BYTES + 5] ^= 1
    assert write(FILES | {"vault.db": bytes(changed)}).sent == 1


def test_one_note_more_changes_the_piece_it_is_in_and_no_other(store: FolderStore, write) -> None:
    notes = {f"notes/{number:04}.md": f"note {number} ".encode() * 20 for number in range(1000)}
    first = write(notes)
    assert first.chunks > 8
    assert write(notes | {"notes/0500a.md": b"one more"}).sent == 1


SIZES = st.integers(0, SMALL_BYTES * 2)


@given(st.dictionaries(st.text("abcdef/", min_size=1, max_size=8).map(lambda text: f"notes/{text}"), SIZES))
@settings(max_examples=examples(50))
def test_small_files_are_each_in_one_piece_that_is_not_too_large(sizes: dict[str, int]) -> None:
    members = [ManifestMember(path=path, size=size, sha256="0" * 64) for path, size in sizes.items()]
    small = [number for number, each in enumerate(members) if 0 < each.size < SMALL_BYTES]
    groups = list(group_small(members, sorted(small, key=lambda number: members[number].path)))
    assert sorted(number for group in groups for number in group) == small
    assert all(sum(members[number].size for number in group) <= CHUNK_BYTES for group in groups)


@given(st.lists(st.binary(max_size=2 * CHUNK_BYTES), max_size=4))
@settings(max_examples=examples(20), deadline=None)
def test_pieces_put_together_are_the_files(data: list[bytes]) -> None:
    from io import BytesIO

    members = [ManifestMember(path=f"notes/{n}", size=len(each), sha256="0" * 64) for n, each in enumerate(data)]
    pieces = list(cut(members, lambda path: BytesIO(data[int(path[6:])])))
    assert sum(len(piece.data) for piece in pieces) == sum(map(len, data))
    assert all(0 < len(piece.data) <= CHUNK_BYTES for piece in pieces)


def test_two_vaults_share_no_piece(tmp_path: Path, store: FolderStore, write) -> None:
    write(FILES)
    with store.hold(folder_key("another")):
        other = write_snapshot(store, "another", staged(tmp_path / "o", FILES))
    assert other.sent == other.chunks


@pytest.fixture
def keys():
    age = pytest.importorskip("pyrage")
    return age.x25519.Identity.generate(), age.x25519.Identity.generate()


def test_an_encrypted_snapshot_opens_for_its_key_alone(tmp_path: Path, store: FolderStore, write, keys) -> None:
    mine, other = keys
    seal = Seal(recipients=(str(mine.to_public()),))
    write(FILES, seal, b"n" * 32)
    assert write(FILES, seal, b"n" * 32).sent == 0
    assert all_of(store, tmp_path / "out", opener=Opener(identities=(str(mine),))) == FILES
    for opener in (NO_KEYS, Opener(identities=(str(other),))):
        with pytest.raises(InvalidArgument, match="encrypted"):
            open_snapshot(store, VAULT_ID, "latest", opener).read_manifest()
    stored = b"".join(contents(tmp_path / "to").values())
    assert b"notes/a.md" not in stored


def test_names_of_encrypted_pieces_tell_nothing_of_the_content(store: FolderStore, write, keys) -> None:
    seal = Seal(recipients=(str(keys[0].to_public()),))
    write(FILES)
    plain = set(stored_chunks(store, VAULT_ID))
    write(FILES, seal, b"n" * 32)
    assert len(set(stored_chunks(store, VAULT_ID)) - plain) == len(plain)
    with pytest.raises(InvalidArgument):
        write(FILES, seal)


def test_nothing_wrong_comes_out_of_a_snapshot_or_a_piece_that_was_damaged(
    tmp_path: Path, store: FolderStore, write
) -> None:
    write(FILES)
    rng, found, tries = random.Random(5), 0, 0
    for path in [path for path in (tmp_path / "to").rglob("*") if path.is_file() and path.name != ".lock"]:
        whole = path.read_bytes()
        flips = [rng.randrange(len(whole)) for _ in range(5)]
        for bad in (
            *(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :] for at in flips),
            whole[: len(whole) // 2],
            whole + b"x",
            b"",
        ):
            path.write_bytes(bad)
            tries += 1
            try:
                assert all_of(store, tmp_path / f"out{tries}") == FILES  # a bit that means nothing
            except (InvalidArgument, VaultQuarantined):
                found += 1
        path.write_bytes(whole)
    assert found > 0.9 * tries > 30


def test_every_changed_byte_of_a_snapshot_is_found(store: FolderStore, write) -> None:
    whole = store.get(snapshot_key(VAULT_ID, write(FILES).name))
    for at in range(0, len(whole), 3):
        with pytest.raises(InvalidArgument):
            unpack_head(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])


def test_a_piece_put_in_place_of_another_is_found(tmp_path: Path, store: FolderStore, write) -> None:
    write({"vault.db": LARGE})
    chunk = next((tmp_path / "to").glob("vaults/*/chunks/*/*"))
    chunk.write_bytes(close(bytes(CHUNK_BYTES if chunk.stat().st_size > 1000 else 77), ()))
    with pytest.raises(InvalidArgument, match="holds a piece"):
        all_of(store, tmp_path / "out")


def test_a_piece_that_is_gone_is_said(tmp_path: Path, store: FolderStore, write) -> None:
    write(FILES)
    next((tmp_path / "to").glob("vaults/*/chunks/*/*")).unlink()
    with pytest.raises(InvalidArgument, match="misses a piece"):
        all_of(store, tmp_path / "out")


def test_a_piece_that_is_gone_is_sent_again(tmp_path: Path, store: FolderStore, write) -> None:
    write(FILES)
    next((tmp_path / "to").glob("vaults/*/chunks/*/*")).unlink()
    assert write(FILES).sent == 1
    assert all_of(store, tmp_path / "out") == FILES


def test_a_snapshot_of_a_newer_version_is_refused_by_name(
    tmp_path: Path, store: FolderStore, write, monkeypatch
) -> None:
    name = write(FILES).name
    monkeypatch.setattr("ops.backup.snapshot_file.FORMAT", 0)
    with pytest.raises(VaultQuarantined, match="newer"):
        unpack_head(store.get(snapshot_key(VAULT_ID, name)))


def test_a_snapshot_that_is_not_there_is_not_found(store: FolderStore) -> None:
    for name in ("latest", "00000001-20261125T210000Z.snapshot", "../../etc/passwd"):
        with pytest.raises(NotFound):
            open_snapshot(store, VAULT_ID, name)


def test_rotation_removes_what_the_plan_lets_go_and_pieces_nobody_names(
    tmp_path: Path, store: FolderStore, write
) -> None:
    written = [write(FILES | {"notes/a.md": f"version {number}".encode()}) for number in range(5)]
    rotation = rotate(store, VAULT_ID, parse_plan("2"), written[-1].name)
    assert rotation.snapshots == tuple(each.name for each in reversed(written[:3]))
    assert rotation.chunks == 3
    assert list_snapshots(store, VAULT_ID) == [written[4].name, written[3].name]
    for number in (3, 4):
        found = all_of(store, tmp_path / f"out{number}", str(written[number].name))
        assert found["notes/a.md"] == f"version {number}".encode()


class Counting(FolderStore):
    """Notes which snapshots are read."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.read: list[str] = []

    def get(self, key: str) -> bytes:
        if key.endswith(".snapshot"):
            self.read.append(key)
        return super().get(key)


def test_a_backup_and_its_rotation_read_each_snapshot_before_it_once(tmp_path: Path, store: FolderStore, write) -> None:
    earlier = [write(FILES | {"notes/a.md": b"%d" % number}).name for number in range(3)]
    counting = Counting(tmp_path / "to")
    with counting.hold(folder_key(VAULT_ID)):
        written = write_snapshot(counting, VAULT_ID, staged(tmp_path / "last", FILES))
        rotation = rotate(counting, VAULT_ID, parse_plan("2"), written.name, written.heads)
    assert set(rotation.snapshots) == set(earlier[:2])
    before = {snapshot_key(VAULT_ID, each) for each in earlier}
    assert sorted(key for key in counting.read if key in before) == sorted(before)
    assert all_of(store, tmp_path / "out") == FILES


def test_without_locks_pieces_of_a_snapshot_that_went_stay_until_the_next_rotation(
    tmp_path: Path, store: FolderStore, write
) -> None:
    store.grace_s = 1e-9
    written = [write(FILES | {"notes/a.md": f"version {number}".encode()}) for number in range(3)]
    rotation = rotate(store, VAULT_ID, parse_plan("1"), written[-1].name)
    assert (len(rotation.snapshots), rotation.chunks) == (2, 0)
    assert rotate(store, VAULT_ID, parse_plan("1"), written[-1].name).chunks == 2


def test_a_snapshot_that_comes_while_older_ones_go_keeps_its_pieces(
    tmp_path: Path, store: FolderStore, write, monkeypatch
) -> None:
    """As of a backup elsewhere, where nothing keeps the two apart."""
    files = [FILES | {"notes/a.md": f"version {number}".encode()} for number in range(3)]
    newest = [write(each).name for each in files][-1]
    listed = store.list_objects

    def list_objects(prefix: str):
        if prefix.endswith("/chunks"):
            monkeypatch.setattr(store, "list_objects", listed)
            write_snapshot(store, VAULT_ID, staged(tmp_path / "elsewhere", files[0]))
        return listed(prefix)

    monkeypatch.setattr(store, "list_objects", list_objects)
    rotate(store, VAULT_ID, parse_plan("1"), newest)
    assert all_of(store, tmp_path / "out") == files[0]


def test_where_a_snapshot_cannot_be_read_nothing_is_removed(tmp_path: Path, store: FolderStore, write) -> None:
    names = [write(FILES | {"notes/a.md": bytes([number])}).name for number in range(4)]
    (tmp_path / "to" / snapshot_key(VAULT_ID, names[0])).write_bytes(b"no snapshot")
    before = contents(tmp_path / "to")
    with pytest.raises(InvalidArgument):
        rotate(store, VAULT_ID, parse_plan("1"), names[-1])
    assert contents(tmp_path / "to") == before
    assert write(FILES).name.number == 5


def test_nothing_is_rotated_for_a_backup_that_is_not_there(tmp_path: Path, store: FolderStore, write) -> None:
    names = [write(FILES).name for _ in range(3)]
    (tmp_path / "to" / snapshot_key(VAULT_ID, names[-1])).unlink()
    assert rotate(store, VAULT_ID, parse_plan("1"), names[-1]).snapshots == ()
    assert list_snapshots(store, VAULT_ID) == [names[1], names[0]]


@pytest.fixture
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces go one after the other: which of several had gone when the target went is a matter of threads."""
    monkeypatch.setattr("ops.backup.transfers.AT_ONCE", 1)


class Failing(FolderStore):
    """Fails at the ``n``-th change."""

    def __init__(self, root: Path, fail_at: int) -> None:
        super().__init__(root)
        self.left = fail_at

    def put(self, key: str, data: bytes) -> None:
        self.left -= 1
        if self.left < 0:
            raise VaultUnavailable("gone", reason="target")
        super().put(key, data)


def test_a_target_that_goes_away_midway_publishes_nothing_and_hurts_no_earlier_backup(
    tmp_path: Path, store: FolderStore, write
) -> None:
    write(FILES)
    later = FILES | {"vault.db": LARGE[::-1], "notes/a.md": b"later"}
    steps = 0
    while True:
        failing = Failing(tmp_path / "to", steps)
        try:
            write_snapshot(failing, VAULT_ID, staged(tmp_path / f"f{steps}", later))
            break
        except StrongroomError:
            steps += 1
        assert len(list_snapshots(store, VAULT_ID)) == 1
        assert all_of(store, tmp_path / f"out{steps}") == FILES
    assert steps > 4
    assert all_of(store, tmp_path / "out") == later
    assert rotate(store, VAULT_ID, parse_plan("1"), list_snapshots(store, VAULT_ID)[0]).chunks
    assert all_of(store, tmp_path / "again") == later


def write_held(store: FolderStore, *rest: Any, **how: Any) -> WrittenSnapshot:
    with store.hold(folder_key(VAULT_ID)):
        return write_snapshot(store, *rest, **how)


class Leaving(FolderStore):
    """Counts what is put, and is gone after the ``n``-th piece."""

    def __init__(self, root: Path, n: int = 99) -> None:
        super().__init__(root)
        self.left, self.put_keys = n, list[str]()

    def put(self, key: str, data: bytes) -> None:
        if len(self.put_keys) == self.left:
            raise VaultUnavailable("gone", reason="target")
        super().put(key, data)
        self.put_keys.append(key)


@pytest.mark.usefixtures("one_at_a_time")
@pytest.mark.parametrize("is_encrypted", [False, True])
def test_a_first_backup_that_was_cut_off_goes_on_where_it_was(
    tmp_path: Path, store: FolderStore, keys, is_encrypted: bool
) -> None:
    seal = Seal(recipients=(str(keys[0].to_public()),)) if is_encrypted else OPEN
    opener = Opener(identities=(str(keys[0]),)) if is_encrypted else NO_KEYS
    made, log = staged(tmp_path / "s", FILES), tmp_path / "sent"
    names = b"n" * 32 if is_encrypted else None

    def go_on(target: Leaving) -> WrittenSnapshot:
        with remember_sent(log, store.name) as sent:
            return write_held(target, VAULT_ID, made, seal=seal, names=names, course=SnapshotCourse(sent=sent))

    with pytest.raises(VaultUnavailable):
        go_on(Leaving(tmp_path / "to", 3))
    second = Leaving(tmp_path / "to")
    written = go_on(second)
    assert (written.chunks, written.sent) == (5, 2)
    assert len([key for key in second.put_keys if "/chunks/" in key]) == 2
    assert all_of(store, tmp_path / "out", opener=opener) == FILES
    assert not log.exists()


@pytest.mark.usefixtures("one_at_a_time")
def test_a_piece_of_a_backup_that_was_cut_off_is_read_back_before_it_is_named(
    tmp_path: Path, store: FolderStore
) -> None:
    made, log = staged(tmp_path / "s", FILES), tmp_path / "sent"
    with pytest.raises(VaultUnavailable), remember_sent(log, store.name) as sent:
        write_held(Failing(tmp_path / "to", 3), VAULT_ID, made, course=SnapshotCourse(sent=sent))
    chunk = next((tmp_path / "to").glob("vaults/*/chunks/*/*"))
    chunk.write_bytes(b"x" * chunk.stat().st_size)
    with pytest.raises(VaultUnavailable, match="give back"), remember_sent(log, store.name) as sent:
        write_held(store, VAULT_ID, made, course=SnapshotCourse(sent=sent))
    assert list_snapshots(store, VAULT_ID) == []
    with remember_sent(log, store.name) as sent:  # and is sent again then
        write_held(store, VAULT_ID, made, course=SnapshotCourse(sent=sent))
    assert all_of(store, tmp_path / "out") == FILES


@pytest.mark.usefixtures("one_at_a_time")
def test_what_was_sent_elsewhere_or_long_ago_vouches_for_nothing(tmp_path: Path, store: FolderStore) -> None:
    made, log = staged(tmp_path / "s", FILES), tmp_path / "sent"
    with pytest.raises(VaultUnavailable), remember_sent(log, store.name) as sent:
        write_held(Failing(tmp_path / "to", 3), VAULT_ID, made, course=SnapshotCourse(sent=sent))
    with remember_sent(tmp_path / "other", "elsewhere") as sent:
        assert sent.known == {}
    log.write_text(log.read_text() + "0123 half a line")
    with remember_sent(log, store.name) as sent:
        assert len(sent.known) == 3
        store.grace_s = 1e-9
        assert write_held(store, VAULT_ID, made, course=SnapshotCourse(sent=sent)).sent == 5


def test_pieces_go_several_at_a_time_and_come_back_in_order() -> None:
    inside, all_inside = list[int](), threading.Barrier(transfers.AT_ONCE)

    def work(number: int) -> int:
        inside.append(number)
        if number < transfers.AT_ONCE:
            all_inside.wait(PATIENCE_S)
        return number

    taken = iter(range(20))
    assert list(transfers.in_parallel(work, taken)) == list(range(20))
    assert sorted(inside) == list(range(20))


def test_no_more_pieces_are_held_than_are_sent_at_once() -> None:
    taken, done = list[int](), list[int]()

    def items() -> Iterator[int]:
        for number in range(20):
            assert number - len(done) <= transfers.AT_ONCE
            taken.append(number)
            yield number

    for each in transfers.in_parallel(lambda number: number, items()):
        done.append(each)
    assert done == taken


def test_several_at_a_time_stay_below_the_bound(tmp_path: Path, store: FolderStore) -> None:
    spent = list[int]()

    class Counting(Pace):
        def spend(self, count: int) -> None:
            spent.append(count)

    written = write_held(store, VAULT_ID, staged(tmp_path / "s", FILES), course=SnapshotCourse(Counting()))
    pieces = sum(each.size for each in stored_chunks(store, VAULT_ID).values())
    assert (len(spent), sum(spent)) == (2 * written.sent, 2 * pieces), "each is counted when sent and when read back"


def test_a_snapshot_whose_first_answer_was_lost_counts_as_made(tmp_path: Path) -> None:
    class Asking(FolderStore):
        def create(self, key: str, data: bytes) -> None:
            super().create(key, data)
            super().create(key, data)

    (tmp_path / "to").mkdir()
    write_held(Asking(tmp_path / "to"), VAULT_ID, staged(tmp_path / "s", FILES))
    assert len(list_snapshots(FolderStore(tmp_path / "to"), VAULT_ID)) == 1


def test_a_snapshot_of_the_same_name_that_is_anothers_stays(tmp_path: Path) -> None:
    class Late(FolderStore):
        def create(self, key: str, data: bytes) -> None:
            super().create(key, b"of another installation")
            super().create(key, data)

    store = Late(tmp_path)
    with pytest.raises(AlreadyExists):
        write_held(store, VAULT_ID, staged(tmp_path / "s", FILES))
    (name,) = list_snapshots(store, VAULT_ID)
    assert store.get(snapshot_key(VAULT_ID, name)) == b"of another installation"


class Forgetting(FolderStore):
    """Takes everything, keeps half of one object."""

    def put(self, key: str, data: bytes) -> None:
        super().put(key, data[: len(data) // 2] if "/chunks/" in key else data)


def test_a_target_that_does_not_keep_what_it_took_is_found_before_anything_is_published(
    tmp_path: Path, store: FolderStore
) -> None:
    with store.hold(folder_key(VAULT_ID)), pytest.raises(VaultUnavailable, match="does not give back"):
        write_snapshot(Forgetting(tmp_path / "to"), VAULT_ID, staged(tmp_path / "s", FILES))
    assert list_snapshots(store, VAULT_ID) == []


def test_an_id_that_is_no_folder_is_refused() -> None:
    for text in ("", "..", "a/b", "a\0", "x" * 65):
        with pytest.raises(InvalidArgument):
            folder_key(text)
