"""Holds what the cases of FC-VI Rev 1.0 share. What does not differ between the editions comes from the steps of 2007."""
