"""People who sign in with a browser."""
