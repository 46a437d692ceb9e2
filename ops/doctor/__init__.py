"""Is this installation well? One check a function, registered in the list of its module; each only looks."""
