"""Covers auth.encrypted_keys, auth.kept_secrets, auth.key_passphrase, auth.passphrase_change, auth.private_files."""

import base64
import hashlib
import json
import multiprocessing
import os
import stat
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from auth import private_files
from auth.kept_secrets import list_secrets, open_secret, open_secrets
from auth.keys import KeyRing, add_key, check_key_files, open_key_ring, public_keys, remove_key
from auth.passphrase_change import change_passphrase
from tests.work import PATIENCE_S
from vaults.errors import Conflict, InvalidArgument, VaultUnavailable


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_first_start_makes_one_private_key_in_a_private_folder(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "keys"
    open_key_ring(folder)
    assert [entry.name for entry in folder.iterdir()] == ["0001.pem"]
    assert (mode(folder), mode(folder / "0001.pem")) == (0o700, 0o600)


def test_keys_survive_a_restart(tmp_path: Path) -> None:
    first, second = open_key_ring(tmp_path / "keys"), open_key_ring(tmp_path / "keys")
    assert first.newest.kid == second.newest.kid
    assert first.jwks() == second.jwks()


def _open(folder: Path, barrier: object, answers: object) -> None:
    barrier.wait()
    answers.put(open_key_ring(folder).newest.kid)


def test_processes_that_start_at_once_agree_on_one_key(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(3), context.Queue()
    workers = [context.Process(target=_open, args=(tmp_path / "keys", barrier, answers)) for _ in range(3)]
    for worker in workers:
        worker.start()
    kids = {answers.get(timeout=PATIENCE_S) for _ in workers}
    for worker in workers:
        worker.join()
    answers.close()
    answers.join_thread()
    assert len(kids) == 1
    assert [entry.name for entry in (tmp_path / "keys").iterdir()] == ["0001.pem"]


def _open_secret(folder: Path, barrier: object, answers: object) -> None:
    barrier.wait()
    answers.put(open_secret(folder, "a.key", None))


def test_a_secret_is_private_and_the_same_for_all_processes(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(3), context.Queue()
    workers = [context.Process(target=_open_secret, args=(folder, barrier, answers)) for _ in range(3)]
    for worker in workers:
        worker.start()
    secrets = {answers.get(timeout=PATIENCE_S) for _ in workers}
    for worker in workers:
        worker.join()
    answers.close()
    answers.join_thread()
    assert secrets == {open_secret(folder, "a.key", None)}
    assert [len(each) for each in secrets] == [32]
    assert open_secret(folder, "b.key", None) not in secrets
    assert (mode(folder), mode(folder / "a.key")) == (0o700, 0o600)
    (folder / "a.key").chmod(0o644)
    open_secret(folder, "a.key", None)
    assert mode(folder / "a.key") == 0o600
    assert open_key_ring(folder).newest, "secrets beside them are no keys that sign"


def test_a_secret_that_was_cut_is_not_used(tmp_path: Path) -> None:
    open_secret(tmp_path, "a.key", None)
    (tmp_path / "a.key").write_bytes(b"short")
    with pytest.raises(VaultUnavailable, match=r"a\.key"):
        open_secret(tmp_path, "a.key", None)


def lay_key(data: Path) -> None:
    """As ``openssl genpkey`` would: another ring's first key is this one's second."""
    open_key_ring(data / "other")
    (data / "other" / "0001.pem").rename(data / "keys" / "0002.pem")


def test_a_new_key_signs_and_the_old_one_still_verifies(tmp_path: Path) -> None:
    ring = open_key_ring(tmp_path / "keys")
    old = ring.newest
    lay_key(tmp_path)
    assert ring.newest is old
    ring.refresh()
    assert ring.newest.kid != old.kid
    assert ring.find(old.kid) is not None
    assert [key["kid"] for key in ring.jwks()["keys"]] == [ring.newest.kid, old.kid]


def test_a_key_that_was_removed_verifies_nothing_any_more(tmp_path: Path) -> None:
    ring = open_key_ring(tmp_path / "keys")
    old = ring.newest.kid
    lay_key(tmp_path)
    (tmp_path / "keys" / "0001.pem").unlink()
    ring.refresh()
    assert ring.find(old) is None


def test_loose_modes_are_made_private_and_named(tmp_path: Path) -> None:
    open_key_ring(tmp_path / "keys")
    (tmp_path / "keys").chmod(0o755)
    (tmp_path / "keys" / "0001.pem").chmod(0o644)
    ring = open_key_ring(tmp_path / "keys")
    assert ring.repaired == ("0001.pem",)
    assert (mode(tmp_path / "keys"), mode(tmp_path / "keys" / "0001.pem")) == (0o700, 0o600)


def test_files_that_are_not_keys_by_name_are_left_alone(tmp_path: Path) -> None:
    open_key_ring(tmp_path / "keys")
    for name in (".new-1234", "0001.pem.bak", "notes.txt", "٠٠٠٢.pem"):
        (tmp_path / "keys" / name).write_text("not a key")
    assert len(open_key_ring(tmp_path / "keys").jwks()["keys"]) == 1


@pytest.mark.parametrize("kind", ["garbage", "rsa", "empty"])
def test_a_key_file_of_another_kind_stops_the_start_with_its_name(tmp_path: Path, kind: str) -> None:
    open_key_ring(tmp_path / "keys")
    pem = b"" if kind == "empty" else b"garbage"
    if kind == "rsa":
        pem = rsa.generate_private_key(65537, 2048).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    (tmp_path / "keys" / "0002.pem").write_bytes(pem)
    with pytest.raises(VaultUnavailable, match=r"0002\.pem"):
        open_key_ring(tmp_path / "keys")


def test_the_published_document_holds_public_halves_only_under_their_thumbprints(ring: KeyRing) -> None:
    (key,) = ring.jwks()["keys"]
    assert set(key) == {"kty", "crv", "x", "kid", "use", "alg"}
    canonical = json.dumps({"crv": "Ed25519", "kty": "OKP", "x": key["x"]}, separators=(",", ":")).encode()
    assert key["kid"] == base64.urlsafe_b64encode(hashlib.sha256(canonical).digest()).rstrip(b"=").decode()
    token = jwt.encode({"a": 1}, ring.newest.private, algorithm="EdDSA")
    assert jwt.decode(token, jwt.PyJWK(key).key, algorithms=["EdDSA"]) == {"a": 1}


@pytest.mark.parametrize("kid", ["../keys/0001.pem", "0001.pem", "' OR 1=1", "https://evil.example", "x" * 10**6, ""])
def test_a_kid_is_compared_and_nothing_else(ring: KeyRing, kid: str) -> None:
    assert ring.find(kid) is None


def _passphrase(tmp_path: Path, text: str = "correct horse\n") -> str:
    file = tmp_path / "passphrase"
    file.write_text(text)
    return str(file)


def test_keys_lie_encrypted_where_a_passphrase_is_set(tmp_path: Path) -> None:
    file = _passphrase(tmp_path)
    ring = open_key_ring(tmp_path / "keys", file)
    assert (tmp_path / "keys" / "0001.pem").read_bytes().startswith(b"-----BEGIN ENCRYPTED")
    assert open_key_ring(tmp_path / "keys", file).newest.kid == ring.newest.kid
    add_key(ring)
    assert (tmp_path / "keys" / "0002.pem").read_bytes().startswith(b"-----BEGIN ENCRYPTED")
    assert mode(tmp_path / "keys" / "0002.pem") == 0o600


def test_a_key_that_lay_there_in_the_clear_is_encrypted_and_its_clear_form_overwritten(tmp_path: Path) -> None:
    plain = open_key_ring(tmp_path / "keys")
    with (tmp_path / "keys" / "0001.pem").open("rb") as before:
        again = open_key_ring(tmp_path / "keys", _passphrase(tmp_path))
        assert set(before.read()) == {0}
    assert again.newest.kid == plain.newest.kid
    assert (tmp_path / "keys" / "0001.pem").read_bytes().startswith(b"-----BEGIN ENCRYPTED")
    assert [entry.name for entry in (tmp_path / "keys").iterdir()] == ["0001.pem"]
    again.refresh()
    assert again.newest.kid == plain.newest.kid


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "is needed: the key 0001.pem is encrypted"),
        ("wrong", "does not open the key 0001.pem"),
        ("\n", "must hold 1 to 1023 bytes"),
        ("x" * 1024, "must hold 1 to 1023 bytes"),
    ],
)
def test_a_missing_or_wrong_passphrase_is_said_by_the_name_of_its_setting(
    tmp_path: Path, text: str | None, said: str
) -> None:
    open_key_ring(tmp_path / "keys", _passphrase(tmp_path))
    with pytest.raises(InvalidArgument, match=f"key_passphrase_file {said}"):
        open_key_ring(tmp_path / "keys", None if text is None else _passphrase(tmp_path, text))
    with pytest.raises(InvalidArgument, match="key_passphrase_file cannot be read"):
        open_key_ring(tmp_path / "keys", str(tmp_path / "none"))


