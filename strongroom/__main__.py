"""``python -m strongroom``."""

from strongroom import main

main()
