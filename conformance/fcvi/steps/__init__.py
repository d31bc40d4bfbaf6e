"""Holds what the cases of FC-VI share."""
