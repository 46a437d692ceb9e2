"""Policies: procedures in YAML files of a vault that change notes as one transaction."""
