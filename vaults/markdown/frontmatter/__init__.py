"""Frontmatter: YAML parsed into values, and edited without touching other lines."""
