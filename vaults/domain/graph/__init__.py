"""What is asked of the graph, and what keeps it."""
