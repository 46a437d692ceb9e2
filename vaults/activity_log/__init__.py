"""Who is at work in a vault, and what was done: sessions as they are lived, and the events of every call."""
