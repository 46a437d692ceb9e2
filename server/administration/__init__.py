"""What administrators do to the installation, whatever the door."""
