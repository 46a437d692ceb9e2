"""Starts ``strongroom stdio`` on the folder that was chosen when the bundle was installed."""

import sys

from strongroom import main

folder, *rest = sys.argv[1:]
sys.argv = ["strongroom", "stdio", "--path", folder, "--write-mode", *(rest or ["auto"])]
main()
