"""PostgreSQL underneath: placements, logs and bases. The one package that loads its driver."""
