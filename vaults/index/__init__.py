"""What is derived from memories and notes for search: passages, embeddings, the vector index."""
