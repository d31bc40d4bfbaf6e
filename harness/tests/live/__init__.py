"""Tests over real frames, in a network namespace of their own."""
