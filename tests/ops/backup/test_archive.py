"""Archives: what goes in comes out, and whatever is wrong with one is refused as a whole.

Covers ops.backup.source, ops.backup.archive_writer, ops.backup.archive_reader, ops.backup.archive_stream,
ops.backup.tar_blocks, ops.backup.encryption, ops.backup.signature, ops.backup.partial_files, ops.backup.target_errors,
vaults.files.disk_sync, ops.backup.stepping_back.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from auth.keys import SigningKey, open_key_ring
from ops.backup import archive_reader, archive_writer, encryption, partial_files, tar_blocks
from ops.backup.archive_reader import NO_KEYS, Opener, open_archive
from ops.backup.archive_writer import OPEN, Seal, write_archive
from ops.backup.manifest import ManifestMember, from_bytes, to_bytes
from ops.backup.pace import Pace
from ops.backup.partial_files import open_partial, sweep_partials
from ops.backup.signature import trusted_keys
from ops.backup.staging import StagedBackup
from ops.backup.stepping_back import step_back, use_idle_time
from tests.ops.backup.staged import contents, staged
from vaults.errors import (
    Cancelled,
    Conflict,
    InvalidArgument,
    NotFound,
    ReadOnly,
    StorageFull,
    StrongroomError,
    TooLarge,
    VaultQuarantined,
    VaultUnavailable,
)
from vaults.files import disk_sync

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

pyrage = pytest.importorskip("pyrage")
pytestmark = pytest.mark.usefixtures("cheap_passphrases")
FILES = {
    "vault.db": bytes(range(256)) * 5000,
    "settings.json": b"{}",
    "notes/a.md": b"",
    "notes/Umläut ß/b.md": b"# b\n",
    "notes/" + "/".join(["long" * 20] * 4) + ".md": b"x" * 511,
    "history/HEAD": b"ref",
}


@pytest.fixture
def to(tmp_path: Path) -> Path:
    (tmp_path / "to").mkdir()
    return tmp_path / "to"


@pytest.fixture
def made(tmp_path: Path) -> StagedBackup:
    return staged(tmp_path / "staged", FILES)


def key() -> SigningKey:
    private = Ed25519PrivateKey.generate()
    return SigningKey("kid-1", private, private.public_key())


def test_what_goes_in_comes_out(tmp_path: Path, to: Path, made: StagedBackup) -> None:
    written = write_archive(made, to)
    assert written.path == to / "main-20261125T210000Z-s15-v0.1.0.tar.zst"
    assert written.size == written.path.stat().st_size
    assert written.path.stat().st_mode & 0o777 == 0o600
    source = open_archive(written.path)
    assert source.read_manifest() == made.manifest
    (tmp_path / "out").mkdir()
    assert source.extract(tmp_path / "out") == made.manifest
    assert contents(tmp_path / "out") == FILES
    assert [each.name for each in to.iterdir()] == [written.path.name]


def test_only_what_is_wanted_is_written_and_all_of_it_is_compared(tmp_path: Path, to: Path, made: StagedBackup) -> None:
    written = write_archive(made, to)
    (tmp_path / "out").mkdir()
    open_archive(written.path).extract(tmp_path / "out", lambda path: path == "settings.json")
    assert contents(tmp_path / "out") == {"settings.json": b"{}"}


def test_any_tar_reads_it(to: Path, made: StagedBackup) -> None:
    plain = zstd.decompress(write_archive(made, to).path.read_bytes())
    with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
        names = tar.getnames()
        assert names == ["manifest.json", *FILES]
        assert from_bytes(tar.extractfile("manifest.json").read()) == made.manifest  # type: ignore[union-attr]


@pytest.fixture(params=["recipients", "passphrase"])
def closed(request: pytest.FixtureRequest) -> tuple[Seal, Opener, Opener]:
    """A seal, what opens it, and what does not."""
    if request.param == "passphrase":
        return Seal(passphrase="of the harbour"), Opener(passphrase="of the harbour"), Opener(passphrase="wrong")
    mine, other = pyrage.x25519.Identity.generate(), pyrage.x25519.Identity.generate()
    return (
        Seal(recipients=(str(mine.to_public()),)),
        Opener(identities=(str(mine),)),
        Opener(identities=(str(other),)),
    )


def test_an_encrypted_one_opens_for_its_keys_alone(
    tmp_path: Path, to: Path, made: StagedBackup, closed: tuple[Seal, Opener, Opener]
) -> None:
    seal, mine, other = closed
    written = write_archive(made, to, seal)
    assert written.path.name.endswith(".tar.zst.age")
    (tmp_path / "out").mkdir()
    open_archive(written.path, mine).extract(tmp_path / "out")
    assert contents(tmp_path / "out") == FILES
    for opener in (other, NO_KEYS):
        with pytest.raises(InvalidArgument):
            open_archive(written.path, opener).read_manifest()
    assert b"harbour" not in written.path.read_bytes()


def test_a_damaged_encrypted_one_is_refused(to: Path, made: StagedBackup, closed: tuple[Seal, Opener, Opener]) -> None:
    seal, mine, _ = closed
    path = write_archive(made, to, seal).path
    good = path.read_bytes()
    for bad in (good[:-1], good[: len(good) // 2], flipped(good, len(good) // 2), flipped(good, 60), good + b"x"):
        path.write_bytes(bad)
        with pytest.raises(InvalidArgument):
            open_archive(path, mine).verify()


def test_an_encrypted_one_whose_inside_is_cut_short_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    """Whoever knows the public key can make one."""
    key, whole = pyrage.x25519.Identity.generate(), small_bytes(tmp_path)
    path = tmp_path / "a"
    for cut in (4, len(whole) // 2):
        with path.open("wb") as file:
            encryption.encrypt_for([whole[:-cut]], (str(key.to_public()),), file.write)
        with pytest.raises(InvalidArgument, match="cut short"):
            open_archive(path, Opener(identities=(str(key),))).verify()


def small_bytes(folder: Path) -> bytes:
    return write_archive(staged(folder / "small", SMALL), folder).path.read_bytes()


def test_what_closes_it_is_checked_before_anything_is_written(to: Path, made: StagedBackup) -> None:
    for seal in (Seal(("age1nonsense",)), Seal(passphrase=""), Seal(("age1x",), "both")):
        with pytest.raises(InvalidArgument):
            write_archive(made, to, seal)
    assert list(to.iterdir()) == []


def test_a_signature_names_the_key_and_covers_every_byte(to: Path, made: StagedBackup, tmp_path: Path) -> None:
    ring = open_key_ring(tmp_path / "keys")
    path = write_archive(made, to, Seal(key=ring.newest)).path
    source = open_archive(path, Opener(trusted=trusted_keys(ring), signed_only=True))
    assert source.verify() == made.manifest
    assert source.signed_by == ring.newest.kid
    for opener in (NO_KEYS, Opener(trusted={"other": key().public})):
        source = open_archive(path, opener)
        source.verify()
        assert source.signed_by is None
    with pytest.raises(InvalidArgument, match="signed"):
        open_archive(path, Opener(trusted={"other": key().public}, signed_only=True)).read_manifest()
    with pytest.raises(InvalidArgument, match="changed since it was signed"):
        open_archive(path, Opener(trusted={ring.newest.kid: key().public})).read_manifest()
    with pytest.raises(InvalidArgument, match="signed"):
        open_archive(write_archive(made, to).path, Opener(trusted=trusted_keys(ring), signed_only=True)).verify()


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :]


SMALL = {"vault.db": bytes(range(256)) * 4, "notes/a.md": b"# a\n"}


def refused(path: Path) -> InvalidArgument | VaultQuarantined:
    with pytest.raises((InvalidArgument, VaultQuarantined)) as failure:
        open_archive(path).verify()
    return failure.value


@given(st.data())
def test_one_flipped_bit_anywhere_is_found_or_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = small(tmp_path_factory)
    good = path.read_bytes()
    at, bit = data.draw(st.integers(0, len(good) - 1)), data.draw(st.integers(0, 7))
    bad = path.with_name("flipped.tar.zst")
    bad.write_bytes(good[:at] + bytes([good[at] ^ 1 << bit]) + good[at + 1 :])
    try:
        found = open_archive(bad).verify()
    except (InvalidArgument, VaultQuarantined):
        return
    assert found == open_archive(path).read_manifest()  # compressed data has bits that mean little


@given(st.data())
def test_one_cut_anywhere_is_found(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = small(tmp_path_factory)
    good = path.read_bytes()
    bad = path.with_name("cut.tar.zst")
    bad.write_bytes(good[: data.draw(st.integers(0, len(good) - 1))])
    refused(bad)


_small: list[Path] = []


def small(factory: pytest.TempPathFactory) -> Path:
    if not _small:
        folder = factory.mktemp("small")
        _small.append(write_archive(staged(folder / "staged", SMALL), folder).path)
    return _small[0]


def forged(made: StagedBackup, parts: Iterator[bytes] | list[bytes]) -> bytes:
    """An archive whose manifest is that of ``made``, whatever follows."""
    stored = to_bytes(made.manifest)
    head = tar_blocks.header("manifest.json", len(stored), AT) + stored + bytes(tar_blocks.padding(len(stored)))
    return zstd.compress(head + b"".join(parts))


AT = 1_764_104_400


def entry(name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode, info.type, info.linkname = len(data), AT, 0o600, kind, link
    return info.tobuf(tarfile.PAX_FORMAT) + data + bytes(-len(data) % 512)


ONE = entry("settings.json", b"{}")
END = bytes(1024)


@pytest.mark.parametrize(
    "parts",
    [
        [END],
        [entry("../settings.json", b"{}"), END],
        [entry("/settings.json", b"{}"), END],
        [entry("settings.json", kind=tarfile.SYMTYPE, link="/etc/passwd"), END],
        [entry("settings.json", kind=tarfile.LNKTYPE, link="manifest.json"), END],
        [entry("settings.json", kind=tarfile.CHRTYPE), END],
        [entry("settings.json", kind=tarfile.DIRTYPE), END],
        [entry("settings.json", kind=tarfile.FIFOTYPE), END],
        [entry("settings.json", b"[]"), END],
        [entry("settings.json", b"{} "), END],
        [ONE, ONE, END],
        [ONE, entry("notes/extra.md", b"x"), END],
        [entry("notes/extra.md", b"x"), ONE, END],
        [ONE, END, b"x"],
        [ONE, END, bytes(100_000)],
        [ONE, bytes(512)],
        [ONE[:-1] + b"x", END],
    ],
)
def test_what_the_manifest_does_not_name_exactly_is_refused(tmp_path: Path, parts: list[bytes]) -> None:
    made, path = staged(tmp_path / "staged", {"settings.json": b"{}"}), tmp_path / "a.tar.zst"
    path.write_bytes(forged(made, [ONE, END]))
    open_archive(path).verify()
    path.write_bytes(forged(made, parts))
    refused(path)


def test_a_manifest_whose_members_climb_writes_nothing(tmp_path: Path) -> None:
    made = staged(tmp_path / "staged", {"settings.json": b"{}"})
    climbing = made.manifest.model_copy(
        update={"members": (ManifestMember(path="notes/../../out.txt", size=2, sha256="0" * 64),)}
    )
    path = tmp_path / "a.tar.zst"
    path.write_bytes(forged(StagedBackup(made.folder, climbing), [entry("notes/../../out.txt", b"{}"), END]))
    (tmp_path / "into").mkdir()
    with pytest.raises(InvalidArgument, match="climbs"):
        open_archive(path).extract(tmp_path / "into")
    assert not (tmp_path / "out.txt").exists()
    assert contents(tmp_path / "into") == {}


def test_gigabytes_of_zeros_are_refused_at_the_first_of_them(tmp_path: Path) -> None:
    made, path = staged(tmp_path / "staged", {"settings.json": b"{}"}), tmp_path / "a.tar.zst"
    stored = to_bytes(made.manifest)
    compressor = zstd.ZstdCompressor(1)
    with path.open("wb") as file:
        file.write(compressor.compress(tar_blocks.header("manifest.json", len(stored), AT) + stored))
        file.write(compressor.compress(bytes(tar_blocks.padding(len(stored))) + ONE + END))
        for _ in range(64):
            file.write(compressor.compress(bytes(1 << 20)))
        file.write(compressor.flush())
    assert path.stat().st_size < 100_000
    assert "goes on" in refused(path).message


def test_a_manifest_that_promises_more_than_the_disk_holds_is_refused_before_a_byte_is_written(
    tmp_path: Path,
) -> None:
    made, path = staged(tmp_path / "staged", {"settings.json": b"{}"}), tmp_path / "a.tar.zst"
    huge = made.manifest.model_copy(
        update={"members": (ManifestMember(path="vault.db", size=1 << 60, sha256="0" * 64),)}
    )
    path.write_bytes(forged(StagedBackup(made.folder, huge), [END]))
    (tmp_path / "into").mkdir()
    with pytest.raises(StorageFull):
        open_archive(path).extract(tmp_path / "into")
    assert contents(tmp_path / "into") == {}


def test_a_manifest_without_end_is_refused_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.zst"
    path.write_bytes(zstd.compress(tar_blocks.header("manifest.json", 1 << 30, AT)))
    assert "too large" in refused(path).message


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"age-encryption.org/v2\n", zstd.compress(b"x" * 2000)])
def test_what_is_no_archive_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    refused(tmp_path / "a")


def test_a_stream_that_asks_for_much_memory_is_refused(tmp_path: Path) -> None:
    options = {zstd.CompressionParameter.window_log: 27, zstd.CompressionParameter.compression_level: 1}
    compressor = zstd.ZstdCompressor(options=options)
    (tmp_path / "a").write_bytes(compressor.compress(bytes(1 << 20)) + compressor.flush())
    assert "damaged" in refused(tmp_path / "a").message


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        open_archive(tmp_path / "none")
    with pytest.raises(NotFound):
        open_archive(tmp_path)


def test_two_of_one_second_are_both_kept(to: Path, made: StagedBackup) -> None:
    paths = [write_archive(made, to).path.name for _ in range(3)]
    assert paths == sorted({each.name for each in to.iterdir()})


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP])
def test_where_a_mounted_bucket_knows_no_such_rename_nothing_is_replaced_either(
    to: Path, made: StagedBackup, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def fail(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(partial_files, "rename_exclusive", fail)
    paths = [write_archive(made, to).path.name for _ in range(2)]
    assert paths == sorted({each.name for each in to.iterdir()})


def test_without_a_free_name_nothing_is_replaced(to: Path, made: StagedBackup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_writer, "MORE_NAMES", 1)
    first = write_archive(made, to).path
    before = first.read_bytes()
    with pytest.raises(Conflict):
        write_archive(made, to)
    assert [each.name for each in to.iterdir()] == [first.name]
    assert first.read_bytes() == before


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (errno.ENOSPC, StorageFull),
        (errno.EDQUOT, StorageFull),
        (errno.EROFS, ReadOnly),
        (errno.EACCES, ReadOnly),
        (errno.EIO, VaultUnavailable),
        (errno.ESTALE, VaultUnavailable),
        (errno.ENOENT, VaultUnavailable),
    ],
)
@pytest.mark.parametrize("step", ["write_all", "write_all encrypted", "fsync", "rename_exclusive"])
def test_a_target_that_fails_is_named_and_leaves_what_was_there(
    to: Path,
    made: StagedBackup,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    code: int,
    error: type[StrongroomError],
) -> None:
    older = write_archive(made, to).path

    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    step, encrypted = step.split(maxsplit=1)[0], " " in step
    seal = Seal(recipients=(str(pyrage.x25519.Identity.generate().to_public()),)) if encrypted else OPEN
    owner = {"write_all": archive_writer, "fsync": os, "rename_exclusive": partial_files}[step]
    monkeypatch.setattr(owner, step, fail)
    with pytest.raises(error):
        write_archive(made, to, seal)
    monkeypatch.undo()
    assert [each.name for each in to.iterdir()] == [older.name]
    open_archive(older).verify()


def test_what_does_not_read_back_is_not_published(
    to: Path, made: StagedBackup, monkeypatch: pytest.MonkeyPatch
) -> None:
    (made.folder / "settings.json").write_bytes(b"[]")
    with pytest.raises(InvalidArgument, match="settings"):
        write_archive(made, to)
    (made.folder / "settings.json").write_bytes(b"")
    with pytest.raises(VaultUnavailable):
        write_archive(made, to)
    (made.folder / "settings.json").write_bytes(b"{}")
    monkeypatch.setattr(archive_writer.ArchiveSource, "verify", lambda *_: None)
    with pytest.raises(VaultUnavailable, match="read back"):
        write_archive(made, to)
    assert list(to.iterdir()) == []


def test_a_staged_file_that_changes_is_not_put_into_an_encrypted_one(
    to: Path, made: StagedBackup, closed: tuple[Seal, Opener, Opener]
) -> None:
    """It could be opened by nobody here to find out."""
    (made.folder / "settings.json").write_bytes(b"[]")
    with pytest.raises(VaultUnavailable, match="changed"):
        write_archive(made, to, closed[0])
    assert list(to.iterdir()) == []


def test_what_no_reader_would_take_is_not_written(
    to: Path, made: StagedBackup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_writer, "MAX_BYTES", 100)
    with pytest.raises(TooLarge):
        write_archive(made, to)
    assert list(to.iterdir()) == []


def test_one_that_is_stopped_while_it_is_read_back_leaves_nothing(
    to: Path, made: StagedBackup, monkeypatch: pytest.MonkeyPatch, closed: tuple[Seal, Opener, Opener]
) -> None:
    for seal in (OPEN, closed[0]):
        stopped = threading.Event()
        monkeypatch.setattr(partial_files.PartialFile, "sync", lambda _, stopped=stopped: stopped.set())
        with pytest.raises(Cancelled):
            write_archive(made, to, seal, Pace(stopped=stopped.is_set))
    assert list(to.iterdir()) == []


def test_a_large_one_goes_to_the_disk_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = list[tuple[int, int, int]]()
    monkeypatch.setattr(disk_sync, "_sync_range_call", lambda: lambda _, *rest: calls.append(rest))
    behind = disk_sync.WriteBehind(0)
    for _ in range(5):
        behind.note(disk_sync.WINDOW // 2)
    window = disk_sync.WINDOW
    assert calls == [(0, window, 2), (0, window, 7), (window, window, 2)]
    monkeypatch.undo()
    with (tmp_path / "a").open("wb") as file:  # the real one
        file.write(bytes(2 * window))
        file.flush()
        disk_sync.WriteBehind(file.fileno()).note(2 * window)
    disk_sync.WriteBehind(os.pipe()[1]).note(window)


def test_a_thread_steps_back_and_never_forward() -> None:
    """A command that was begun with ``nice`` may not become more important."""
    found = list[int]()

    def work() -> None:
        for niceness in (5, 15, 10, 0):
            step_back(niceness)
            found.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        use_idle_time()
        found.append(os.sched_getscheduler(0))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if sys.platform == "linux":
        assert found == [5, 15, 15, 15, os.SCHED_IDLE]


def test_one_that_is_stopped_leaves_nothing(to: Path, made: StagedBackup) -> None:
    with pytest.raises(Cancelled):
        write_archive(made, to, OPEN, Pace(stopped=lambda: True))
    assert list(to.iterdir()) == []


def test_leftovers_of_the_dead_go_and_those_of_the_living_stay(to: Path) -> None:
    (to / ".main-x.tar.zst.0123abcd.partial").write_bytes(b"left by a kill")
    (to / "main.partial").write_bytes(b"a person's")
    with open_partial(to, "main-y.tar.zst") as living:
        assert sweep_partials(to) == 1
        assert living.path.exists()
    assert [each.name for each in to.iterdir()] == ["main.partial"]


def test_the_read_back_of_an_encrypted_one_compares_every_byte(
    to: Path, made: StagedBackup, monkeypatch: pytest.MonkeyPatch, closed: tuple[Seal, Opener, Opener]
) -> None:
    really = os.read
    monkeypatch.setattr(
        os, "read", lambda descriptor, size: flipped(found, 0) if (found := really(descriptor, size)) else found
    )
    with pytest.raises(VaultUnavailable, match="read back"):
        write_archive(made, to, closed[0])
    assert list(to.iterdir()) == []


def test_a_disk_that_fails_while_reading_is_unavailable(
    to: Path, made: StagedBackup, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_archive(made, to).path

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(archive_reader, "_read_padded", fail)
    with pytest.raises(VaultUnavailable):
        open_archive(path).verify()
