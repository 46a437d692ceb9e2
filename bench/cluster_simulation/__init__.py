"""A cluster of any size as a model: measured service times in, latencies, capacity and costs out."""
