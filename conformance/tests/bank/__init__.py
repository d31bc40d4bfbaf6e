"""The bank of broken devices: one for every testable requirement, and the matrix of who catches what."""
