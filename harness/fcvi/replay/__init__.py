"""Plays one side of a capture to a device and compares what comes back with what was recorded."""
