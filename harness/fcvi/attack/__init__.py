"""Attacking a device with mutated frames."""
