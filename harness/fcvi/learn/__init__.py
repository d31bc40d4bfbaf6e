"""Learns the state machine of a device: which outputs follow which letters, as far as bounded queries can tell."""
