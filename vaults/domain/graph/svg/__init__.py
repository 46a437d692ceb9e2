"""The graph as a picture: what is shown of it, where it lies, where its labels fit, and the SVG of all that. Pure."""
