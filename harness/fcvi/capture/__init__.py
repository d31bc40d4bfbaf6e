"""Captures: reading, scanning and writing them."""
