"""What the standard demands: the requirement catalogue, the errata register and the cases."""
