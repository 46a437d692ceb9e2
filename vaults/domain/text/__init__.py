"""Texts for readers: made safe to show, counted, matched. Pure."""
