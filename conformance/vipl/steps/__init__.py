"""What the cases of VIPL are written with."""
