"""Settings of backups: each mistake ends the start with one line that names it.

Covers ops.settings, ops.backup.stores.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ops.backup.folder_store import FolderStore
from ops.backup.stores import open_store, place_of
from ops.settings import BackupSettings
from server.redaction import redact
from server.settings import load
from vaults.errors import InvalidArgument

BUCKET = {"backup.to": "s3://b/p", "backup.access_key": "k", "backup.secret_key": "s"}


def loaded(tmp_path: Path, **flags: Any) -> BackupSettings:
    return load(
        tmp_path, environment={f"STRONGROOM_{name.upper()}": text for name, text in flags.items()}
    ).settings.backup


def test_they_are_read_from_the_environment(tmp_path: Path) -> None:
    found = loaded(tmp_path, backup__every="6h", backup__to="/mnt/b", backup__keep="7d 4w", backup__bandwidth="20MB")
    assert (found.every_s, found.bytes_per_s, found.is_scheduled) == (6 * 3600, 20_000_000, True)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"backup.every": "1x", "backup.to": "/b"}, "backup.every"),
        ({"backup.every": "5s", "backup.to": "/b"}, "1m or longer"),
        ({"backup.every": "1d"}, "backup.to"),
        ({"backup.to": "backups"}, "absolute"),
        ({"backup.to": "/a/../b"}, "absolute"),
        ({"backup.to": "s3:///x"}, "bucket"),
        ({"backup.to": "s3://key:secret@b/x"}, "bucket"),
        ({"backup.to": "https://b/x"}, "bucket"),
        ({"backup.to": "s3://b/x"}, "access_key"),
        ({**BUCKET, "backup.secret_key_file": "/f"}, "both"),
        ({**BUCKET, "backup.endpoint": "http://minio.example:9000"}, "https"),
        ({"backup.keep": "some"}, "7d 4w 12m"),
        ({"backup.bandwidth": "3"}, "unit"),
        ({"backup.bandwidth": "3B"}, "1KiB"),
        ({"backup.often": "1d"}, "backup.often"),
    ],
)
def test_a_setting_that_does_not_fit_is_refused_by_name(tmp_path: Path, flags: dict[str, str], said: str) -> None:
    variables = {f"STRONGROOM_{name.replace('.', '__').upper()}": text for name, text in flags.items()}
    with pytest.raises(InvalidArgument, match=said):
        load(tmp_path, environment=variables)


def test_the_store_is_a_folder_or_a_bucket(tmp_path: Path) -> None:
    assert isinstance(open_store(BackupSettings(to=str(tmp_path))), FolderStore)
    pytest.importorskip("obstore")
    bucket = open_store(BackupSettings(to="s3://b/p/q", access_key="k", secret_key="s"))
    assert (bucket.name, bucket.grace_s > 3600) == ("s3://b/p/q", True)
    for to, name in (("/mnt//b/", "/mnt/b"), ("s3://b", "s3://b"), ("s3://b//p/", "s3://b/p")):
        settings = BackupSettings(to=to, access_key="k", secret_key="s")
        assert place_of(settings) == open_store(settings).name == name
    with pytest.raises(InvalidArgument, match=r"backup\.to"):
        open_store(BackupSettings())


@pytest.mark.parametrize("content", [None, b"", b"\n", b"two\nlines", b"\xff"])
def test_a_secret_that_is_none_is_refused_without_being_shown(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    settings = BackupSettings(to="s3://b", access_key="k", secret_key_file=str(file))
    with pytest.raises(InvalidArgument, match=r"backup\.secret_key_file"):
        open_store(settings)


def test_no_secret_is_in_what_is_printed() -> None:
    settings = BackupSettings(to="s3://b", access_key="k", secret_key="hush-hush")
    assert "hush" not in repr(settings)
    assert redact("secret_key", "hush-hush") == "********"
