"""Which tool fits a task: by the words people use for it, by its description's meaning, by callers' feedback."""
