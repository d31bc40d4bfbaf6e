"""Captures with one known cause each, made by the simulated Fabric."""
