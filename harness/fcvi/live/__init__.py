"""A real wire: devices on it (attach.py), and what passes an interface."""
