"""Which tool fits a job: by what people say when they want it, by what its description means, by what callers said."""
