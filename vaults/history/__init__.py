"""Version history of a vault's notes, in git objects, without running anything a repository asks for."""
