"""Whether a folder lies on a disk whose changes the kernel does not learn of."""

from __future__ import annotations

import os
import re
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = re.compile(
    r"9p|acfs|afs|beegfs|ceph|cifs|coda|davfs|fuse\..*|gfs2|glusterfs|gpfs|lustre|ncpfs|nfs4?|ocfs2|orangefs|prl_fs|pvfs2"
    r"|smb3|smbfs|vboxsf|virtiofs|vmhgfs"
)


def find_network_disk(folder: Path) -> str | None:
    """The kind of network disk, or of folder shared into a virtual machine, that ``folder`` is on; None if it is none.

    Others write to such a disk without this kernel knowing, so no event reports it. ``fuse.*`` counts as one: what is
    behind it is unknown. Also None on systems that do not list their mounts in ``/proc``.
    """
    try:
        table = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    kind = _mount_type(table, os.path.realpath(folder))
    return kind if _NETWORK.fullmatch(kind) else None


def _mount_type(table: str, path: str) -> str:
    """File system of the innermost mount above ``path``; of two at one place, the later hides the earlier."""
    best, kind = -1, ""
    for line in table.splitlines():
        fields, _, rest = line.partition(" - ")
        place = _unescape(fields.split(" ")[4])
        inside = path == place or path.startswith(place.rstrip("/") + "/")
        if inside and len(place) >= best:
            best, kind = len(place), rest.split(" ", 1)[0]
    return kind


def _unescape(place: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        place = place.replace(code, character)
    return place
