"""What a Markdown note says, and where in its text: pure functions over strings."""
