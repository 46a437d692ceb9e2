"""``strongroom key``: what signs, and changing it."""

from __future__ import annotations

from auth.kept_secrets import open_secret
from tests.server.cli.command import Strongroom


def test_a_new_key_signs_and_the_old_one_is_listed_as_long_as_it_is_needed(strongroom: Strongroom) -> None:
    strongroom("vault", "create", "one")
    strongroom("token", "create", "--subject", "alice", "--vault", "one", "--role", "reader", "--ttl", "1d")
    (first,) = strongroom("key", "list", "--json").json["keys"]
    assert (first["file"], first["state"], first["tokens"]) == ("0001.pem", "signs", 1)
    done = strongroom("key", "rotate")
    assert done.code == 0
    old, new = strongroom("key", "list", "--json").json["keys"]
    assert (old["kid"], old["state"]) == (first["kid"], "verifies")
    assert old["needed_until"]
    assert (new["file"], new["state"]) == ("0002.pem", "signs")
    assert new["kid"] in done.out
    assert "0002.pem" in strongroom("key", "list").out


def test_a_wrong_passphrase_stops_the_command_by_the_name_of_the_setting(strongroom: Strongroom) -> None:
    file = strongroom.data.parent / "passphrase"
    file.write_text("right")
    strongroom("vault", "create", "one")
    strongroom("key", "rotate", STRONGROOM_AUTH__KEY_PASSPHRASE_FILE=str(file))
    without = strongroom("key", "list")
    assert (without.code, "auth.key_passphrase_file" in without.err) == (2, True)
    refused = strongroom("serve", "--port", "0", "--metrics-port", "0")
    assert (refused.code, refused.out) == (2, "")
    assert "auth.key_passphrase_file is needed" in refused.err
    file.write_text("wrong")
    create = ("token", "create", "--subject", "a", "--vault", "one", "--role", "reader")
    wrong = strongroom(*create, STRONGROOM_AUTH__KEY_PASSPHRASE_FILE=str(file))
    assert (wrong.code, "does not open the key" in wrong.err) == (2, True)
    file.write_text("right\n")
    assert strongroom(*create, STRONGROOM_AUTH__KEY_PASSPHRASE_FILE=str(file)).code == 0


def test_a_passphrase_is_set_changed_and_taken_away_by_command(strongroom: Strongroom) -> None:
    file, old = strongroom.data.parent / "passphrase", strongroom.data.parent / "old"
    file.write_text("one")
    old.write_text("one")
    with_one = {"STRONGROOM_AUTH__KEY_PASSPHRASE_FILE": str(file)}
    strongroom("vault", "create", "one")
    strongroom("token", "create", "--subject", "a", "--vault", "one", "--role", "reader")
    open_secret(strongroom.data / "keys", "social.key", None)
    assert strongroom("key", "list").out.count("in the clear") == 3
    done = strongroom("key", "passphrase", **with_one)
    assert (done.code, done.out) == (0, "all keys are encrypted with it; 2 changed: 0001.pem, social.key\n")
    file.write_text("two")
    refused = strongroom("key", "passphrase", **with_one)
    assert (refused.code, "does not open the key 0001.pem" in refused.err) == (2, True)
    assert strongroom("key", "passphrase", "--old", str(old), **with_one).code == 0
    listed = strongroom("key", "list", "--json", **with_one).json
    assert [each["encrypted"] for each in (*listed["keys"], *listed["secrets"])] == [True, True, True]
    assert "lie in the clear; 3 changed" in strongroom("key", "passphrase", "--old", str(file)).out
    missing = strongroom("key", "passphrase", "--old", "nowhere")
    assert (missing.code, "--old cannot be read" in missing.err) == (2, True)


def test_a_data_folder_without_keys_is_not_given_any(strongroom: Strongroom) -> None:
    ran = strongroom("key", "passphrase")
    assert (ran.code, "there are no keys" in ran.err) == (1, True)
    assert not (strongroom.data / "keys").exists()
