"""Exploring the interleavings of two ports."""
