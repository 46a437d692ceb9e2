"""What the notes and memories of a vault tell about its past and its state."""
