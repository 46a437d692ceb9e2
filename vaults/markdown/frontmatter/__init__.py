"""Frontmatter: YAML read into values, and edited without touching other lines."""
