"""People who sign in through an outside provider."""
