"""The graph as a picture: choosing what to show, laying it out, placing labels, and drawing SVG. Pure."""

RESOURCE = "vault://graph"
"""Address of a vault's picture; that of a note's surroundings is the note's address and ``/graph``."""
