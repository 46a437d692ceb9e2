"""What a vault speaks of: names of notes and of things without one, and making two names one."""
