"""PostgreSQL underneath: who holds which vault, and the log and bases of each. The one package that loads its driver."""
