"""Link suggestions: candidates from a text, scored in layers, each a pure function from evidence to points."""
