"""The two forms of an answer, text and JSON, each within the call's budget of tokens and each enough alone."""
