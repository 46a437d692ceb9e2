"""The program's one name among an environment's packages: ``strongroom``, and ``python -m strongroom``.

In a wheel the packages ``server``, ``ops``, ``auth`` and ``vaults`` lie in a folder of this one, which stands on no
path but this program's own: so nobody else's package of such a name is replaced, nor found in place of ours. In a
checkout they are beside this folder.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> None:
    """The entry point."""
    packages = Path(__file__).with_name("packages")
    if packages.is_dir():
        sys.path.insert(0, str(packages))
    from server.cli import main as run

    run()
