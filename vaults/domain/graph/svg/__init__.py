"""The graph as a picture: choosing what to show, laying it out, placing labels, and drawing SVG. Pure."""
