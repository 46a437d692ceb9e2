"""Parsers in processes of their own, within limits: a file that breaks one costs that file alone."""
