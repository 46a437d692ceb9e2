"""Text to vectors: engines behind one protocol, and the service that batches and bounds them, and outlives failures."""
