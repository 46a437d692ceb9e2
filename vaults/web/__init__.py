"""Pages of the hosts an operator listed, and of no others."""
