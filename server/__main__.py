"""``python -m server`` is ``strongroom``."""

from server.cli import main

main()
