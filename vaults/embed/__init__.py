"""Text to vectors: engines behind one protocol, and the service that batches, bounds and survives them."""
