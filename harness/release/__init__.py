"""What goes along with a release."""
