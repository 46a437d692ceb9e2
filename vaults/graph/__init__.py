"""Links between notes: their rows, the notes they mean, and the graph they form. Like search, knows no files."""
