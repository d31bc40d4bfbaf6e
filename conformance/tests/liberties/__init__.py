"""Conforming devices that take liberties: whatever the text permits, in layers around a reference port or the independent endpoint."""