def test_of_a_removed_key_only_the_public_half_stays(tmp_path: Path) -> None:
    ring = open_key_ring(tmp_path / "keys")
    old = ring.newest
    new = add_key(ring)
    assert [key.kid for key in ring.keys] == [old.kid, new.kid]
    with (tmp_path / "keys" / "0001.pem").open("rb") as private:
        remove_key(ring, old)
        assert set(private.read()) == {0}
    assert ring.find(old.kid) is None
    assert list(public_keys(tmp_path / "keys")) == [old.kid]
    assert sorted(entry.name for entry in (tmp_path / "keys").iterdir()) == ["0001.pub", "0002.pem"]
    remove_key(ring, old)  # another process does the same
    remove_key(ring, new)
    assert add_key(ring).name == "0003.pem", "a number is never used again"


def test_of_two_keys_made_at_once_one_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ring = open_key_ring(tmp_path / "keys")
    before = os.listdir(tmp_path / "keys")  # noqa: PTH208
    add_key(ring)
    monkeypatch.setattr("auth.keys.os.listdir", lambda _folder: before)
    with pytest.raises(Conflict):
        add_key(ring)


def test_keys_that_are_read_again_and_do_not_open_leave_those_that_were(tmp_path: Path) -> None:
    ring = open_key_ring(tmp_path / "keys", _passphrase(tmp_path))
    kid = ring.newest.kid
    _passphrase(tmp_path, "another")
    with pytest.raises(InvalidArgument):
        ring.reload()
    assert ring.newest.kid == kid
    _passphrase(tmp_path)
    ring.reload()
    assert ring.newest.kid == kid


