"""Links between notes: their rows, what they mean, and the graph they make. Knows files no more than search does."""
