"""What is derived from rows: passages, embeddings, the vector index."""
