"""The figures of ``docs/figures.md``, measured anew: ``python -m bench``."""
