"""Links as rows: which note each means, how notes are linked, which names no note goes by."""
