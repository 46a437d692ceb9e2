"""Placing all notes of a vault in the plane, for a picture one can move about in. Pure, but for the export."""
