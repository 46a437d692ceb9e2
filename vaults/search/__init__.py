"""Finding: query, keyword and vector candidates, fusion, snippets, in one visible list of stages."""
