"""Written procedures: YAML files of a vault that say which notes are changed, and how, as one."""