def test_what_a_killed_process_left_is_removed_and_what_one_is_writing_is_not(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    kid = open_key_ring(folder).newest.kid
    left, fresh, linked = folder / ".new-left", folder / ".new-fresh", folder / ".new-linked"
    linked.hardlink_to(folder / "0001.pem")
    os.utime(linked, (0, 0))
    for file in (left, fresh):
        file.write_bytes(b"a key in the clear")
    os.utime(left, (0, 0))
    with left.open("rb") as gone:
        assert open_key_ring(folder).newest.kid == kid, "the key that has two names was overwritten"
        assert set(gone.read()) == {0}
    assert sorted(entry.name for entry in folder.iterdir()) == [".new-fresh", "0001.pem"]


def test_a_secret_lies_encrypted_where_a_passphrase_is_set(tmp_path: Path) -> None:
    folder, file = tmp_path / "keys", _passphrase(tmp_path)
    made = open_secret(folder, "new.key", file)
    plain = open_secret(folder, "plain.key", None)
    with (folder / "plain.key").open("rb") as before:
        open_secrets(folder, file)
        assert set(before.read()) == {0}
    assert list_secrets(folder) == ["new.key", "plain.key"]
    for name, secret in (("new.key", made), ("plain.key", plain)):
        assert (folder / name).read_bytes().startswith(b"-----BEGIN ENCRYPTED")
        assert secret not in (folder / name).read_bytes()
        assert open_secret(folder, name, file) == secret
        assert mode(folder / name) == 0o600
    for passphrase, said in ((None, "is needed"), (_passphrase(tmp_path, "wrong"), "does not open")):
        with pytest.raises(
            InvalidArgument, match=f"key_passphrase_file {said} the key new.key|{said}: the key new.key"
        ):
            open_secrets(folder, passphrase)


def test_a_passphrase_is_changed_set_and_taken_away(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    kid = open_key_ring(folder).newest.kid
    secret = open_secret(folder, "a.key", None)
    names = ["0001.pem", "a.key"]
    for old, new in ((None, b"one"), (b"one", b"two"), (b"two", None), (None, None)):
        assert change_passphrase(folder, old, new) == ([] if old == new else names)
        assert change_passphrase(folder, old, new) == [], "what is as it should be is left"
        file = None if new is None else _passphrase(tmp_path, new.decode())
        assert open_key_ring(folder, file).newest.kid == kid
        assert open_secret(folder, "a.key", file) == secret
        lie = [(folder / name).read_bytes().startswith(b"-----BEGIN ENCRYPTED") for name in names]
        assert lie == [new is not None] * 2


def test_a_change_of_passphrase_that_was_killed_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, replace = tmp_path / "keys", private_files.replace
    add_key(open_key_ring(folder, _passphrase(tmp_path, "one")))
    open_secret(folder, "a.key", _passphrase(tmp_path, "one"))

    def die(path: Path, data: bytes) -> None:
        if path.name != "0001.pem":
            raise KeyboardInterrupt
        replace(path, data)

    with monkeypatch.context() as patched:
        patched.setattr(private_files, "replace", die)
        with pytest.raises(KeyboardInterrupt):
            change_passphrase(folder, b"one", b"two")
    assert change_passphrase(folder, b"one", b"two") == ["0002.pem", "a.key"]
    open_secrets(folder, _passphrase(tmp_path, "two"))
    assert len(open_key_ring(folder, _passphrase(tmp_path, "two")).keys) == 2


def test_nothing_is_written_where_the_old_passphrase_is_wrong(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    open_key_ring(folder, _passphrase(tmp_path, "one"))
    open_secret(folder, "a.key", None)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(InvalidArgument, match=r"does not open the key 0001\.pem"):
        change_passphrase(folder, b"another", b"two")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_running_server_keeps_its_keys_while_their_passphrase_cannot_be_had(tmp_path: Path) -> None:
    file = _passphrase(tmp_path, "one")
    ring = open_key_ring(tmp_path / "keys", file)
    old = ring.newest
    second = add_key(ring)
    change_passphrase(tmp_path / "keys", b"one", b"two")
    ring.refresh()
    assert ring.unopened == ("0001.pem", "0002.pem")
    assert [key.kid for key in ring.keys] == [old.kid, second.kid]
    (tmp_path / "keys" / "0001.pem").unlink()  # it was read by somebody
    ring.refresh()
    assert ring.find(old.kid) is None
    _passphrase(tmp_path, "two")
    third = add_key(open_key_ring(tmp_path / "keys", file))
    ring.refresh()
    assert ring.unopened == ()
    assert [key.kid for key in ring.keys] == [second.kid, third.kid]


def test_only_what_changed_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ring = open_key_ring(tmp_path / "keys", _passphrase(tmp_path))
    old = ring.newest
    new = add_key(ring)
    (tmp_path / "passphrase").unlink()
    remove_key(ring, old)
    assert [key.kid for key in ring.keys] == [new.kid]
    assert ring.unopened == ()


def test_a_key_that_another_process_encrypts_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = open_key_ring(tmp_path / "keys")
    kid, read = ring.newest.kid, Path.read_bytes

    def overwritten(path: Path) -> bytes:
        data = read(path)
        if path.name == "0001.pem" and not data.startswith(b"-----BEGIN ENCRYPTED"):
            change_passphrase_beside()
            return bytes(len(data))
        return data

    def change_passphrase_beside() -> None:
        monkeypatch.undo()
        change_passphrase(tmp_path / "keys", None, b"one")
        monkeypatch.setattr(Path, "read_bytes", overwritten)

    monkeypatch.setattr(Path, "read_bytes", overwritten)
    assert open_key_ring(tmp_path / "keys", _passphrase(tmp_path, "one")).newest.kid == kid


def test_a_key_with_another_name_elsewhere_is_not_destroyed_there(tmp_path: Path) -> None:
    ring = open_key_ring(tmp_path / "keys")
    backup = tmp_path / "0001.pem"
    backup.hardlink_to(tmp_path / "keys" / "0001.pem")
    before = backup.read_bytes()
    open_key_ring(tmp_path / "keys", _passphrase(tmp_path))
    assert backup.read_bytes() == before
    (tmp_path / "linked").hardlink_to(tmp_path / "keys" / "0001.pem")
    encrypted = (tmp_path / "linked").read_bytes()
    remove_key(ring, ring.newest)
    assert (tmp_path / "linked").read_bytes() == encrypted


def test_encrypted_keys_are_checked_without_their_passphrase_and_others_are_read(tmp_path: Path) -> None:
    open_key_ring(tmp_path / "keys", _passphrase(tmp_path))
    check_key_files(tmp_path / "keys")
    (tmp_path / "keys" / "0002.pem").write_bytes(b"garbage")
    with pytest.raises(VaultUnavailable, match=r"0002\.pem"):
        check_key_files(tmp_path / "keys")


def test_a_public_half_that_was_harmed_is_named(tmp_path: Path) -> None:
    open_key_ring(tmp_path / "keys")
    (tmp_path / "keys" / "0001.pub").write_bytes(b"garbage")
    with pytest.raises(VaultUnavailable, match=r"0001\.pub"):
        public_keys(tmp_path / "keys")
