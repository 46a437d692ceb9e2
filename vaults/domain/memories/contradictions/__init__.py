"""Whether two memories contradict each other, found without a model."""
