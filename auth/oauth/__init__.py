"""Programs that people let in: what an OAuth authorization server keeps."""
