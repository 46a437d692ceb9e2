"""Documents: transcripts and whatever else is read in, as parts that are found and opened."""

SCHEMES = ("document://", "transcript://", "code://")
"""How addresses begin."""
