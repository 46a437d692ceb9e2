"""Links as rows: what each means, how notes are linked, which names no note goes by."""
