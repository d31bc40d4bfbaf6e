"""Holds what the cases of VIPL are written with."""
