"""Conforming devices that take liberties: what the text permits, in layers around a port."""
