"""What the cases of FC-VI share."""
