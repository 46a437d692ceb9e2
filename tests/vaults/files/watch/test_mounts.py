"""Which disks count as network disks."""

from __future__ import annotations

from pathlib import Path

import pytest

from vaults.files.watch import mounts

TABLE = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:25 / /mnt/team rw - nfs4 server:/export rw
31 22 0:26 / /mnt/my\\040disk rw - cifs //server/share rw
32 22 0:27 / /mnt/cloud rw - fuse.rclone remote: rw
33 22 0:28 / /mnt/usb rw - fuseblk /dev/sdb1 rw
34 22 0:29 / /mnt/twice rw - nfs server:/a rw
35 34 0:30 / /mnt/twice rw - tmpfs tmpfs rw
36 30 8:1 / /mnt/team/local rw master:3 propagate_from:2 - xfs /dev/sda1 rw
"""


@pytest.mark.parametrize(
    ("folder", "disk"),
    [
        ("/home/me/notes", None),
        ("/mnt/team", "nfs4"),
        ("/mnt/team/notes", "nfs4"),
        ("/mnt/teams", None),
        ("/mnt/team/local/notes", None),
        ("/mnt/my disk/notes", "cifs"),
        ("/mnt/cloud", "fuse.rclone"),
        ("/mnt/usb", None),
        ("/mnt/twice", None),
    ],
)
def test_a_disk_is_known_by_its_innermost_mount(
    folder: str, disk: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(TABLE)
    monkeypatch.setattr(mounts, "_MOUNTS", table)
    assert mounts.find_network_disk(Path(folder)) == disk


def test_a_system_without_a_table_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mounts, "_MOUNTS", tmp_path / "none")
    assert mounts.find_network_disk(tmp_path) is None
