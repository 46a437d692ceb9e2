"""The measured claims of the README, runnable: ``python -m bench``."""
