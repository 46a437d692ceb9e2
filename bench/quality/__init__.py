"""What the search finds, by public judged sets, through the server's own tools: ``python -m bench.quality``.

The sets are read where they lie (``../shared/bench``, or ``--data``); nothing of them enters the repository. One
default configuration answers all of them, and ``score.py`` beside the data says how well.
"""
